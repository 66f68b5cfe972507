/* ctf_exported: the events that `tacho export --to ctf` writes: a run comes back as it went out.
 *
 * Tracks and slices have numbers, by which everything finds them; what they are was told before. What correlate finds
 * out by itself (arrows between ops, to collectives, groups and members of those) is not taken from here. Numbers are
 * of one trace: when it ends they mean nothing any more.
 * docs/export.md tells the events and their fields. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "import/ctf/ctf_import.h"
#include "import/element_type.h"
#include "trace/mark_kind.h"

struct slice {
	guint32 row;
	guint64 offset; /* of its begin */
	gboolean has_ended, was_open;
};

struct arrow {
	guint64 from, to;
	guint8 kind, is_exact;
};

/* A step, until its process has a track to put the mark on. */
struct step {
	struct ctf_owner *owner;
	gint64 time_ns, number, duration_ns;
	gboolean is_incomplete;
};

struct ctf_exported {
	GHashTable *slices;	  /* number -> struct slice */
	GHashTable *tracks;	  /* number -> row + 1 */
	GHashTable *first_tracks; /* struct ctf_owner -> row + 1 */
	GArray *arrows;		  /* struct arrow */
	GArray *steps;		  /* struct step */
};

static struct ctf_exported *exported_of(struct ctf_import *ctf)
{
	struct ctf_exported *exported = ctf->exported;

	if (exported)
		return exported;
	exported = ctf->exported = g_new0(struct ctf_exported, 1);
	exported->slices = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	exported->tracks = g_hash_table_new(NULL, NULL);
	exported->first_tracks = g_hash_table_new(NULL, NULL);
	exported->arrows = g_array_new(FALSE, FALSE, sizeof(struct arrow));
	exported->steps = g_array_new(FALSE, FALSE, sizeof(struct step));
	return exported;
}

static gpointer key_of(gint64 number)
{
	return GSIZE_TO_POINTER((gsize)number);
}

/* --- fields --------------------------------------------------------------------------------- */

/* The fields of a begin: not all are there in every class. */
enum begin_field {
	B_SLICE,
	B_TRACK,
	B_OPEN,
	B_REPAIRED,
	B_FORWARD_THREAD,
	B_SEQUENCE,
	B_INPUTS,
	B_OUTPUTS,
	B_BYTES,
	B_FLOPS,
	B_DTYPE,
	B_DIMS,
	B_DETAIL,
	B_GROUP,
	B_DIRECTION,
	B_FD,
	B_LOCAL,
	B_PEER,
	B_ID,
};

static gint64 number(const struct ctf_plan *plan, const struct ctf_event *event, guint i)
{
	return ctf_event_integer(event, plan->fields[i]);
}

static gboolean has(const struct ctf_plan *plan, guint i)
{
	return plan->fields[i] >= 0;
}

/* "" where it is not there. */
static gchar *text(const struct ctf_plan *plan, const struct ctf_event *event, guint i)
{
	gsize n = 0;
	const gchar *value = ctf_event_text(event, plan->fields[i], &n);

	return value ? g_strndup(value, n) : g_strdup("");
}

static guint32 intern(struct ctf_import *ctf, const struct ctf_plan *plan,
		      const struct ctf_event *event, guint i)
{
	return ctf_intern_field(ctf, event, plan->fields[i]);
}

/* --- tensors -------------------------------------------------------------------------------- */

/* "64,3,7,7" up to what is no number; returns what follows. */
static const gchar *read_dims(const gchar *at, gint64 *dims, guint32 *ret_n)
{
	guint32 n = 0;

	while (*at == '-' || g_ascii_isdigit(*at)) {
		gchar *end;
		gint64 value = g_ascii_strtoll(at, &end, 10);

		if (n < TACHO_MAX_DIMS)
			dims[n++] = value;
		at = end == at ? at + 1 : end;
		if (*at != ',')
			break;
		at++;
	}
	*ret_n = n;
	return at;
}

/* "float32[64,3]"; NULL: it is none that we write. */
static const gchar *read_tensor(const gchar *at, guint32 argument, TachoTensor *tensor)
{
	const gchar *bracket = strchr(at, '[');

	if (!bracket)
		return NULL;
	*tensor = (TachoTensor){ .device = "", .argument = argument };
	tensor->dtype = element_type_name(at, bracket - at, &tensor->dtype_bytes);
	if (strncmp(tensor->dtype, at, (gsize)(bracket - at)) != 0)
		return NULL; /* a type that has no name of ours */
	at = read_dims(bracket + 1, tensor->shape, &tensor->n_dims);
	return *at == ']' ? at + 1 : NULL;
}

/* "float32[64,3], int64[]" after those that are there; false: not all can be read. */
static gboolean read_tensors(const gchar *at, GArray *tensors)
{
	for (guint32 argument = 0; *at; argument++) {
		TachoTensor tensor;

		at = read_tensor(at, argument, &tensor);
		if (!at)
			return FALSE;
		g_array_append_val(tensors, tensor);
		if (*at && strncmp(at, ", ", 2) != 0)
			return FALSE;
		at += *at ? 2 : 0;
	}
	return TRUE;
}

/* --- what a slice has beyond its columns; 0: what the event says is asked for when needed ------- */

static guint64 keep_op(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event)
{
	g_autoptr(GArray) tensors = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	g_autofree gchar *inputs = text(plan, event, B_INPUTS);
	g_autofree gchar *outputs = text(plan, event, B_OUTPUTS);
	TachoOpArgs args = { .sequence = -1 };

	if (has(plan, B_SEQUENCE))
		args.sequence = number(plan, event, B_SEQUENCE);
	args.forward_thread = number(plan, event, B_FORWARD_THREAD);
	if (!read_tensors(inputs, tensors))
		return 0;
	args.n_inputs = tensors->len;
	if (!read_tensors(outputs, tensors))
		return 0;
	args.n_outputs = tensors->len - args.n_inputs;
	return tacho_timeline_keep_op(ctf->timeline, &args, (const TachoTensor *)tensors->data);
}

static guint64 keep_kernel(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	g_autofree gchar *dtype = text(plan, event, B_DTYPE);
	g_autofree gchar *dims = text(plan, event, B_DIMS);
	TachoKernelArgs args = { .flops = (guint64)number(plan, event, B_FLOPS),
				 .bytes = (guint64)number(plan, event, B_BYTES) };
	guint8 n_bytes;

	args.dtype = element_type_name(dtype, -1, &n_bytes);
	if (strcmp(args.dtype, dtype) != 0 || *read_dims(dims, args.dims, &args.n_dims))
		return 0;
	args.text = tacho_timeline_string(ctf->timeline, intern(ctf, plan, event, B_DETAIL));
	return tacho_timeline_keep_kernel(ctf->timeline, &args);
}

static guint64 keep_collective(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event)
{
	g_autoptr(GArray) tensors = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	g_autofree gchar *inputs = text(plan, event, B_INPUTS);
	TachoCollectiveArgs args = { .bytes = (guint64)number(plan, event, B_BYTES) };

	if (has(plan, B_GROUP)) /* its number stands for its address: 0 would be "not known" */
		args.group = (guint64)number(plan, event, B_GROUP) + 1;
	if (!has(plan, B_BYTES) || !read_tensors(inputs, tensors))
		return 0;
	args.n_inputs = tensors->len;
	return tacho_timeline_keep_collective(ctf->timeline, &args,
					      (const TachoTensor *)tensors->data);
}

/* "10.0.0.1:29500", "[fe80::1]:29500" */
static gboolean read_endpoint(gchar *at, TachoEndpoint *endpoint)
{
	static const guint8 v4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	gchar *colon = strrchr(at, ':');

	if (!colon)
		return FALSE;
	*colon = '\0';
	endpoint->port = (guint16)g_ascii_strtoull(colon + 1, NULL, 10);
	if (*at == '[' && colon[-1] == ']') {
		colon[-1] = '\0';
		return inet_pton(AF_INET6, at + 1, endpoint->address) == 1;
	}
	memcpy(endpoint->address, v4_prefix, sizeof(v4_prefix));
	return inet_pton(AF_INET, at, endpoint->address + sizeof(v4_prefix)) == 1;
}

static guint64 keep_message(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	g_autofree gchar *local = text(plan, event, B_LOCAL);
	g_autofree gchar *peer = text(plan, event, B_PEER);
	g_autofree gchar *direction = text(plan, event, B_DIRECTION);
	TachoMessageArgs args = { .bytes = (guint64)number(plan, event, B_BYTES),
				  .fd = (guint32)number(plan, event, B_FD),
				  .is_receive = strcmp(direction, "receive") == 0 };

	if (!read_endpoint(local, &args.local) || !read_endpoint(peer, &args.peer))
		return 0;
	return tacho_timeline_keep_message(ctf->timeline, &args);
}

static guint64 keep_args(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	switch ((TachoSliceKind)plan->kind) {
	case TACHO_SLICE_OP:
		return keep_op(ctf, plan, event);
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return keep_kernel(ctf, plan, event);
	case TACHO_SLICE_COLLECTIVE:
		return keep_collective(ctf, plan, event);
	case TACHO_SLICE_MESSAGE:
		return keep_message(ctf, plan, event);
	default:
		return has(plan, B_ID) ? tacho_timeline_keep_id(ctf->timeline,
								(guint64)number(plan, event, B_ID))
				       : 0;
	}
}

/* --- processes and tracks ------------------------------------------------------------------- */

static void handle_process(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	struct ctf_owner *owner = ctf->thread->owner;

	exported_of(ctf);
	owner->rank = (gint32)number(plan, event, 0);
	owner->told.pid = (guint32)number(plan, event, 1);
	owner->told.ppid = (guint32)number(plan, event, 2);
	owner->told.local_rank = (gint32)number(plan, event, 3);
	owner->told.world_size = (gint32)number(plan, event, 4);
	owner->told.command = intern(ctf, plan, event, 5);
	owner->told.job = intern(ctf, plan, event, 6);
	owner->told.end = TACHO_END_UNKNOWN;
	owner->told.start_ns = owner->told.end_ns = event->time_ns;
	owner->is_told = TRUE;
}

static void handle_process_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event)
{
	static const gchar *const ends[] = { [TACHO_END_RUNNING] = "running",
					     [TACHO_END_EXITED] = "exited",
					     [TACHO_END_KILLED] = "killed",
					     [TACHO_END_UNKNOWN] = "unknown",
					     [TACHO_END_STOPPED] = "stopped" };
	struct ctf_owner *owner = ctf->thread->owner;
	g_autofree gchar *how = text(plan, event, 0);

	for (guint i = 0; i < G_N_ELEMENTS(ends); i++)
		if (strcmp(how, ends[i]) == 0)
			owner->told.end = (TachoEnd)i;
	owner->told.exit_status = (gint32)number(plan, event, 1);
	owner->told.end_ns = MAX(owner->told.start_ns, event->time_ns);
}

static TachoTrackKind track_kind(const gchar *name)
{
	static const struct {
		const gchar *name;
		TachoTrackKind kind;
	} kinds[] = { { "thread", TACHO_TRACK_THREAD },
		      { "async", TACHO_TRACK_ASYNC },
		      { "device", TACHO_TRACK_STREAM },
		      { "counter", TACHO_TRACK_COUNTER },
		      { "sampled", TACHO_TRACK_SAMPLED } };

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i].kind;
	return TACHO_TRACK_THREAD;
}

/* The track of that number, new where it is not known. */
static guint32 find_track(struct ctf_import *ctf, gint64 track, TachoTrackKind kind)
{
	struct ctf_exported *exported = exported_of(ctf);
	gpointer known = g_hash_table_lookup(exported->tracks, key_of(track));
	g_autofree gchar *key = NULL;
	guint32 row;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	key = g_strdup_printf("exported %u %" G_GINT64_FORMAT, ctf->foreign, track);
	row = ctf_lane(ctf, ctf->thread->owner, kind, key, 0, 0);
	g_array_index(ctf->timeline->tracks, TachoTrack, row).name = 0;
	g_hash_table_insert(exported->tracks, key_of(track), GUINT_TO_POINTER(row + 1));
	if (!g_hash_table_contains(exported->first_tracks, ctf->thread->owner))
		g_hash_table_insert(exported->first_tracks, ctf->thread->owner,
				    GUINT_TO_POINTER(row + 1));
	return row;
}

static void handle_track(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	g_autofree gchar *kind = text(plan, event, 1);
	guint32 row = find_track(ctf, number(plan, event, 0), track_kind(kind));
	TachoTrack *track = &g_array_index(ctf->timeline->tracks, TachoTrack, row);

	track->kind = track_kind(kind);
	track->name = intern(ctf, plan, event, 2);
	track->tid = (guint32)number(plan, event, 3);
	track->device = (gint32)number(plan, event, 4);
	track->parent_tid = (guint32)number(plan, event, 5);
}

/* --- slices --------------------------------------------------------------------------------- */

static void handle_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	struct ctf_exported *exported = exported_of(ctf);
	guint32 track = find_track(ctf, number(plan, event, B_TRACK), TACHO_TRACK_THREAD);
	guint8 flags = TACHO_SLICE_OPEN;
	struct slice *slice;
	guint64 kept;
	guint32 row;

	if (has(plan, B_REPAIRED))
		flags |= TACHO_SLICE_REPAIRED;
	if (has(plan, B_FORWARD_THREAD))
		flags |= TACHO_SLICE_BACKWARD;
	row = ctf_add_slice(ctf, plan->kind, track, ctf_label_of(ctf, plan, event), event->time_ns,
			    0, flags, event->offset);
	if (row == TACHO_NONE)
		return;
	kept = keep_args(ctf, plan, event);
	if (kept)
		ctf->timeline->slices.source[row] = kept;
	slice = g_new0(struct slice, 1);
	slice->row = row;
	slice->offset = event->offset;
	slice->was_open = has(plan, B_OPEN);
	g_hash_table_replace(exported->slices, key_of(number(plan, event, B_SLICE)), slice);
}

static void handle_end(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event)
{
	struct slice *slice =
		g_hash_table_lookup(exported_of(ctf)->slices, key_of(number(plan, event, 0)));

	if (!slice || slice->has_ended) {
		ctf->n_unmatched++;
		return;
	}
	slice->has_ended = TRUE;
	ctf_end_slice(ctf, slice->row, event->time_ns, slice->offset, 0);
	if (slice->was_open)
		ctf->timeline->slices.flags[slice->row] |= TACHO_SLICE_OPEN;
}

static void handle_flow(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	g_autofree gchar *kind = text(plan, event, 0);
	struct arrow arrow = { .from = (guint64)number(plan, event, 1),
			       .to = (guint64)number(plan, event, 2),
			       .is_exact = number(plan, event, 3) != 0,
			       .kind = TACHO_FLOW_OTHER };

	for (guint i = 0; i < TACHO_N_FLOW_KINDS; i++)
		if (strcmp(kind, tacho_flow_kind_name((TachoFlowKind)i)) == 0)
			arrow.kind = (guint8)i;
	g_array_append_val(exported_of(ctf)->arrows, arrow);
}

/* --- all else ------------------------------------------------------------------------------- */

static void handle_mark(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	TachoMark mark = { .time_ns = event->time_ns,
			   .first = number(plan, event, 2),
			   .second = number(plan, event, 3),
			   .name = intern(ctf, plan, event, 1),
			   .text = intern(ctf, plan, event, 4) };

	/* The steps say the same. */
	if (mark_kind_of(ctf->timeline, &mark) == MARK_STEP)
		return;
	mark.track = find_track(ctf, number(plan, event, 0), TACHO_TRACK_THREAD);
	g_array_append_val(ctf->timeline->marks, mark);
}

static void handle_step(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	struct step step = { .owner = ctf->thread->owner,
			     .time_ns = event->time_ns,
			     .number = number(plan, event, 0),
			     .duration_ns = number(plan, event, 1),
			     .is_incomplete = has(plan, 2) };

	g_array_append_val(exported_of(ctf)->steps, step);
}

/* It tells nothing that its begin did not. */
static void handle_step_end(struct ctf_import *ctf G_GNUC_UNUSED,
			    const struct ctf_plan *plan G_GNUC_UNUSED,
			    const struct ctf_event *event G_GNUC_UNUSED)
{
}

static void handle_counter(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	gdouble value;

	if (ctf_event_number(event, plan->fields[1], &value))
		ctf_add_sample(ctf, find_track(ctf, number(plan, event, 0), TACHO_TRACK_COUNTER),
			       event->time_ns, value);
}

static void add_memory(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event, gboolean is_free)
{
	guint64 bytes = MIN((guint64)number(plan, event, 2), (guint64)G_MAXINT64);
	TachoMemoryEvent row = { .time_ns = event->time_ns,
				 .address = (guint64)number(plan, event, 1),
				 .bytes = is_free ? -(gint64)bytes : (gint64)bytes,
				 .slice = TACHO_NONE,
				 .device = (guint32)number(plan, event, 3) + 1,
				 .layer = number(plan, event, 4) == TACHO_MEMORY_OF_DRIVER
						  ? TACHO_MEMORY_OF_DRIVER
						  : TACHO_MEMORY_OF_ALLOCATOR };

	row.track = find_track(ctf, number(plan, event, 0), TACHO_TRACK_THREAD);
	g_array_append_val(ctf->timeline->memory, row);
}

static void handle_alloc(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	add_memory(ctf, plan, event, FALSE);
}

static void handle_free(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	add_memory(ctf, plan, event, TRUE);
}

/* --- the end -------------------------------------------------------------------------------- */

static guint32 row_of(const struct ctf_exported *exported, guint64 number)
{
	const struct slice *slice = g_hash_table_lookup(exported->slices, key_of((gint64)number));

	return slice ? slice->row : TACHO_NONE;
}

static gboolean is_on_device(const struct ctf_import *ctf, guint32 row)
{
	return tacho_timeline_track(ctf->timeline, ctf->timeline->slices.track[row])->kind ==
	       TACHO_TRACK_STREAM;
}

/* Nothing but what is on no device launches a device's work, so that who follows launches comes to an end. */
static void place_launch(struct ctf_import *ctf, const TachoFlow *flow)
{
	if (is_on_device(ctf, flow->to) && !is_on_device(ctf, flow->from))
		tacho_timeline_set_launch(ctf->timeline, flow->to, flow->from);
}

static void place_arrow(struct ctf_import *ctf, const struct arrow *arrow)
{
	TachoFlow flow = { .from = row_of(ctf->exported, arrow->from),
			   .to = row_of(ctf->exported, arrow->to),
			   .kind = arrow->kind,
			   .is_exact = arrow->is_exact };

	if (flow.from == TACHO_NONE || flow.to == TACHO_NONE)
		return;
	switch ((TachoFlowKind)arrow->kind) {
	case TACHO_FLOW_LAUNCH:
		place_launch(ctf, &flow);
		break;
	case TACHO_FLOW_FORWARD_BACKWARD: /* correlate finds these again */
	case TACHO_FLOW_OP_KERNEL:
	case TACHO_FLOW_QUEUE_COLLECTIVE:
	case TACHO_FLOW_COLLECTIVE:
	case TACHO_FLOW_MESSAGE:
		break;
	default:
		g_array_append_val(ctf->timeline->flows, flow);
	}
}

static void place_step(struct ctf_import *ctf, const struct step *step)
{
	gpointer track = g_hash_table_lookup(ctf->exported->first_tracks, step->owner);
	TachoMark mark = { .time_ns = step->time_ns,
			   .first = step->number,
			   .second = step->duration_ns };

	if (!track)
		return; /* nothing else is known of the process */
	mark.track = GPOINTER_TO_UINT(track) - 1;
	mark_step(ctf->timeline, &mark, !step->is_incomplete);
	g_array_append_val(ctf->timeline->marks, mark);
}

/* What never ended lasts to the end of the trace. */
static void end_slices(struct ctf_import *ctf)
{
	FOR_EACH_ENTRY(entry, ctf->exported->slices) {
		const struct slice *slice = entry.value;

		if (slice->has_ended)
			continue;
		ctf_end_slice(ctf, slice->row, ctf->last_ns, slice->offset, 0);
		ctf->timeline->slices.flags[slice->row] |= TACHO_SLICE_OPEN;
	}
}

void ctf_exported_end_trace(struct ctf_import *ctf)
{
	struct ctf_exported *exported = ctf->exported;

	if (!exported)
		return;
	end_slices(ctf);
	for (guint i = 0; i < exported->arrows->len; i++)
		place_arrow(ctf, &g_array_index(exported->arrows, struct arrow, i));
	for (guint i = 0; i < exported->steps->len; i++)
		place_step(ctf, &g_array_index(exported->steps, struct step, i));
	g_hash_table_unref(exported->slices);
	g_hash_table_unref(exported->tracks);
	g_hash_table_unref(exported->first_tracks);
	g_array_unref(exported->arrows);
	g_array_unref(exported->steps);
	g_free(exported);
	ctf->exported = NULL;
}

/* --- the catalogue -------------------------------------------------------------------------- */

#define BEGIN(provider, enumerator, kind_name)                                                     \
	{ .event = provider ":" #kind_name "_begin",                                               \
	  .handle = handle_begin,                                                                  \
	  .kind = TACHO_SLICE_##enumerator,                                                        \
	  .label = "name",                                                                         \
	  .fields = { "slice", "track", "open", "repaired", "forward_thread", "sequence",          \
		      "inputs", "outputs", "bytes", "flops", "dtype", "dims", "detail", "group",   \
		      "direction", "fd", "local", "peer", "id" } },
#define BEGINS(enumerator, kind_name)                                                              \
	BEGIN("tacho_thread", enumerator, kind_name)                                               \
	BEGIN("tacho_async", enumerator, kind_name)                                                \
	BEGIN("tacho_device", enumerator, kind_name)                                               \
	BEGIN("tacho_sampled", enumerator, kind_name)
#define END(provider, kind_name)                                                                   \
	{ .event = provider ":" #kind_name "_end", .handle = handle_end, .fields = { "slice" } },
#define ENDS(enumerator, kind_name)                                                                \
	END("tacho_thread", kind_name)                                                             \
	END("tacho_async", kind_name)                                                              \
	END("tacho_device", kind_name)                                                             \
	END("tacho_sampled", kind_name)

const struct ctf_rule ctf_exported_rules[] = {
	TACHO_SLICE_KINDS(BEGINS) TACHO_SLICE_KINDS(ENDS){
		.event = "tacho:process",
		.handle = handle_process,
		.fields = { "rank", "pid", "ppid", "local_rank", "world_size", "command", "job" } },
	{ .event = "tacho:process_end",
	  .handle = handle_process_end,
	  .fields = { "how", "status" } },
	{ .event = "tacho:track",
	  .handle = handle_track,
	  .fields = { "track", "kind", "name", "tid", "device", "parent_tid" } },
	{ .event = "tacho:flow",
	  .handle = handle_flow,
	  .fields = { "kind", "from_slice", "to_slice", "is_exact" } },
	{ .event = "tacho:mark",
	  .handle = handle_mark,
	  .fields = { "track", "name", "first", "second", "text" } },
	{ .event = "tacho:step_begin",
	  .handle = handle_step,
	  .fields = { "number", "duration_ns", "incomplete" } },
	{ .event = "tacho:step_end", .handle = handle_step_end },
	{ .event = "tacho:counter", .handle = handle_counter, .fields = { "track", "value" } },
	{ .event = "tacho:alloc",
	  .handle = handle_alloc,
	  .fields = { "track", "address", "bytes", "device", "layer" } },
	{ .event = "tacho:free",
	  .handle = handle_free,
	  .fields = { "track", "address", "bytes", "device", "layer" } },
	{ 0 },
};
