#include <tacho/peers.h>

#include "trace/stream_exchange.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/packed_bytes.h"
#include "trace/process_reader.h"
#include "trace/region_kind.h"
#include "trace/slice_columns.h"
#include "trace/string_table.h"

#define MAX_BYTES (G_MAXUINT / 2) /* of all that a process sends */

/* What is told of a stream as it is. */
struct stream_facts {
	guint32 number, tid;
	gint64 first_ns, last_ns;
	guint64 n_records, n_by_kind[TRACE_N_KINDS], n_unknown;
	struct nest_count nest;
	guint64 n_impossible, n_late_impossible, n_ahead;
	gint64 most_ahead_ns;
	guint32 has_more, has_more_queued;
};

struct sent_moment {
	gint64 time_ns;
	guint64 handle;
	guint32 name, kind;
};

struct sent_fault {
	guint64 offset;
	guint32 file;
};

struct exchange {
	const TachoTimeline *timeline;
	GArray *processes; /* struct process_input */
	guint next;	   /* the first whose streams have not come yet */
};

static const gchar too_much[] =
	"tacho's processes would have to exchange too much of this run; run "
	"it as one process, without the launcher";
static const gchar on_devices[] =
	"several processes cannot yet report what devices did; run it as one "
	"process, without the launcher";

/* --- which slices all have -------------------------------------------------------------------- */

static gboolean is_shared(const TachoTimeline *timeline, const TachoSlices *slices, guint32 row)
{
	switch (slices->kind[row]) {
	case TACHO_SLICE_COLLECTIVE:
	case TACHO_SLICE_MESSAGE:
	case TACHO_SLICE_EVENT:
		return TRUE;
	case TACHO_SLICE_OP:
		if (region_kind_of_name(timeline, slices->name[row]) == REGION_QUEUE)
			return TRUE;
		break;
	default:
		break;
	}
	return (slices->flags[row] & TACHO_SLICE_OPEN) != 0;
}

static GArray *list_shared(const TachoTimeline *timeline, const TachoSlices *slices)
{
	GArray *kept = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint32 row = 0; row < slices->n; row++)
		if (is_shared(timeline, slices, row))
			g_array_append_val(kept, row);
	return kept;
}

/* What was open on the thread when something was queued: it may have queued it. */
static void keep_open_at(struct stream_input *stream, gint64 time_ns)
{
	guint32 row =
		slice_columns_find_open(&stream->rows.slices, 0, stream->rows.slices.n, time_ns);

	if (row != TACHO_NONE)
		g_array_append_val(stream->kept, row);
}

/* The thread itself may have queued it, or the main thread. */
static void keep_queueing(const struct process_input *process, const struct stream_input *queued)
{
	FOR_EACH(struct stream_input, stream, process->streams) {
		if (stream->tid != queued->tid && stream->tid != process->metadata.pid)
			continue;
		for (guint32 i = 0; i < queued->rows.queued.n; i++)
			keep_open_at(stream, queued->rows.queued.start_ns[i]);
	}
}

static void keep_named(struct stream_input *stream)
{
	const struct stream_flow *flows = stream->rows.flows.rows;

	for (gsize i = 0; i < stream->rows.flows.n; i++)
		if (flows[i].row != TACHO_NONE)
			g_array_append_val(stream->kept, flows[i].row);
	g_array_append_vals(stream->kept, stream->rows.open.rows, (guint)stream->rows.open.n);
	g_array_append_vals(stream->kept_queued, stream->rows.open_queued.rows,
			    (guint)stream->rows.open_queued.n);
}

static void drop_repeated(GArray *rows)
{
	guint n = 0;

	g_array_sort(rows, order_uint32);
	for (guint i = 0; i < rows->len; i++)
		if (!n || g_array_index(rows, guint32, n - 1) != g_array_index(rows, guint32, i))
			g_array_index(rows, guint32, n++) = g_array_index(rows, guint32, i);
	g_array_set_size(rows, n);
}

static void choose_kept(const TachoTimeline *timeline, const struct process_input *process)
{
	FOR_EACH(struct stream_input, stream, process->streams) {
		stream->kept = list_shared(timeline, &stream->rows.slices);
		stream->kept_queued = list_shared(timeline, &stream->rows.queued);
		keep_named(stream);
	}
	FOR_EACH(const struct stream_input, stream, process->streams)
		keep_queueing(process, stream);
	FOR_EACH(struct stream_input, stream, process->streams) {
		drop_repeated(stream->kept);
		drop_repeated(stream->kept_queued);
	}
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The place of `row` among those kept, or of the innermost kept one around it; TACHO_NONE: there is none. */
static guint32 place_of(const GArray *kept, const TachoSlices *slices, guint32 row)
{
	for (; row != TACHO_NONE; row = slices->parent[row]) {
		guint place;

		if (g_array_binary_search((GArray *)kept, &row, order_uint32, &place))
			return place;
	}
	return TACHO_NONE;
}

static void pack_slices(GByteArray *bytes, const TachoSlices *slices, const GArray *kept)
{
	pack_uint32(bytes, kept->len);
	for (guint i = 0; i < kept->len; i++) {
		guint32 row = g_array_index(kept, guint32, i);
		struct lent_slice slice = {
			.start_ns = slices->start_ns[row],
			.duration_ns = slices->duration_ns[row],
			.source = slices->source[row],
			.name = slices->name[row],
			.parent = place_of(kept, slices, slices->parent[row]),
			.kind = slices->kind[row],
			.flags = slices->flags[row],
			.depth = slices->depth[row],
		};

		pack_bytes(bytes, &slice, sizeof(slice));
	}
}

static void pack_open(GByteArray *bytes, const TachoSlices *slices, const GArray *kept,
		      const struct row_buffer *open)
{
	pack_uint32(bytes, (guint32)open->n);
	for (gsize i = 0; i < open->n; i++)
		pack_uint32(bytes, place_of(kept, slices, ((const guint32 *)open->rows)[i]));
}

static void pack_moments(GByteArray *bytes, const struct row_buffer *moments)
{
	pack_uint32(bytes, (guint32)moments->n);
	for (gsize i = 0; i < moments->n; i++) {
		const struct stream_moment *moment =
			(const struct stream_moment *)moments->rows + i;
		struct sent_moment sent = { moment->time_ns, moment->handle, moment->name,
					    moment->kind };

		pack_bytes(bytes, &sent, sizeof(sent));
	}
}

static void pack_flows(GByteArray *bytes, const struct stream_rows *rows, const GArray *kept)
{
	const struct stream_flow *flows = rows->flows.rows;

	pack_uint32(bytes, (guint32)rows->flows.n);
	for (gsize i = 0; i < rows->flows.n; i++) {
		struct stream_flow flow = flows[i];

		flow.row = place_of(kept, &rows->slices, flow.row);
		pack_bytes(bytes, &flow, sizeof(flow));
	}
}

static void pack_faults(GByteArray *bytes, const struct row_buffer *faults)
{
	pack_uint32(bytes, (guint32)faults->n);
	for (gsize i = 0; i < faults->n; i++) {
		const struct stream_fault *fault = (const struct stream_fault *)faults->rows + i;

		pack_bytes(bytes, &fault->offset, sizeof(fault->offset));
		pack_uint32(bytes, fault->file);
		pack_text(bytes, fault->reason);
	}
}

static void pack_stream(GByteArray *bytes, const struct stream_input *stream)
{
	const struct stream_rows *rows = &stream->rows;
	struct stream_facts facts;

	memset(&facts, 0, sizeof(facts)); /* what lies between its fields is sent, too */
	facts.number = stream->number;
	facts.tid = stream->tid;
	facts.first_ns = rows->first_ns;
	facts.last_ns = rows->last_ns;
	facts.n_records = rows->n_records;
	memcpy(facts.n_by_kind, rows->n_by_kind, sizeof(facts.n_by_kind));
	facts.n_unknown = rows->n_unknown;
	facts.nest = rows->nest;
	facts.n_impossible = rows->n_impossible;
	facts.n_late_impossible = rows->n_late_impossible;
	facts.n_ahead = rows->n_ahead;
	facts.most_ahead_ns = rows->most_ahead_ns;
	facts.has_more = rows->slices.n || rows->memory.n;
	facts.has_more_queued = rows->queued.n > 0;
	pack_bytes(bytes, &facts, sizeof(facts));
	pack_slices(bytes, &rows->slices, stream->kept);
	pack_slices(bytes, &rows->queued, stream->kept_queued);
	pack_open(bytes, &rows->slices, stream->kept, &rows->open);
	pack_open(bytes, &rows->queued, stream->kept_queued, &rows->open_queued);
	pack_moments(bytes, &rows->moments);
	pack_flows(bytes, rows, stream->kept);
	pack_faults(bytes, &rows->faults);
}

/* What devices did stays with its owner, and kernels that communicate would have to be matched with those of other ranks. */
static gboolean has_work_of_devices(const struct stream_input *stream)
{
	const struct stream_late *late = stream->rows.late.rows;

	for (gsize i = 0; i < stream->rows.late.n; i++)
		if (late[i].kind >= TRACE_KIND_DEVICE_KERNEL &&
		    late[i].kind <= TRACE_KIND_DEVICE_WORK)
			return TRUE;
	return FALSE;
}

/* NULL: *ret_reason says why it cannot be sent. */
static GByteArray *pack_own(const TachoTimeline *timeline, const GArray *processes,
			    const gchar **ret_reason)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	FOR_EACH(const struct process_input, process, processes) {
		if (process->is_elsewhere)
			continue;
		choose_kept(timeline, process);
		FOR_EACH(const struct stream_input, stream, process->streams) {
			if (has_work_of_devices(stream)) {
				*ret_reason = on_devices;
				return NULL;
			}
			if (stream->rows.slices.n / 2 * sizeof(struct lent_slice) > MAX_BYTES ||
			    bytes->len > MAX_BYTES) {
				*ret_reason = too_much;
				return NULL;
			}
			pack_stream(bytes, stream);
		}
	}
	return g_steal_pointer(&bytes);
}

/* --- receiving -------------------------------------------------------------------------------- */

static gboolean is_name(const TachoTimeline *timeline, guint32 name)
{
	return name < string_table_size(timeline->strings);
}

static gboolean is_time(gint64 time_ns)
{
	return time_ns >= -TACHO_MAX_TIME_NS && time_ns <= TACHO_MAX_TIME_NS;
}

/* An open slice has no end until its process's is known. */
static gboolean has_end(const struct lent_slice *slice)
{
	return slice->duration_ns <= TACHO_MAX_TIME_NS - slice->start_ns;
}

static gboolean is_slice(const TachoTimeline *timeline, const struct lent_slice *slice,
			 guint32 place)
{
	return is_time(slice->start_ns) && slice->duration_ns >= 0 &&
	       slice->duration_ns <= G_MAXINT64 - MAX(slice->start_ns, 0) &&
	       is_name(timeline, slice->name) && slice->kind < TACHO_N_SLICE_KINDS &&
	       slice->flags <= G_MAXUINT8 && (slice->parent < place || slice->parent == TACHO_NONE);
}

static GArray *unpack_slices(struct packed_bytes *packed, const TachoTimeline *timeline)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(struct lent_slice));
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(struct lent_slice)))
		return NULL;
	for (guint32 i = 0; i < n; i++) {
		struct lent_slice slice;

		unpack_bytes(packed, &slice, sizeof(slice));
		if (!is_slice(timeline, &slice, i))
			return NULL;
		g_array_append_val(slices, slice);
	}
	return g_steal_pointer(&slices);
}

/* The slices that are open, and no others, are without an end. */
static gboolean unpack_open(struct packed_bytes *packed, struct row_buffer *open,
			    const GArray *slices)
{
	g_autofree guint8 *is_open = g_new0(guint8, slices->len + 1u);
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(guint32)))
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		guint32 *row = row_buffer_add(open, sizeof(*row));

		if (!row)
			return FALSE;
		unpack_bytes(packed, row, sizeof(*row));
		if (*row >= slices->len)
			return FALSE;
		is_open[*row] = TRUE;
	}
	FOR_EACH_AT(const struct lent_slice, slice, i, slices)
		if (!is_open[i] && !has_end(slice))
			return FALSE;
	return TRUE;
}

static gboolean unpack_moments(struct packed_bytes *packed, struct row_buffer *moments,
			       const TachoTimeline *timeline)
{
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(struct sent_moment)))
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		struct stream_moment *moment = row_buffer_add(moments, sizeof(*moment));
		struct sent_moment sent;

		unpack_bytes(packed, &sent, sizeof(sent));
		if (!moment || !is_time(sent.time_ns) || !is_name(timeline, sent.name) ||
		    sent.kind >= TRACE_N_KINDS)
			return FALSE;
		*moment = (struct stream_moment){ .time_ns = sent.time_ns,
						  .handle = sent.handle,
						  .name = sent.name,
						  .kind = (guint8)sent.kind };
	}
	return TRUE;
}

static gboolean unpack_flows(struct packed_bytes *packed, struct row_buffer *flows,
			     const TachoTimeline *timeline, guint n_slices)
{
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(struct stream_flow)))
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		struct stream_flow *flow = row_buffer_add(flows, sizeof(*flow));

		if (!flow || !unpack_bytes(packed, flow, sizeof(*flow)) ||
		    !is_name(timeline, flow->name) ||
		    (flow->row != TACHO_NONE && flow->row >= n_slices))
			return FALSE;
	}
	return TRUE;
}

static gboolean unpack_faults(struct packed_bytes *packed, struct row_buffer *faults, guint n_files)
{
	guint32 n;

	if (!unpack_count(packed, &n, 1))
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		struct stream_fault fault = { 0 };
		struct stream_fault *row;
		g_autofree gchar *reason = NULL;

		if (!unpack_bytes(packed, &fault.offset, sizeof(fault.offset)) ||
		    !unpack_bytes(packed, &fault.file, sizeof(fault.file)) || fault.file >= n_files)
			return FALSE;
		reason = unpack_text(packed);
		row = reason ? row_buffer_add(faults, sizeof(*row)) : NULL;
		if (!row)
			return FALSE;
		fault.reason = g_intern_string(reason); /* one of few that a reader has */
		*row = fault;
	}
	return TRUE;
}

static guint count_files(const GArray *processes)
{
	guint n = 0;

	FOR_EACH(const struct process_input, process, processes)
		FOR_EACH(const struct stream_input, stream, process->streams)
			FOR_EACH(const struct stream_file_place, file, stream->files)
				n = MAX(n, file->file + 1);
	return n;
}

static gboolean unpack_stream(struct packed_bytes *packed, const struct exchange *exchange,
			      struct stream_input *stream, guint n_files)
{
	struct stream_rows *rows = &stream->rows;
	const TachoTimeline *timeline = exchange->timeline;
	struct stream_facts facts;

	if (!unpack_bytes(packed, &facts, sizeof(facts)) || facts.number != stream->number ||
	    facts.tid != stream->tid || !is_time(facts.first_ns) || !is_time(facts.last_ns))
		return FALSE;
	rows->first_ns = facts.first_ns;
	rows->last_ns = facts.last_ns;
	rows->n_records = facts.n_records;
	memcpy(rows->n_by_kind, facts.n_by_kind, sizeof(rows->n_by_kind));
	rows->n_unknown = facts.n_unknown;
	rows->nest = facts.nest;
	rows->n_impossible = facts.n_impossible;
	rows->n_late_impossible = facts.n_late_impossible;
	rows->n_ahead = facts.n_ahead;
	rows->most_ahead_ns = facts.most_ahead_ns;
	stream->has_more = facts.has_more != 0;
	stream->has_more_queued = facts.has_more_queued != 0;
	stream->lent = unpack_slices(packed, timeline);
	stream->lent_queued = stream->lent ? unpack_slices(packed, timeline) : NULL;
	return stream->lent_queued && unpack_open(packed, &rows->open, stream->lent) &&
	       unpack_open(packed, &rows->open_queued, stream->lent_queued) &&
	       unpack_moments(packed, &rows->moments, timeline) &&
	       unpack_flows(packed, &rows->flows, timeline, stream->lent->len) &&
	       unpack_faults(packed, &rows->faults, n_files);
}

/* Owners have consecutive processes, each the next. */
static gboolean take_streams(guint from, const guint8 *bytes, gsize n_bytes,
			     gpointer exchange_pointer)
{
	struct exchange *exchange = exchange_pointer;
	struct packed_bytes packed = { bytes, n_bytes };
	guint n_files = count_files(exchange->processes);

	while (exchange->next < exchange->processes->len) {
		const struct process_input *process =
			&g_array_index(exchange->processes, struct process_input, exchange->next);

		if (process->owner != from)
			break;
		exchange->next++;
		for (guint i = 0; process->is_elsewhere && i < process->streams->len; i++)
			if (!unpack_stream(&packed, exchange, process_input_stream(process, i),
					   n_files))
				return FALSE;
		if (!process->is_elsewhere)
			packed.n_left = 0;
	}
	return packed.n_left == 0;
}

gboolean stream_exchange(const TachoTimeline *timeline, TachoPeers *peers, GArray *processes,
			 GError **error)
{
	struct exchange exchange = { .timeline = timeline, .processes = processes };
	const gchar *reason = NULL;
	g_autoptr(GByteArray) bytes = pack_own(timeline, processes, &reason);

	if (bytes && tacho_peers_exchange(peers, "streams", bytes->data, bytes->len, take_streams,
					  &exchange))
		return TRUE;
	if (!reason)
		reason = tacho_peers_failure(peers);
	g_set_error_literal(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_IO,
			    reason ? reason : "tacho's processes do not read the same run");
	return FALSE;
}
