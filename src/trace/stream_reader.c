#include "trace/stream_reader.h"

#include <math.h>
#include <string.h>

#include "trace/record.h"
#include "trace/slice_columns.h"
#include "trace/source.h"
#include "trace/trace_metadata.h"
#include "trace/trace_kinds.h"

/* A record so much later than the making of its file was not stamped by a clock. */
#define MAX_FILE_SPAN_S (400u * 24 * 3600)
/* Where an open slice ends while it is not known where: later than any time there is. */
#define OPEN_END_NS (G_GINT64_CONSTANT(1) << 62)
/* What ends so much after it was told did not: the clocks of devices are brought to ours with less error. */
#define AHEAD_NS 1000000

#define SAME_KIND(name) G_STATIC_ASSERT((int)TRACE_KIND_##name == (int)TACHO_SLICE_##name)
SAME_KIND(OP);
SAME_KIND(ANNOTATION);
SAME_KIND(MODULE);
SAME_KIND(WAIT);
SAME_KIND(KERNEL);
SAME_KIND(COLLECTIVE);
#undef SAME_KIND

/* Those before OUTPUTS are numbered alike. */
static inline guint8 slice_kind(guint8 trace_kind)
{
	switch (trace_kind) {
	case TRACE_KIND_MESSAGE:
		return TACHO_SLICE_MESSAGE;
	case TRACE_KIND_FUNCTION:
		return TACHO_SLICE_FUNCTION;
	case TRACE_KIND_RUNTIME:
		return TACHO_SLICE_RUNTIME;
	case TRACE_KIND_SPAN:
		return TACHO_SLICE_ANNOTATION;
	case TRACE_KIND_TRANSFER:
		return TACHO_SLICE_COLLECTIVE;
	case TRACE_KIND_REQUEST:
		return TACHO_SLICE_EVENT;
	default:
		return trace_kind;
	}
}

struct stream_reader {
	struct stream_rows *rows;
	const struct tacho_source *source;
	const struct trace_metadata *metadata;
	gint64 origin_unix_ns;
	guint32 file;
	guint64 last_stamp, max_stamp;
	guint32 innermost;     /* row of the slice open where we are, or TACHO_NONE */
	gboolean is_unsettled; /* rows are not in timeline order, or not within their parents */
	gboolean is_full;      /* a slice of this file found no room: (4) */
};

static inline gint64 time_of(const struct stream_reader *reader, guint64 ticks)
{
	return trace_clock_unix_ns(&reader->metadata->clock, ticks) - reader->origin_unix_ns;
}

static inline gint64 end_of(const TachoSlices *slices, guint32 row)
{
	return slices->start_ns[row] + slices->duration_ns[row];
}

/* --- slices --------------------------------------------------------------------------------- */

struct new_slice {
	gint64 start_ns, end_ns;
	guint64 handle;
	guint32 name;
	guint8 kind, flags;
};

/* The end of a slice that began at `stamp`; one that cannot be becomes its beginning. */
static inline gint64 slice_end(struct stream_reader *reader, gint64 start_ns, guint64 stamp,
			       guint64 duration, guint8 *flags)
{
	gint64 end_ns;

	if (duration == TRACE_OPEN) {
		*flags |= TACHO_SLICE_OPEN;
		return OPEN_END_NS;
	}
	if (G_UNLIKELY(duration > reader->max_stamp - stamp)) {
		*flags |= TACHO_SLICE_REPAIRED;
		reader->rows->n_impossible++;
		return start_ns;
	}
	end_ns = time_of(reader, stamp + duration);
	reader->rows->last_ns = MAX(reader->rows->last_ns, end_ns);
	return end_ns;
}

static inline void leave_slices(struct stream_reader *reader, gint64 time_ns)
{
	const TachoSlices *slices = &reader->rows->slices;

	while (reader->innermost != TACHO_NONE && end_of(slices, reader->innermost) <= time_ns)
		reader->innermost = slices->parent[reader->innermost];
}

/* Whether the slice ends behind this record, in ticks, of which a nanosecond may have several. */
static gboolean is_open_now(const struct stream_reader *reader, guint32 row)
{
	const TachoSlices *slices = &reader->rows->slices;
	gsize size_bytes;
	const struct record_slice *record = tacho_source_borrow_record(
		reader->source, slices->source[row], sizeof(*record), &size_bytes);

	return record && !(slices->flags[row] & TACHO_SLICE_REPAIRED) &&
	       reader->last_stamp - record->header.stamp < record->duration;
}

/* The same for what is within a slice and no slice itself: its last nanosecond is the slice's, too. */
static void leave_ended_slices(struct stream_reader *reader, gint64 time_ns)
{
	const TachoSlices *slices = &reader->rows->slices;

	while (reader->innermost != TACHO_NONE && end_of(slices, reader->innermost) <= time_ns &&
	       !(end_of(slices, reader->innermost) == time_ns &&
		 is_open_now(reader, reader->innermost)))
		reader->innermost = slices->parent[reader->innermost];
}

static gboolean note_open(struct row_buffer *open, guint32 row)
{
	guint32 *place = row_buffer_add(open, sizeof(*place));

	if (place)
		*place = row;
	return place != NULL;
}

static inline gboolean add_row(struct stream_reader *reader, TachoSlices *slices,
			       const struct new_slice *slice, guint32 parent)
{
	guint32 row = slices->n;

	if (G_UNLIKELY(row == slices->capacity)) {
		reader->is_full = TRUE;
		return FALSE;
	}
	slices->start_ns[row] = slice->start_ns;
	slices->duration_ns[row] = slice->end_ns - slice->start_ns;
	slices->source[row] = slice->handle;
	slices->name[row] = slice->name;
	slices->parent[row] = parent;
	slices->launch[row] = TACHO_NONE;
	slices->kind[row] = slice->kind;
	slices->flags[row] = slice->flags;
	slices->depth[row] = 0;
	if (parent != TACHO_NONE)
		slices->depth[row] = (guint16)MIN(slices->depth[parent] + 1, G_MAXUINT16);
	if (G_UNLIKELY(row && slices->start_ns[row - 1] == slice->start_ns &&
		       slices->duration_ns[row - 1] < slices->duration_ns[row]))
		reader->is_unsettled = TRUE;
	slices->n++;
	return TRUE;
}

/* A slice of the thread: its parent is what is open now. */
static inline gboolean add_nested(struct stream_reader *reader, struct new_slice *slice)
{
	TachoSlices *slices = &reader->rows->slices;
	guint32 parent;

	leave_slices(reader, slice->start_ns);
	parent = reader->innermost;
	if (G_UNLIKELY(parent != TACHO_NONE && end_of(slices, parent) < slice->end_ns)) {
		if (slice->flags & TACHO_SLICE_OPEN) { /* nobody saw its end */
			slice->end_ns = end_of(slices, parent);
			slice->flags |= TACHO_SLICE_REPAIRED;
			slice->flags &= (guint8)~TACHO_SLICE_OPEN;
			reader->rows->nest.n_cut++;
		} else {
			reader->is_unsettled = TRUE;
		}
	}
	reader->innermost = slices->n;
	return add_row(reader, slices, slice, parent) &&
	       (!(slice->flags & TACHO_SLICE_OPEN) ||
		note_open(&reader->rows->open, slices->n - 1));
}

static inline gboolean add_queued(struct stream_reader *reader, struct new_slice *slice)
{
	TachoSlices *queued = &reader->rows->queued;

	return add_row(reader, queued, slice, TACHO_NONE) &&
	       (!(slice->flags & TACHO_SLICE_OPEN) ||
		note_open(&reader->rows->open_queued, queued->n - 1));
}

static inline guint8 op_flags(guint32 flags)
{
	return (guint8)((flags & TRACE_OP_BACKWARD ? TACHO_SLICE_BACKWARD : 0) |
			(flags & TRACE_OP_UNASKED ? TACHO_SLICE_UNASKED : 0));
}

/* Whether slices of the kind lie beside those of their thread. */
static inline gboolean is_queued(guint8 trace_kind)
{
	return trace_kind == TRACE_KIND_COLLECTIVE || trace_kind == TRACE_KIND_SPAN ||
	       trace_kind == TRACE_KIND_TRANSFER || trace_kind == TRACE_KIND_REQUEST;
}

/* A collective or transfer that failed had no part in what others did. */
static inline gboolean has_failed(guint8 trace_kind, const struct record_header *header)
{
	const struct record_collective *collective = (const void *)header;
	const struct record_transfer *transfer = (const void *)header;

	return (trace_kind == TRACE_KIND_COLLECTIVE && collective->bytes == TRACE_FAILED) ||
	       (trace_kind == TRACE_KIND_TRANSFER && transfer->way == TRACE_WAY_UNKNOWN);
}

static inline gboolean add_slice(struct stream_reader *reader, const struct record_header *header,
				 gint64 time_ns, guint64 offset, struct trace_class class)
{
	/* Every slice's duration is where record_slice has it. */
	const struct record_slice *record = (const void *)header;
	guint64 duration = __atomic_load_n(&record->duration, __ATOMIC_RELAXED);
	struct new_slice slice = {
		.start_ns = time_ns,
		.handle = tacho_source_handle(reader->file, offset),
		.name = class.name,
		.kind = slice_kind(class.kind),
	};

	slice.end_ns = slice_end(reader, time_ns, reader->last_stamp, duration, &slice.flags);
	if (G_UNLIKELY(has_failed(class.kind, header)))
		slice.kind = TACHO_SLICE_EVENT;
	if (is_queued(class.kind))
		return add_queued(reader, &slice);
	if (class.kind == TRACE_KIND_OP)
		slice.flags |= op_flags(((const struct record_op *)record)->flags);
	return add_nested(reader, &slice);
}

/* --- other records -------------------------------------------------------------------------- */

/* Called before slices are left that end now: the record is written as its slice is ending. */
static gboolean add_outputs(struct stream_reader *reader, const struct record_outputs *record,
			    guint64 offset)
{
	const TachoSlices *slices = &reader->rows->slices;
	gint64 begin_ns;
	guint32 row = reader->innermost;
	struct stream_outputs *outputs;

	if (record->begin_stamp > reader->last_stamp)
		return TRUE;
	begin_ns = time_of(reader, record->begin_stamp);
	while (row != TACHO_NONE && slices->start_ns[row] > begin_ns)
		row = slices->parent[row];
	if (row == TACHO_NONE || slices->start_ns[row] != begin_ns)
		return TRUE; /* of a slice that was dropped */
	outputs = row_buffer_add(&reader->rows->outputs, sizeof(*outputs));
	if (!outputs)
		return FALSE;
	outputs->row = row;
	outputs->handle = tacho_source_handle(reader->file, offset);
	return TRUE;
}

/* `device` and `layer` as in TachoMemoryEvent. */
static gboolean add_memory(struct stream_reader *reader, const struct record_memory *record,
			   gint64 time_ns, gint sign, guint32 device, TachoMemoryLayer layer)
{
	TachoMemoryEvent *event;

	leave_ended_slices(reader, time_ns);
	event = row_buffer_add(&reader->rows->memory, sizeof(*event));
	if (!event)
		return FALSE;
	*event = (TachoMemoryEvent){
		.time_ns = time_ns,
		.address = record->address,
		.bytes = sign * (gint64)MIN(record->bytes, G_MAXINT64),
		.track = TACHO_NONE,
		.slice = reader->innermost,
		.device = device,
		.layer = (guint8)layer,
	};
	return TRUE;
}

/* The host's is 0. */
static guint32 device_of(const struct record_device_memory *record)
{
	return record->device < 0 ? 0 : (guint32)record->device + 1;
}

/* Whether what is told late can have been from `begin` on, in ticks. */
static inline gboolean is_possible(const struct stream_reader *reader, guint64 begin,
				   guint64 duration)
{
	return begin && begin >= reader->metadata->least_ticks && begin <= reader->max_stamp &&
	       duration <= reader->max_stamp - begin;
}

/* A slice of the thread that is over and was not told when it began: settle_rows() finds its place. */
static gboolean add_late_slice(struct stream_reader *reader, const struct record_late *record,
			       gint64 time_ns, guint64 offset, struct trace_class class)
{
	guint64 begin = record->begin, duration = record->duration;
	struct new_slice slice = {
		.start_ns = time_ns,
		.end_ns = time_ns,
		.handle = tacho_source_handle(reader->file, offset),
		.name = class.name,
		.kind = slice_kind((guint8)record->slice_kind),
	};

	if (is_possible(reader, begin, duration) && begin + duration <= reader->last_stamp) {
		slice.start_ns = time_of(reader, begin);
		slice.end_ns = time_of(reader, begin + duration);
		reader->rows->first_ns = MIN(reader->rows->first_ns, slice.start_ns);
	} else {
		slice.flags = TACHO_SLICE_REPAIRED;
		reader->rows->n_impossible++;
	}
	reader->is_unsettled = TRUE;
	return add_row(reader, &reader->rows->slices, &slice, TACHO_NONE);
}

static gboolean add_late(struct stream_reader *reader, gint64 start_ns, gint64 duration_ns,
			 guint64 offset, struct trace_class class)
{
	struct stream_late *late = row_buffer_add(&reader->rows->late, sizeof(*late));

	if (!late)
		return FALSE;
	*late = (struct stream_late){
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.handle = tacho_source_handle(reader->file, offset),
		.name = class.name,
		.kind = class.kind,
	};
	return TRUE;
}

static gboolean add_activity(struct stream_reader *reader, const struct record_activity *record,
			     gint64 time_ns, guint64 offset, struct trace_class class)
{
	guint64 begin = record->begin, duration = record->duration;
	gint64 start_ns, end_ns;

	if (!is_possible(reader, begin, duration)) {
		reader->rows->n_late_impossible++;
		return TRUE;
	}
	start_ns = time_of(reader, begin);
	end_ns = time_of(reader, begin + duration);
	if (G_UNLIKELY(end_ns - time_ns > AHEAD_NS)) {
		reader->rows->n_ahead++;
		reader->rows->most_ahead_ns = MAX(reader->rows->most_ahead_ns, end_ns - time_ns);
	}
	return add_late(reader, start_ns, end_ns - start_ns, offset, class);
}

static gboolean add_counter(struct stream_reader *reader, const struct record_counter *record,
			    gint64 time_ns, guint64 offset, struct trace_class class)
{
	if (!isfinite(record->value) || (record->time && !is_possible(reader, record->time, 0))) {
		reader->rows->n_late_impossible++;
		return TRUE;
	}
	if (record->time)
		time_ns = time_of(reader, record->time);
	return add_late(reader, time_ns, 0, offset, class);
}

static gboolean add_flow(struct stream_reader *reader, struct row_buffer *flows, gint64 time_ns,
			 guint64 offset, struct trace_class class)
{
	struct stream_flow *flow;

	leave_ended_slices(reader, time_ns);
	flow = row_buffer_add(flows, sizeof(*flow));
	if (!flow)
		return FALSE;
	*flow = (struct stream_flow){
		.time_ns = time_ns,
		.handle = tacho_source_handle(reader->file, offset),
		.name = class.name,
		.row = reader->innermost,
	};
	return TRUE;
}

static gboolean add_moment(struct stream_reader *reader, gint64 time_ns, guint64 offset,
			   struct trace_class class)
{
	struct stream_moment *moment = row_buffer_add(&reader->rows->moments, sizeof(*moment));

	if (!moment)
		return FALSE;
	moment->time_ns = time_ns;
	moment->handle = tacho_source_handle(reader->file, offset);
	moment->name = class.name;
	moment->kind = class.kind;
	return TRUE;
}

static gboolean add_stack(struct stream_reader *reader, const struct record_stack *record,
			  gint64 time_ns, guint64 offset)
{
	struct stream_stack *stack = row_buffer_add(&reader->rows->stacks, sizeof(*stack));

	if (!stack)
		return FALSE;
	stack->time_ns = time_ns;
	stack->before_ns = record->before && record->before <= reader->last_stamp
				   ? time_of(reader, record->before)
				   : time_ns;
	stack->handle = tacho_source_handle(reader->file, offset);
	return TRUE;
}

static inline gboolean add_record(struct stream_reader *reader, const struct record_header *header,
				  guint64 offset, struct trace_class class)
{
	gint64 time_ns = time_of(reader, reader->last_stamp);

	reader->rows->n_by_kind[class.kind]++;
	switch ((enum trace_kind) class.kind) {
	case TRACE_KIND_OUTPUTS:
		return add_outputs(reader, (const void *)header, offset);
	case TRACE_KIND_ALLOC:
		return add_memory(reader, (const void *)header, time_ns, 1, 0,
				  TACHO_MEMORY_OF_ALLOCATOR);
	case TRACE_KIND_FREE:
		return add_memory(reader, (const void *)header, time_ns, -1, 0,
				  TACHO_MEMORY_OF_ALLOCATOR);
	case TRACE_KIND_DEVICE_ALLOC:
		return add_memory(reader, (const void *)header, time_ns, 1,
				  device_of((const void *)header), TACHO_MEMORY_OF_DRIVER);
	case TRACE_KIND_DEVICE_FREE:
		return add_memory(reader, (const void *)header, time_ns, -1,
				  device_of((const void *)header), TACHO_MEMORY_OF_DRIVER);
	case TRACE_KIND_LATE:
		return add_late_slice(reader, (const void *)header, time_ns, offset, class);
	case TRACE_KIND_DEVICE_KERNEL:
	case TRACE_KIND_COPY:
	case TRACE_KIND_FILL:
	case TRACE_KIND_DEVICE_WAIT:
	case TRACE_KIND_DEVICE_WORK:
		return add_activity(reader, (const void *)header, time_ns, offset, class);
	case TRACE_KIND_COUNTER:
		return add_counter(reader, (const void *)header, time_ns, offset, class);
	case TRACE_KIND_DEVICE:
	case TRACE_KIND_QUEUE:
		return add_late(reader, time_ns, 0, offset, class);
	case TRACE_KIND_FLOW:
		return add_flow(reader, &reader->rows->flows, time_ns, offset, class);
	case TRACE_KIND_GRAPH_NODE:
		return add_flow(reader, &reader->rows->nodes, time_ns, offset, class);
	case TRACE_KIND_STACK:
		return add_stack(reader, (const void *)header, time_ns, offset);
	case TRACE_KIND_MARK:
	case TRACE_KIND_THREAD:
	case TRACE_KIND_EXIT:
	case TRACE_KIND_COST:
	case TRACE_KIND_CLOCK:
		return add_moment(reader, time_ns, offset, class);
	default:
		return add_slice(reader, header, time_ns, offset, class);
	}
}

/* --- files ---------------------------------------------------------------------------------- */

static void note_fault(struct stream_reader *reader, guint64 offset, const gchar *reason)
{
	struct stream_fault *fault = row_buffer_add(&reader->rows->faults, sizeof(*fault));

	if (!fault) {
		reader->rows->is_out_of_memory = TRUE;
		return;
	}
	fault->file = reader->file;
	fault->offset = offset;
	fault->reason = reason;
}

static inline struct trace_class find_class(const struct trace_metadata *metadata, guint32 id)
{
	if (G_UNLIKELY(id >= metadata->n_classes))
		return (struct trace_class){ .kind = TRACE_CLASS_UNDECLARED };
	return metadata->classes[id];
}

/* What is wrong with the head of the record in `left` bytes; NULL: nothing. */
static inline const gchar *find_head_fault(const struct stream_reader *reader, guint64 stamp,
					   gsize size_bytes, gsize left)
{
	if (size_bytes < sizeof(struct record_header) || size_bytes % 8)
		return "has an impossible size";
	if (size_bytes > left)
		return "is longer than what is left of the file";
	if (stamp < reader->last_stamp)
		return "is earlier than the one before it";
	if (stamp > reader->max_stamp)
		return "is impossibly late";
	return NULL;
}

/* Read one record; its size, or 0 where reading this file is over. */
static inline gsize read_record(struct stream_reader *reader, const guint8 *bytes, guint64 offset,
				gsize left)
{
	const struct record_header *header = (const void *)(bytes + offset);
	struct trace_class class;
	const gchar *fault = "is shorter than its head";
	gsize size_bytes = 0;
	guint64 stamp = 0;

	if (G_LIKELY(left >= sizeof(*header))) {
		size_bytes = __atomic_load_n(&header->size_bytes, __ATOMIC_RELAXED);
		stamp = __atomic_load_n(&header->stamp, __ATOMIC_RELAXED);
		fault = find_head_fault(reader, stamp, size_bytes, left);
	}
	class = fault ? (struct trace_class){ 0 } : find_class(reader->metadata, header->class_id);
	if (!fault && class.kind < TRACE_N_KINDS)
		fault = record_find_fault(class.kind, header, size_bytes);
	if (G_UNLIKELY(fault)) {
		note_fault(reader, offset, fault);
		return 0;
	}
	reader->last_stamp = stamp;
	reader->rows->n_records++;
	if (G_UNLIKELY(class.kind >= TRACE_N_KINDS)) {
		reader->rows->n_unknown++;
	} else if (!add_record(reader, header, offset, class)) {
		if (reader->is_full)
			note_fault(reader, offset, "has changed while the file was read");
		else
			reader->rows->is_out_of_memory = TRUE;
		return 0;
	}
	return size_bytes;
}

static guint64 latest_stamp(const struct trace_metadata *metadata, guint64 file_ticks)
{
	guint64 span = MAX_FILE_SPAN_S * metadata->clock.frequency_hz; /* < 2^62 */
	guint64 latest;

	if (__builtin_add_overflow(file_ticks, span, &latest))
		return metadata->clock.max_ticks;
	return MIN(latest, metadata->clock.max_ticks);
}

/* Where reading of the file begins and ends, but for records that are read by themselves. */
static guint64 part_begin(const struct stream_file_place *place)
{
	return place->part ? place->part->from : sizeof(struct packet_header);
}

static guint64 part_end(const struct stream_file_place *place, gsize content_bytes)
{
	return place->part ? MIN(place->part->end, content_bytes) : content_bytes;
}

static guint count_kept(const struct stream_file_place *place)
{
	return place->part ? place->part->kept->len : 0;
}

static guint64 kept_at(const struct stream_file_place *place, guint i)
{
	return g_array_index(place->part->kept, guint64, i);
}

static void read_file(struct stream_reader *reader, const struct tacho_source *source,
		      const struct stream_file_place *place)
{
	gsize content_bytes, size_bytes;
	const guint8 *bytes = tacho_source_borrow_file(source, place->file, &content_bytes);
	const struct packet_header *packet = (const void *)bytes;
	guint64 offset = part_begin(place), end = part_end(place, content_bytes);

	reader->file = place->file;
	reader->is_full = FALSE;
	reader->max_stamp = latest_stamp(reader->metadata, packet->pair_ticks);
	for (guint i = 0; i < count_kept(place); i++)
		if (kept_at(place, i) < content_bytes)
			read_record(reader, bytes, kept_at(place, i),
				    content_bytes - kept_at(place, i));
	while (offset < end && !reader->rows->is_out_of_memory) {
		size_bytes = read_record(reader, bytes, offset, end - offset);
		if (!size_bytes)
			break;
		offset += size_bytes;
	}
}

gboolean stream_reader_first_stamp(const struct tacho_source *source,
				   const struct stream_file_place *place, guint64 *ret_stamp)
{
	gsize content_bytes;
	const guint8 *bytes = tacho_source_borrow_file(source, place->file, &content_bytes);
	guint64 offset = count_kept(place) ? kept_at(place, 0) : part_begin(place);
	const struct record_header *first = (const void *)(bytes + offset);

	if (content_bytes < offset || content_bytes - offset < sizeof(*first) ||
	    (!count_kept(place) && offset >= part_end(place, content_bytes)))
		return FALSE;
	*ret_stamp = first->stamp;
	return TRUE;
}

/* --- counting ------------------------------------------------------------------------------- */

/* When that was which the record tells of, in ticks; G_MAXUINT64: when it was told. */
static guint64 late_time(enum trace_kind kind, const void *record, gsize size_bytes)
{
	const struct record_late *late = record;
	const struct record_activity *activity = record;
	const struct record_counter *counter = record;
	guint64 time = 0;

	switch (kind) {
	case TRACE_KIND_LATE:
		time = size_bytes < sizeof(*late) ? 0 : late->begin;
		break;
	case TRACE_KIND_DEVICE_KERNEL:
	case TRACE_KIND_COPY:
	case TRACE_KIND_FILL:
	case TRACE_KIND_DEVICE_WAIT:
	case TRACE_KIND_DEVICE_WORK:
		time = size_bytes < sizeof(*activity) ? 0 : activity->begin;
		break;
	case TRACE_KIND_COUNTER:
		time = size_bytes < sizeof(*counter) ? 0 : counter->time;
		break;
	default:
		break;
	}
	return time ? time : G_MAXUINT64;
}

/* Add the record at `offset` to `n_by_kind`, whose last entry takes those of no known kind; its size, or 0 where it
 * cannot be one. */
static inline gsize count_record(const guint8 *bytes, gsize offset, gsize end,
				 const struct trace_metadata *metadata,
				 guint64 n_by_kind[TRACE_N_KINDS + 1], guint64 *first_late)
{
	const struct record_header *header = (const void *)(bytes + offset);
	guint32 class_id = __atomic_load_n(&header->class_id, __ATOMIC_RELAXED);
	guint8 kind = find_class(metadata, class_id).kind;
	gsize size_bytes = __atomic_load_n(&header->size_bytes, __ATOMIC_RELAXED);

	if (size_bytes < sizeof(*header) || size_bytes % 8 || size_bytes > end - offset)
		return 0;
	n_by_kind[MIN(kind, TRACE_N_KINDS)]++;
	if (G_UNLIKELY(kind >= TRACE_KIND_LATE && kind < TRACE_N_KINDS)) {
		guint64 time = late_time(kind, header, size_bytes);

		if (time >= metadata->least_ticks)
			*first_late = MIN(*first_late, time);
	}
	return size_bytes;
}

static void count_file(const struct tacho_source *source, const struct stream_file_place *place,
		       const struct trace_metadata *metadata, guint64 n_by_kind[TRACE_N_KINDS + 1],
		       guint64 *first_late)
{
	gsize content_bytes, size_bytes;
	const guint8 *bytes = tacho_source_borrow_file(source, place->file, &content_bytes);
	gsize offset = part_begin(place), end = part_end(place, content_bytes);

	for (guint i = 0; i < count_kept(place); i++)
		if (kept_at(place, i) + sizeof(struct record_header) <= content_bytes)
			count_record(bytes, kept_at(place, i), content_bytes, metadata, n_by_kind,
				     first_late);
	for (; offset + sizeof(struct record_header) <= end; offset += size_bytes) {
		size_bytes = count_record(bytes, offset, end, metadata, n_by_kind, first_late);
		if (!size_bytes)
			return;
	}
}

struct stream_count stream_reader_count(const struct tacho_source *source,
					const struct trace_metadata *metadata,
					const struct stream_file_place *files, guint n_files)
{
	guint64 n_by_kind[TRACE_N_KINDS + 1] = { 0 };
	struct stream_count count = { .first_late = G_MAXUINT64 };

	for (guint i = 0; i < n_files; i++) {
		if (!files[i].part) /* a part was looked at just before */
			tacho_source_preload_file(source, files[i].file);
		count_file(source, &files[i], metadata, n_by_kind, &count.first_late);
	}
	for (guint kind = 0; kind < TRACE_N_KINDS; kind++)
		count.n_slices += trace_kind_is_slice(kind) ? n_by_kind[kind] : 0;
	for (guint kind = 0; kind < TRACE_N_KINDS; kind++)
		count.n_queued += is_queued((guint8)kind) ? n_by_kind[kind] : 0;
	count.n_slices -= count.n_queued;
	return count;
}

/* --- after the last record ------------------------------------------------------------------ */

static void renumber(struct row_buffer *open, const guint32 *moved)
{
	for (gsize i = 0; i < open->n; i++)
		((guint32 *)open->rows)[i] = moved[((guint32 *)open->rows)[i]];
}

static void renumber_flows(struct row_buffer *flows, const guint32 *moved)
{
	for (gsize i = 0; i < flows->n; i++) {
		struct stream_flow *flow = (struct stream_flow *)flows->rows + i;

		if (flow->row != TACHO_NONE)
			flow->row = moved[flow->row];
	}
}

/* Slices that began in the same nanosecond came in the order they began, not longest first; and one that
 * outlasts the one it began in lies in another. */
static void settle_rows(struct stream_rows *rows)
{
	g_autofree guint32 *moved = NULL, *moved_queued = NULL;

	if (rows->queued.n) {
		memset(rows->queued.track, 0, rows->queued.n * sizeof(guint32));
		moved_queued = slice_columns_sort(&rows->queued, 1);
		renumber(&rows->open_queued, moved_queued);
	}
	if (!rows->slices.n)
		return;
	memset(rows->slices.track, 0, rows->slices.n * sizeof(guint32));
	moved = slice_columns_sort(&rows->slices, 1);
	slice_columns_nest(&rows->slices, 0, rows->slices.n, NEST_CALLS, 0, &rows->nest);
	renumber(&rows->open, moved);
	for (gsize i = 0; i < rows->outputs.n; i++) {
		struct stream_outputs *outputs = (struct stream_outputs *)rows->outputs.rows + i;

		outputs->row = moved[outputs->row];
	}
	for (gsize i = 0; i < rows->memory.n; i++) {
		TachoMemoryEvent *event = (TachoMemoryEvent *)rows->memory.rows + i;

		if (event->slice != TACHO_NONE)
			event->slice = moved[event->slice];
	}
	renumber_flows(&rows->flows, moved);
	renumber_flows(&rows->nodes, moved);
}

void stream_reader_read(struct stream_rows *rows, const struct tacho_source *source,
			const struct trace_metadata *metadata,
			const struct stream_file_place *files, guint n_files, gint64 origin_unix_ns)
{
	struct stream_reader reader = { .rows = rows,
					.source = source,
					.metadata = metadata,
					.origin_unix_ns = origin_unix_ns,
					.innermost = TACHO_NONE };
	guint64 first_stamp;

	rows->first_ns = rows->last_ns = 0;
	if (n_files && stream_reader_first_stamp(source, &files[0], &first_stamp) &&
	    first_stamp <= metadata->clock.max_ticks)
		rows->first_ns = rows->last_ns = time_of(&reader, first_stamp);
	for (guint i = 0; i < n_files && !rows->is_out_of_memory; i++)
		read_file(&reader, source, &files[i]);
	if (!rows->n_records)
		return;
	rows->last_ns = MAX(rows->last_ns, time_of(&reader, reader.last_stamp));
	if (reader.is_unsettled && !rows->is_out_of_memory)
		settle_rows(rows);
}

static void end_rows(TachoSlices *slices, const struct row_buffer *open, gint64 end_ns)
{
	const guint32 *rows = open->rows;

	for (gsize i = 0; i < open->n; i++)
		if (end_of(slices, rows[i]) == OPEN_END_NS)
			slices->duration_ns[rows[i]] = MAX(end_ns - slices->start_ns[rows[i]], 0);
}

void stream_rows_end_open(struct stream_rows *rows, gint64 end_ns)
{
	end_rows(&rows->slices, &rows->open, end_ns);
	end_rows(&rows->queued, &rows->open_queued, end_ns);
}

void stream_rows_release(struct stream_rows *rows)
{
	rows->slices = rows->queued = (TachoSlices){ 0 };
	row_buffer_release(&rows->outputs);
	row_buffer_release(&rows->memory);
	row_buffer_release(&rows->moments);
	row_buffer_release(&rows->stacks);
	row_buffer_release(&rows->late);
	row_buffer_release(&rows->flows);
	row_buffer_release(&rows->nodes);
	row_buffer_release(&rows->faults);
	row_buffer_release(&rows->open);
	row_buffer_release(&rows->open_queued);
}
