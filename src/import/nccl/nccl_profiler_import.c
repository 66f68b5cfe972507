/* nccl_profiler_import: what a plug-in of NCCL's profiler wrote as JSON, a line an event: its type as NCCL calls it
 * (ncclProfileColl ...), when it started and stopped, its communicator and rank, its parent, and details.
 *
 * (1) A collective is complete when the last kernel of its channels stopped, which are events of their own: its own
 *     event only tells how long it took to be queued.
 * (2) Where a GPU's kernel was recorded, it stands for itself, on a track beside; it is of the rank that launched it.
 * (3) States tell of an event by its address: they are marks of its rank. */
#include <string.h>

#include "base/for_each.h"
#include "base/partition_point.h"
#include "import/chrome/chrome_events.h"
#include "import/element_type.h"
#include "import/read/json_object.h"
#include "import/nccl/nccl_run.h"
#include "import/sniff_evidence.h"

/* A slice that waits for what the rest of the file tells. */
struct pending {
	struct nccl_slice slice;
	guint64 address, parent;
	gint64 launch; /* "extCorrId"; -1: none */
	gboolean is_device;
};

struct state {
	guint64 address;
	gint64 time_ns;
	guint32 name, text;
};

struct profiler {
	struct nccl_run *run;
	TachoTimeline *timeline;
	GArray *pending;     /* struct pending, of the file at work */
	GArray *states;	     /* struct state */
	GHashTable *n_ranks; /* communicator -> GINT of its ranks */
	guint64 n_unknown;
};

/* --- names ---------------------------------------------------------------------------------- */

static const struct {
	const gchar *type;  /* as NCCL calls it */
	const gchar *track; /* where its slices stand */
	const gchar *name;  /* of the slice; NULL: as its details say */
	TachoSliceKind kind;
} types[] = {
	{ "ncclProfileColl", "collectives", NULL, TACHO_SLICE_COLLECTIVE },
	{ "ncclProfileP2p", "messages", NULL, TACHO_SLICE_COLLECTIVE },
	{ "ncclProfileCollApi", "calls", NULL, TACHO_SLICE_RUNTIME },
	{ "ncclProfileP2pApi", "calls", NULL, TACHO_SLICE_RUNTIME },
	{ "ncclProfileGroupApi", "groups", "group call", TACHO_SLICE_EVENT },
	{ "ncclProfileGroup", "groups", "group", TACHO_SLICE_EVENT },
	{ "ncclProfileKernelLaunch", "launches", "kernel launch", TACHO_SLICE_RUNTIME },
	{ "ncclProfileKernelCh", "channels", "channel", TACHO_SLICE_EVENT },
	{ "ncclProfileProxyOp", "proxy operations", "proxy operation", TACHO_SLICE_EVENT },
	{ "ncclProfileProxyStep", "proxy steps", "proxy step", TACHO_SLICE_EVENT },
	{ "ncclProfileProxyCtrl", "proxy control", "proxy control", TACHO_SLICE_EVENT },
	{ "ncclProfileNetPlugin", "network", "network", TACHO_SLICE_EVENT },
	{ "ncclProfileCeColl", "copy engine", NULL, TACHO_SLICE_EVENT },
	{ "ncclProfileCeSync", "copy engine", "synchronisation", TACHO_SLICE_EVENT },
	{ "ncclProfileCeBatch", "copy engine", "batch", TACHO_SLICE_EVENT },
};

static guint find_type(const gchar *type)
{
	guint i = 0;

	while (i < G_N_ELEMENTS(types) && strcmp(types[i].type, type) != 0)
		i++;
	return i;
}

/* "AllReduce" of a collective, "channel 7" of a channel. */
static guint32 name_slice(struct profiler *profiler, guint type, const struct json_object *details)
{
	g_autofree gchar *function = json_object_text(details, "func");
	g_autofree gchar *name = NULL;
	gint64 channel = json_object_fixed(details, "channel", 0, -1);

	if (!types[type].name && function)
		return nccl_collective_name(profiler->timeline, function, strlen(function));
	if (channel >= 0 && types[type].name)
		name = g_strdup_printf("%s %" G_GINT64_FORMAT, types[type].name, channel);
	return tacho_timeline_intern(profiler->timeline,
				     name		? name
				     : types[type].name ? types[type].name
							: types[type].track,
				     -1);
}

/* --- records -------------------------------------------------------------------------------- */

static guint64 read_address(const struct json_object *record, const gchar *key)
{
	g_autofree gchar *text = json_object_text(record, key);

	return text ? g_ascii_strtoull(text, NULL, 0) : 0;
}

static guint64 count_bytes(const struct json_object *details)
{
	g_autofree gchar *dtype = json_object_text(details, "dtype");
	gint64 count = json_object_fixed(details, "count", 0, 0);
	guint64 bytes;
	guint8 width;

	if (!dtype || count <= 0)
		return 0;
	element_type_name(dtype, -1, &width);
	return __builtin_mul_overflow((guint64)count, width, &bytes) ? 0 : bytes;
}

/* An id of 64 bits without sign, in decimal. */
static guint64 read_id(const struct json_object *record, const gchar *key)
{
	struct json_scan value;

	if (!json_object_find(record, key, &value))
		return 0;
	return g_ascii_strtoull(json_peek(&value) == '"' ? value.at + 1 : value.at, NULL, 0);
}

static guint32 find_member(struct profiler *profiler, const struct json_object *record,
			   guint64 *ret_communicator)
{
	struct json_object start = json_object_member(record, "start");
	struct json_object details = json_object_member(record, "details");
	guint64 communicator = read_id(record, "commId");
	gint64 n_ranks = json_object_fixed(&details, "nranks", 0, 0);
	gint64 known;

	if (n_ranks > 0 && n_ranks < G_MAXINT32)
		g_hash_table_insert(profiler->n_ranks, g_memdup2(&communicator, 8),
				    GINT_TO_POINTER((gint)n_ranks));
	known = GPOINTER_TO_INT(g_hash_table_lookup(profiler->n_ranks, &communicator));
	*ret_communicator = communicator;
	return nccl_run_member(profiler->run,
			       &(struct nccl_who){ .host = "",
						   .pid = json_object_fixed(&start, "pid", 0, 0),
						   .communicator = communicator,
						   .rank = json_object_fixed(record, "rank", 0, 0),
						   .n_ranks = known });
}

/* Sets the slice's times; false: the record has none. */
static gboolean read_times(const struct json_object *record, struct nccl_slice *slice)
{
	struct json_object start = json_object_member(record, "start");
	struct json_object stop = json_object_member(record, "stop");
	gint64 stop_ns;

	slice->start_ns = json_object_fixed(&start, "ts", 3, -1);
	stop_ns = json_object_fixed(&stop, "ts", 3, -1);
	slice->duration_ns = stop_ns - slice->start_ns;
	return slice->start_ns >= 0 && stop_ns >= 0;
}

static void note_event(struct profiler *profiler, const struct json_object *record,
		       const gchar *type_name, guint64 offset)
{
	struct json_object details = json_object_member(record, "details");
	guint type = find_type(type_name);
	struct pending pending = { .launch = json_object_fixed(record, "extCorrId", 0, -1) };
	guint64 communicator;

	if (type == G_N_ELEMENTS(types) || !read_times(record, &pending.slice)) {
		profiler->n_unknown++;
		return;
	}
	pending.slice.member = find_member(profiler, record, &communicator);
	pending.slice.kind = types[type].kind;
	pending.slice.track = types[type].track;
	pending.slice.name = name_slice(profiler, type, &details);
	pending.slice.offset = offset;
	pending.slice.peer = nccl_peer(json_object_fixed(&details, "peer", 0, -1));
	pending.address = read_address(record, "eventAddr");
	pending.parent = read_address(record, "parentObj");
	if (pending.slice.kind == TACHO_SLICE_COLLECTIVE)
		pending.slice.bytes = nccl_input_bytes(
			tacho_timeline_string(profiler->timeline, pending.slice.name),
			count_bytes(&details),
			GPOINTER_TO_INT(g_hash_table_lookup(profiler->n_ranks, &communicator)));
	g_array_append_val(profiler->pending, pending);
}

/* (2) */
static void note_kernel(struct profiler *profiler, const struct json_object *record, guint64 offset)
{
	g_autofree gchar *name = json_object_text(record, "name");
	struct pending pending = { .launch = json_object_fixed(record, "extCorrId", 0, -1),
				   .is_device = TRUE };

	if (!name || !read_times(record, &pending.slice)) {
		profiler->n_unknown++;
		return;
	}
	pending.slice.member = TACHO_NONE;
	pending.slice.kind = TACHO_SLICE_EVENT;
	pending.slice.track = "device";
	pending.slice.name = tacho_timeline_intern(profiler->timeline, name, -1);
	pending.slice.offset = offset;
	g_array_append_val(profiler->pending, pending);
}

static void note_state(struct profiler *profiler, const struct json_object *record,
		       const struct chrome_event *event)
{
	struct state state = { .address = read_address(record, "eventAddr"),
			       .time_ns = event->time_ns,
			       .name = event->name };

	if (event->has_time)
		g_array_append_val(profiler->states, state);
	else
		profiler->n_unknown++;
}

static void note_lifecycle(struct profiler *profiler, const struct json_object *record)
{
	g_autofree gchar *function = json_object_text(record, "func");
	struct json_object start = json_object_member(record, "start");
	guint64 communicator;
	guint32 member = find_member(profiler, record, &communicator);

	nccl_run_add_mark(
		profiler->run, member, json_object_fixed(&start, "ts", 3, 0),
		tacho_timeline_intern(profiler->timeline, function ? function : "profiler", -1), 0);
}

static void note_record(struct chrome_event *event, gpointer data)
{
	struct profiler *profiler = data;
	struct json_object record = { event->at, event->end };
	g_autofree gchar *record_type = json_object_text(&record, "recordType");
	g_autofree gchar *type = json_object_text(&record, "type");

	if (type && strcmp(type, "ProfilerLifecycle") == 0)
		note_lifecycle(profiler, &record);
	else if (g_strcmp0(record_type, "state") == 0)
		note_state(profiler, &record, event);
	else if (g_strcmp0(record_type, "cuptiActivity") == 0)
		note_kernel(profiler, &record, event->offset);
	else if (type)
		note_event(profiler, &record, type, event->offset);
	else
		profiler->n_unknown++;
}

/* --- a file --------------------------------------------------------------------------------- */

static struct pending *pending_at(const struct profiler *profiler, guint i)
{
	return &g_array_index(profiler->pending, struct pending, i);
}

/* The events that an address was that of: the one that stopped first at or behind `time_ns`, since addresses are
 * used again; TACHO_NONE: none. `by_address` has the indexes, a GArray each, in the order of the file. */
static guint32 find_event(const struct profiler *profiler, GHashTable *by_address, guint64 address,
			  gint64 time_ns)
{
	const GArray *indexes = g_hash_table_lookup(by_address, &address);
	guint n;

	if (!indexes || !indexes->len)
		return TACHO_NONE;
	n = ROWS_BEFORE(indexes, guint32, row, ({
				const struct nccl_slice *slice = &pending_at(profiler, *row)->slice;
				slice->start_ns + slice->duration_ns < time_ns;
			}));
	return g_array_index(indexes, guint32, MIN(n, indexes->len - 1));
}

static GHashTable *index_addresses(const struct profiler *profiler)
{
	GHashTable *index = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
						  (GDestroyNotify)g_array_unref);

	for (guint32 i = 0; i < profiler->pending->len; i++) {
		guint64 address = pending_at(profiler, i)->address;
		GArray *indexes = g_hash_table_lookup(index, &address);

		if (!address)
			continue;
		if (!indexes) {
			indexes = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_hash_table_insert(index, g_memdup2(&address, sizeof(address)), indexes);
		}
		g_array_append_val(indexes, i);
	}
	return index;
}

/* The last event with that address that had started at `time_ns`; TACHO_NONE: none. */
static guint32 find_parent(const struct profiler *profiler, GHashTable *by_address, guint64 address,
			   gint64 time_ns)
{
	const GArray *indexes = g_hash_table_lookup(by_address, &address);

	for (guint i = indexes ? indexes->len : 0, steps = 0; i-- > 0 && steps < 64; steps++) {
		guint32 event = g_array_index(indexes, guint32, i);

		if (pending_at(profiler, event)->slice.start_ns <= time_ns)
			return event;
	}
	return TACHO_NONE;
}

/* (1) */
static void complete_collectives(const struct profiler *profiler, GHashTable *by_address)
{
	FOR_EACH(const struct pending, channel, profiler->pending) {
		struct nccl_slice *slice;
		guint32 parent;
		gint64 stop_ns;

		if (!channel->parent || strcmp(channel->slice.track, "channels") != 0)
			continue;
		parent =
			find_parent(profiler, by_address, channel->parent, channel->slice.start_ns);
		if (parent == TACHO_NONE)
			continue;
		slice = &pending_at(profiler, parent)->slice;
		stop_ns = channel->slice.start_ns + channel->slice.duration_ns;
		if (slice->kind == TACHO_SLICE_COLLECTIVE)
			slice->duration_ns = MAX(slice->duration_ns, stop_ns - slice->start_ns);
	}
}

static void add_slices(struct profiler *profiler)
{
	g_autoptr(GHashTable) launches = g_hash_table_new(NULL, NULL); /* launch -> member + 1 */

	FOR_EACH(const struct pending, pending, profiler->pending)
		if (!pending->is_device && pending->launch >= 0)
			g_hash_table_insert(launches, GSIZE_TO_POINTER((gsize)pending->launch),
					    GUINT_TO_POINTER(pending->slice.member + 1));
	FOR_EACH(struct pending, pending, profiler->pending) {
		if (pending->is_device)
			pending->slice.member =
				GPOINTER_TO_UINT(g_hash_table_lookup(
					launches, GSIZE_TO_POINTER((gsize)pending->launch))) -
				1;
		if (pending->slice.member == TACHO_NONE)
			profiler->n_unknown++;
		else
			nccl_run_add(profiler->run, &pending->slice);
	}
}

static void add_states(struct profiler *profiler, GHashTable *by_address)
{
	FOR_EACH(const struct state, state, profiler->states) {
		guint32 event = find_event(profiler, by_address, state->address, state->time_ns);

		if (event == TACHO_NONE)
			profiler->n_unknown++;
		else
			nccl_run_add_mark(profiler->run, pending_at(profiler, event)->slice.member,
					  state->time_ns, state->name, state->text);
	}
}

static gboolean read_file(struct profiler *profiler, struct import *import, const gchar *path,
			  GError **error)
{
	g_autoptr(GHashTable) by_address = NULL;
	struct chrome_file file;
	gboolean is_read;

	nccl_run_begin_file(profiler->run, path);
	g_array_set_size(profiler->pending, 0);
	g_array_set_size(profiler->states, 0);
	profiler->n_unknown = 0;
	is_read = chrome_events_read(&file, path, import, note_record, profiler, error);
	if (is_read) {
		chrome_file_report(&file, import->timeline);
		by_address = index_addresses(profiler);
		complete_collectives(profiler, by_address);
		add_slices(profiler);
		add_states(profiler, by_address);
	}
	if (profiler->n_unknown)
		tacho_timeline_add_problem(
			import->timeline, TACHO_PROBLEM_UNKNOWN_RECORD, profiler->n_unknown,
			"%s: events of an unknown type, without times, or without an owner", path);
	chrome_file_release(&file);
	return is_read;
}

static gboolean read_profiler(struct import *import, const gchar *const *paths, guint n_paths,
			      GError **error)
{
	struct profiler profiler = { .run = nccl_run_new(import), .timeline = import->timeline };
	guint n_read = 0;

	profiler.pending = g_array_new(FALSE, FALSE, sizeof(struct pending));
	profiler.states = g_array_new(FALSE, FALSE, sizeof(struct state));
	profiler.n_ranks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	for (guint i = 0; i < n_paths; i++) {
		g_autoptr(GError) failure = NULL;

		import_begin_path(import, i, n_paths);
		if (read_file(&profiler, import, paths[i], &failure))
			n_read++;
		else if (i + 1 == n_paths && !n_read)
			g_propagate_error(error, g_steal_pointer(&failure));
		else
			tacho_timeline_add_problem(import->timeline, TACHO_PROBLEM_UNREADABLE_FILE,
						   1, "%s", failure->message);
	}
	nccl_run_finish(profiler.run);
	nccl_run_free(profiler.run);
	g_array_unref(profiler.pending);
	g_array_unref(profiler.states);
	g_hash_table_unref(profiler.n_ranks);
	return n_read > 0;
}

static gboolean sniff_profiler(const struct sniff_input *input)
{
	return json_head_has(input, "commId", 3, "0123456789-\"") &&
	       (json_head_has_text(input, "type", 2, "ncclProfile") ||
		json_head_has_text(input, "type", 2, "ProfilerLifecycle"));
}

const struct import_format import_nccl_profiler = {
	.name = "nccl_profiler",
	.title = "events of a plug-in of NCCL's profiler, a line each",
	.files = "*.jsonl",
	.sniff = sniff_profiler,
	.read = read_profiler,
};
