#include "import/kineto/kineto_reader.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "import/c10_dtype.h"
#include "trace/collective_names.h"
#include "import/function_ids.h"
#include "trace/counter_kind.h"
#include "trace/string_table.h"
#include "trace/operation.h"

enum {
	MAX_MARK_BYTES = 4096,
};

/* Open addressing; slots hold index + 1. */
struct track_table {
	GArray *tracks; /* struct kineto_track */
	guint32 *slots;
	guint32 n_slots; /* a power of two */
	guint32 last;	 /* index of the track asked for last */
};

struct kineto_reader {
	struct tacho_string_table *strings;
	struct track_table tracks;
	GArray *groups; /* struct kineto_group_ranks */
	GString *plain; /* a text without its escapes */
	gboolean wants_functions;
	/* The piece at work: */
	const struct json_chunk *chunk;
	struct kineto_rows *rows;
	guint32 file;
};

/* --- making --------------------------------------------------------------------------------- */

struct kineto_reader *kineto_reader_new(void)
{
	struct kineto_reader *reader = g_new0(struct kineto_reader, 1);

	reader->strings = string_table_new();
	reader->tracks.tracks = g_array_new(FALSE, TRUE, sizeof(struct kineto_track));
	reader->tracks.n_slots = 256;
	reader->tracks.slots = g_new0(guint32, reader->tracks.n_slots);
	reader->groups = g_array_new(FALSE, TRUE, sizeof(struct kineto_group_ranks));
	reader->plain = g_string_new(NULL);
	return reader;
}

void kineto_reader_want_functions(struct kineto_reader *reader)
{
	reader->wants_functions = TRUE;
}

void kineto_reader_free(struct kineto_reader *reader)
{
	if (!reader)
		return;
	string_table_free(reader->strings);
	g_array_unref(reader->tracks.tracks);
	g_free(reader->tracks.slots);
	g_array_unref(reader->groups);
	g_string_free(reader->plain, TRUE);
	g_free(reader);
}

void kineto_rows_release(struct kineto_rows *rows)
{
	row_buffer_release(&rows->slices);
	row_buffer_release(&rows->extras);
	row_buffer_release(&rows->memory);
	row_buffer_release(&rows->samples);
	row_buffer_release(&rows->marks);
	row_buffer_release(&rows->labels);
	row_buffer_release(&rows->functions);
	row_buffer_release(&rows->graph_nodes);
	row_buffer_release(&rows->ranges);
}

const struct kineto_track *kineto_reader_tracks(const struct kineto_reader *reader, guint *ret_n)
{
	*ret_n = reader->tracks.tracks->len;
	return (const struct kineto_track *)(gpointer)reader->tracks.tracks->data;
}

const GArray *kineto_reader_groups(const struct kineto_reader *reader)
{
	return reader->groups;
}

guint32 kineto_reader_n_strings(const struct kineto_reader *reader)
{
	return string_table_size(reader->strings);
}

const gchar *kineto_reader_string(const struct kineto_reader *reader, guint32 id)
{
	return string_table_borrow(reader->strings, id);
}

/* --- strings and tracks --------------------------------------------------------------------- */

static guint32 intern(struct kineto_reader *reader, const struct json_text *text)
{
	struct json_text plain = json_text_plain(text, reader->plain);

	if (!plain.n)
		return 0;
	return string_table_intern(reader->strings, plain.bytes, (gssize)plain.n);
}

static gint64 id_of(struct kineto_reader *reader, const struct kineto_id *id)
{
	if (!id->is_text) /* of numbers that large the rest is as good */
		return id->number < 0 ? id->number : id->number & (KINETO_TEXT_ID - 1);
	return KINETO_TEXT_ID | intern(reader, &id->text);
}

static gboolean is_track(const struct kineto_track *a, const struct kineto_track *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->file == b->file && a->role == b->role;
}

static guint32 *find_slot(const struct track_table *table, const struct kineto_track *track)
{
	guint64 hash = ((guint64)track->pid * 31 + (guint64)track->tid) * 31 + track->file * 5 +
		       track->role;
	guint32 mask = table->n_slots - 1;

	hash *= G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	for (guint32 i = (guint32)(hash >> 32) & mask;; i = (i + 1) & mask)
		if (!table->slots[i] || is_track(&g_array_index(table->tracks, struct kineto_track,
								table->slots[i] - 1),
						 track))
			return &table->slots[i];
}

static void grow_tracks(struct track_table *table)
{
	g_free(table->slots);
	table->n_slots *= 2;
	table->slots = g_new0(guint32, table->n_slots);
	for (guint32 i = 0; i < table->tracks->len; i++)
		*find_slot(table, &g_array_index(table->tracks, struct kineto_track, i)) = i + 1;
}

static guint32 find_track(struct kineto_reader *reader, enum kineto_role role, gint64 pid,
			  gint64 tid)
{
	struct track_table *table = &reader->tracks;
	struct kineto_track track = { .pid = pid, .tid = tid, .file = reader->file, .role = role };
	guint32 *slot;

	if (table->last < table->tracks->len &&
	    is_track(&g_array_index(table->tracks, struct kineto_track, table->last), &track))
		return table->last;
	slot = find_slot(table, &track);
	if (!*slot) {
		g_array_append_val(table->tracks, track);
		*slot = table->tracks->len;
		table->last = *slot - 1;
		if (table->tracks->len > table->n_slots / 2)
			grow_tracks(table);
		return table->last;
	}
	return table->last = *slot - 1;
}

static gpointer add(struct kineto_reader *reader, struct row_buffer *buffer, gsize row_bytes)
{
	gpointer row = row_buffer_add(buffer, row_bytes);

	if (!row)
		reader->rows->is_out_of_memory = TRUE;
	return row;
}

/* --- collectives ---------------------------------------------------------------------------- */

static gboolean has_prefix(const struct json_text *text, const gchar *prefix)
{
	gsize n = strlen(prefix);

	return text->n >= n && memcmp(text->bytes, prefix, n) == 0;
}

static gboolean is_collective_kernel(const struct kineto_event *event)
{
	return event->collective.n || is_communication_kernel(event->name.bytes, event->name.n);
}

/* An op or annotation around the launch of a collective, which knows how much it is of. */
static gboolean tells_collective(const struct kineto_event *event)
{
	return has_prefix(&event->name, "record_param_comms") || has_prefix(&event->name, "nccl:");
}

/* Elements of the value at scan->at: [4, 8] has 32, [[4, 8], [2]] has 34, [] none. */
static guint64 count_elements(struct json_scan *scan)
{
	guint64 product = 1, sum = 0;
	gboolean has_number = FALSE;
	guint depth = 0;
	gint64 size;

	do {
		gchar c = json_peek(scan);

		if (c == '[' || c == ']' || c == ',') {
			depth += c == '[';
			depth -= c == ']';
			sum += c == ']' && has_number ? product : 0;
			if (c != ',') {
				product = 1;
				has_number = FALSE;
			}
			scan->at++;
		} else if (c && json_fixed(scan, 0, &size) && size >= 0) {
			has_number = TRUE;
			if (__builtin_mul_overflow(product, (guint64)size, &product))
				return 0;
		}
	} while (depth && scan->status == JSON_OK);
	return sum;
}

static struct json_scan scan_of(const struct json_text *text)
{
	return (struct json_scan){ .at = text->bytes, .end = text->bytes + text->n };
}

/* Elements of the tensors that "Input Dims" tells, and their bytes, as far as "Input type" tells types that
 * are known: of a list of tensors it does not. */
static void count_inputs(const struct kineto_event *event, struct kineto_extra *extra)
{
	struct json_scan dims, types;

	if (!event->input_dims.n || !event->input_types.n)
		return;
	dims = scan_of(&event->input_dims);
	types = scan_of(&event->input_types);
	if (!json_take(&dims, '[') || !json_take(&types, '['))
		return;
	while (json_element(&dims) && json_element(&types)) {
		guint64 n_elements = count_elements(&dims);
		struct json_text type;

		if (json_peek(&types) != '"' || !json_string(&types, &type))
			break;
		extra->n_elements += n_elements;
		extra->bytes += n_elements * c10_dtype_bytes(type.bytes, type.n);
	}
}

/* NCCL's kernels name the type that they reduce; where they only move bytes, its name means nothing. */
static guint8 reduced_element_bytes(const struct json_text *name)
{
	static const struct {
		const gchar *word;
		guint8 bytes;
	} words[] = { { "_f16", 2 },	{ "_bf16", 2 },	  { "_half", 2 },  { "_bfloat16", 2 },
		      { "_f32", 4 },	{ "_float", 4 },  { "_u32", 4 },   { "_i32", 4 },
		      { "_int32", 4 },	{ "_uint32", 4 }, { "_f64", 8 },   { "_double", 8 },
		      { "_u64", 8 },	{ "_i64", 8 },	  { "_int64", 8 }, { "_uint64", 8 },
		      { "_u8", 1 },	{ "_i8", 1 },	  { "_int8", 1 },  { "_uint8", 1 },
		      { "_f8e4m3", 1 }, { "_f8e5m2", 1 } };

	if (!name->n || !memmem(name->bytes, name->n, "Reduce", strlen("Reduce")))
		return 0;
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (memmem(name->bytes, name->n, words[i].word, strlen(words[i].word)))
			return words[i].bytes;
	return 0;
}

static guint32 note_group(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct kineto_group_ranks group = { .file = reader->file };

	if (!event->group_name.n)
		return 0;
	group.name = intern(reader, &event->group_name);
	group.ranks = intern(reader, &event->group_ranks);
	FOR_EACH(const struct kineto_group_ranks, known, reader->groups)
		if (known->file == group.file && known->name == group.name &&
		    known->ranks == group.ranks)
			return group.name;
	g_array_append_val(reader->groups, group);
	return group.name;
}

static TachoWay told_way(const struct kineto_event *event)
{
	if (JSON_TEXT_IS(&event->collective, "send"))
		return TACHO_WAY_SEND;
	if (JSON_TEXT_IS(&event->collective, "recv"))
		return TACHO_WAY_RECEIVE;
	if (event->kind == KINETO_KERNEL && JSON_TEXT_IS(&event->collective, "coalesced") &&
	    is_generic_kernel(event->name.bytes, event->name.n))
		return TACHO_WAY_BOTH;
	return TACHO_WAY_BY_NAME;
}

/* All of NCCL's point-to-point kernels have one name: which way it goes is told beside it, or, of a batch, by the ops that
 * made it. */
static void fill_way(const struct kineto_event *event, struct kineto_extra *extra)
{
	TachoWay way = told_way(event);
	gint64 peer = event->destination_rank;

	if (way == TACHO_WAY_RECEIVE || (way != TACHO_WAY_SEND && peer < 0))
		peer = event->source_rank;
	if (event->kind != KINETO_KERNEL && way == TACHO_WAY_BY_NAME)
		return; /* what stands in its place is its sequence number */
	extra->way = (guint8)way;
	extra->peer = peer >= 0 && peer < G_MAXINT32 ? peer + 1 : 0;
}

/* The operation that PyTorch 2.0 to 2.3 told among the inputs: ["", "7", ..., "all_to_allv", ...]. */
static enum collective_operation operation_of_inputs(const struct json_text *inputs)
{
	enum collective_operation operation = OPERATION_UNTOLD;
	struct json_scan scan = { 0 };

	if (!inputs->n)
		return OPERATION_UNTOLD;
	scan.at = inputs->bytes;
	scan.end = inputs->bytes + inputs->n;
	if (!json_take(&scan, '['))
		return OPERATION_UNTOLD;
	while (!operation && json_element(&scan)) {
		struct json_text input;

		if (json_peek(&scan) != '"')
			json_skip(&scan);
		else if (json_string(&scan, &input) && input.n && g_ascii_isalpha(*input.bytes))
			operation = operation_of_word(input.bytes, input.n);
	}
	return operation;
}

/* The operation that the arguments tell; for a kernel only where its name leaves it open. */
static guint8 told_operation(const struct kineto_event *event, TachoWay way)
{
	gboolean is_kernel = event->kind == KINETO_KERNEL;
	enum collective_operation operation;

	if (has_prefix(&event->name, "gloo:")) /* the collective itself, whose name tells */
		return OPERATION_UNTOLD;
	if (is_kernel &&
	    (way != TACHO_WAY_BY_NAME || !is_generic_kernel(event->name.bytes, event->name.n)))
		return OPERATION_UNTOLD;
	operation = operation_of_word(event->collective.bytes, event->collective.n);
	if (is_kernel)
		return operation ? (guint8)operation : OPERATION_WANTED;
	if (!operation && !has_prefix(&event->name, "record_param_comms"))
		operation = operation_of_word(event->name.bytes, event->name.n);
	return (guint8)(operation ? operation : operation_of_inputs(&event->concrete_inputs));
}

static void fill_collective(struct kineto_reader *reader, const struct kineto_event *event,
			    struct kineto_extra *extra)
{
	guint width = c10_dtype_bytes(event->dtype.bytes, event->dtype.n);

	extra->is_collective = 1;
	extra->n_elements = extra->bytes = 0;
	extra->element_bytes = reduced_element_bytes(&event->name);
	extra->group = note_group(reader, event);
	if (event->kind == KINETO_KERNEL || event->kind == KINETO_OP)
		fill_way(event, extra);
	extra->operation = told_operation(event, told_way(event));
	if (event->n_in_elements < 0)
		count_inputs(event, extra);
	else if (__builtin_mul_overflow((guint64)event->n_in_elements, width, &extra->bytes))
		extra->bytes = 0;
}

/* --- slices --------------------------------------------------------------------------------- */

static TachoSliceKind slice_kind(const struct kineto_event *event)
{
	switch (event->kind) {
	case KINETO_OP:
		return TACHO_SLICE_OP;
	case KINETO_ANNOTATION:
	case KINETO_DEVICE_ANNOTATION:
		return TACHO_SLICE_ANNOTATION;
	case KINETO_FUNCTION:
		return has_prefix(&event->name, "nn.Module: ") ? TACHO_SLICE_MODULE
							       : TACHO_SLICE_FUNCTION;
	case KINETO_RUNTIME:
		return TACHO_SLICE_RUNTIME;
	case KINETO_KERNEL:
		return is_collective_kernel(event) ? TACHO_SLICE_COLLECTIVE : TACHO_SLICE_KERNEL;
	case KINETO_MEMCPY:
		return TACHO_SLICE_MEMCPY;
	case KINETO_MEMSET:
		return TACHO_SLICE_MEMSET;
	case KINETO_SYNC:
		return TACHO_SLICE_SYNC;
	case KINETO_HOST_COLLECTIVE:
		return TACHO_SLICE_COLLECTIVE;
	default:
		return TACHO_SLICE_EVENT;
	}
}

static enum kineto_role slice_role(const struct kineto_event *event)
{
	switch (event->kind) {
	case KINETO_OP:
	case KINETO_ANNOTATION:
	case KINETO_FUNCTION:
	case KINETO_RUNTIME:
		return KINETO_ON_THREAD;
	case KINETO_HOST_COLLECTIVE: /* it goes on while the thread does other things */
	case KINETO_OTHER_SLICE:
		return KINETO_ASIDE;
	default:
		return KINETO_ON_STREAM;
	}
}

static guint64 args_place(const struct kineto_reader *reader, const struct kineto_event *event)
{
	if (!event->args_at)
		return 0;
	return kineto_place(reader->chunk->offset +
				    (guint64)(event->args_at - reader->chunk->bytes),
			    event->n_inputs);
}

/* The place of a slice, with its figures where it has such. */
static guint64 slice_place(struct kineto_reader *reader, const struct kineto_event *event,
			   TachoSliceKind kind)
{
	struct row_buffer *extras = &reader->rows->extras;
	gboolean is_collective = kind == TACHO_SLICE_COLLECTIVE || tells_collective(event);
	gboolean is_event_wait =
		kind == TACHO_SLICE_SYNC && event->event_record >= 0 && event->event_stream >= 0;
	struct kineto_extra *extra;

	if (event->sequence < 0 && event->bytes <= 0 && !is_collective && !is_event_wait)
		return args_place(reader, event);
	extra = add(reader, extras, sizeof(*extra));
	if (!extra)
		return 0;
	*extra = (struct kineto_extra){
		.place = args_place(reader, event),
		.sequence = event->sequence,
		.forward_thread = (guint64)MAX(event->forward_thread, 0),
		.bytes = (guint64)MAX(event->bytes, 0),
	};
	if (is_collective)
		fill_collective(reader, event, extra);
	if (is_event_wait) {
		extra->event_record = event->event_record;
		extra->event_stream = (guint64)event->event_stream;
	}
	return KINETO_PLACE_EXTRA | (extras->n - 1);
}

static gboolean is_autograd_node(const struct kineto_event *event)
{
	return event->kind == KINETO_OP && event->forward_thread > 0 &&
	       !has_prefix(&event->name, "autograd::engine::evaluate_function");
}

static void note_function(struct kineto_reader *reader, const struct kineto_event *event,
			  TachoSliceKind kind)
{
	struct function_id *id;

	if ((event->kind != KINETO_OP && event->kind != KINETO_ANNOTATION &&
	     kind != TACHO_SLICE_COLLECTIVE) ||
	    (event->external_id < 0 && event->record_function < 0))
		return;
	id = add(reader, &reader->rows->functions, sizeof(*id));
	if (!id)
		return;
	id->slice = (guint32)(reader->rows->slices.n - 1);
	id->external = event->external_id;
	id->record_function = event->record_function;
}

static void note_graph_node(struct kineto_reader *reader, const struct kineto_event *event)
{
	TachoGraphWork *work = add(reader, &reader->rows->graph_nodes, sizeof(*work));

	if (!work)
		return;
	*work = (TachoGraphWork){ .slice = (guint32)(reader->rows->slices.n - 1),
				  .capture = TACHO_NONE,
				  .node = event->graph_node };
}

static void add_slice(struct kineto_reader *reader, const struct kineto_event *event)
{
	struct kineto_row *row = add(reader, &reader->rows->slices, sizeof(*row));
	enum kineto_role role = slice_role(event);
	TachoSliceKind kind = slice_kind(event);

	if (!row)
		return;
	if (event->time_ns > 0 && event->time_ns < reader->rows->first_ns)
		reader->rows->first_ns = event->time_ns;
	row->start_ns = event->time_ns;
	row->duration_ns = event->has_duration ? event->duration_ns : -1;
	row->place = slice_place(reader, event, kind);
	row->link = role == KINETO_ON_THREAD && kind != TACHO_SLICE_RUNTIME ? event->external_id
									    : event->correlation;
	row->external = role == KINETO_ON_STREAM && event->external_id > 0 &&
					event->external_id <= G_MAXUINT32
				? (guint32)event->external_id
				: 0;
	row->name = intern(reader, &event->name);
	row->track =
		find_track(reader, role, id_of(reader, &event->pid), id_of(reader, &event->tid));
	g_array_index(reader->tracks.tracks, struct kineto_track, row->track).n_slices++;
	row->kind = (guint8)kind;
	row->flags = is_autograd_node(event) ? TACHO_SLICE_BACKWARD : 0;
	if (event->graph_node && role == KINETO_ON_STREAM)
		note_graph_node(reader, event);
	if (reader->wants_functions)
		note_function(reader, event, kind);
}

/* --- other events --------------------------------------------------------------------------- */

static void add_sample(struct kineto_reader *reader, const struct kineto_event *event,
		       const gchar *name, gdouble value)
{
	guint32 counter = string_table_intern(reader->strings, name, -1);
	TachoSample *sample = add(reader, &reader->rows->samples, sizeof(*sample));

	if (!sample)
		return;
	sample->time_ns = event->time_ns;
	sample->value = value;
	sample->track = find_track(reader, KINETO_COUNTED, id_of(reader, &event->pid), counter);
}

static void add_total(struct kineto_reader *reader, const struct kineto_event *event,
		      enum counter_kind kind, gint64 bytes)
{
	gchar name[COUNTER_NAME_BYTES];

	if (bytes < 0)
		return;
	counter_memory_name(name, kind, event->device_type <= 0, event->device_id);
	add_sample(reader, event, name, (gdouble)bytes);
}

static void add_memory(struct kineto_reader *reader, const struct kineto_event *event)
{
	TachoMemoryEvent *memory = add(reader, &reader->rows->memory, sizeof(*memory));

	if (!memory)
		return;
	*memory = (TachoMemoryEvent){
		.time_ns = event->time_ns,
		.address = (guint64)event->address,
		.bytes = event->bytes,
		.slice = TACHO_NONE,
	};
	if (event->device_type > 0)
		memory->device = (guint32)CLAMP(event->device_id, 0, (gint64)G_MAXINT32) + 1;
	memory->track = find_track(reader, KINETO_ON_THREAD, id_of(reader, &event->pid),
				   id_of(reader, &event->tid));
	add_total(reader, event, COUNTER_ALLOCATED, event->total_allocated);
	add_total(reader, event, COUNTER_RESERVED, event->total_reserved);
}

/* What the args say, as it stands; a very long text is left out. */
static guint32 intern_args(struct kineto_reader *reader, const struct kineto_event *event)
{
	if (!event->args_at || event->args_end - event->args_at > MAX_MARK_BYTES)
		return 0;
	return string_table_intern(reader->strings, event->args_at,
				   event->args_end - event->args_at);
}

static void add_mark(struct kineto_reader *reader, const struct kineto_event *event)
{
	TachoMark *mark = add(reader, &reader->rows->marks, sizeof(*mark));

	if (!mark)
		return;
	*mark = (TachoMark){ .time_ns = event->time_ns };
	mark->name = intern(reader, &event->name);
	mark->text = intern_args(reader, event);
	mark->track = find_track(reader, KINETO_ASIDE, id_of(reader, &event->pid),
				 id_of(reader, &event->tid));
}

static void add_instant(struct kineto_reader *reader, const struct kineto_event *event)
{
	if (JSON_TEXT_IS(&event->name, "[memory]") && event->bytes != G_MININT64)
		add_memory(reader, event);
	else
		add_mark(reader, event);
}

/* A sample for each number in the args, of a counter of that name, or of `name` and that. */
static void add_numbers(struct kineto_reader *reader, const struct kineto_event *event,
			const gchar *name)
{
	struct json_scan args = { .at = event->args_at, .end = event->args_end };
	struct json_text key;
	gdouble value;

	if (!event->args_at)
		return;
	json_take(&args, '{');
	while (json_member(&args, &key)) {
		g_autofree gchar *series = NULL, *both = NULL;

		if (!json_number(&args, &value) || !isfinite(value))
			continue;
		series = json_text_dup(&key);
		if (*name && strcmp(series, name) != 0)
			both = g_strdup_printf("%s: %s", name, series);
		add_sample(reader, event, both ? both : series, value);
	}
}

static void add_counter(struct kineto_reader *reader, const struct kineto_event *event)
{
	g_autofree gchar *name = json_text_dup(&event->name);

	add_numbers(reader, event, name);
}

/* What CUPTI counted while one kernel ran (kineto_ranges.c). */
static gboolean is_counted_range(const struct kineto_event *event)
{
	return event->kind == KINETO_OTHER_SLICE &&
	       JSON_TEXT_IS(&event->category, "cuda_profiler_range");
}

/* What was counted in the slice that was added last. */
static void add_range(struct kineto_reader *reader, const struct kineto_event *event)
{
	guint32 *range = add(reader, &reader->rows->ranges, sizeof(*range));

	if (!range)
		return;
	*range = (guint32)(reader->rows->slices.n - 1);
	add_numbers(reader, event, "");
}

static void add_label(struct kineto_reader *reader, const struct kineto_event *event)
{
	gboolean is_process = JSON_TEXT_IS(&event->name, "process_name");
	struct kineto_label *label;

	if (!is_process && !JSON_TEXT_IS(&event->name, "thread_name"))
		return; /* how a viewer should arrange them */
	label = add(reader, &reader->rows->labels, sizeof(*label));
	if (!label)
		return;
	label->kind = is_process ? KINETO_PROCESS_NAME : KINETO_THREAD_NAME;
	label->pid = id_of(reader, &event->pid);
	label->tid = id_of(reader, &event->tid);
	label->text = intern(reader, &event->label);
}

static void add_event(struct kineto_reader *reader, const struct kineto_event *event)
{
	reader->rows->n_events++;
	reader->rows->has_fraction |= event->has_fraction;
	switch (event->kind) {
	case KINETO_INSTANT:
		add_instant(reader, event);
		break;
	case KINETO_COUNTER:
		add_counter(reader, event);
		break;
	case KINETO_METADATA:
		add_label(reader, event);
		break;
	case KINETO_FLOW:
		reader->rows->n_flows++;
		break;
	case KINETO_UNKNOWN:
		reader->rows->n_unknown++;
		break;
	default:
		add_slice(reader, event);
		if (is_counted_range(event))
			add_range(reader, event);
	}
}

/* --- pieces --------------------------------------------------------------------------------- */

/* As json_elements.h wants it. */
static gboolean read_element(struct json_scan *scan, gpointer data)
{
	struct kineto_event event;

	if (!kineto_event_read(scan, &event))
		return FALSE;
	add_event(data, &event);
	return TRUE;
}

gsize kineto_reader_read(struct kineto_reader *reader, const struct json_chunk *chunk, guint32 file,
			 gboolean is_careful, struct kineto_rows *rows)
{
	rows->file = reader->file = file;
	rows->chunk = chunk->index;
	rows->reader = reader;
	rows->first_ns = G_MAXINT64;
	reader->rows = rows;
	reader->chunk = chunk;
	return json_elements_read(chunk, is_careful, read_element, reader, &rows->elements);
}
