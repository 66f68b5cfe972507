#include "trace/run_share.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "trace/string_table.h"

static void clear_kept(gpointer kept)
{
	if (kept)
		g_array_unref(kept);
}

struct tacho_run_share *run_share_new(TachoPeers *peers)
{
	struct tacho_run_share *share = g_new0(struct tacho_run_share, 1);

	share->peers = peers;
	share->is_own = g_array_new(FALSE, TRUE, sizeof(gboolean));
	share->kept = g_ptr_array_new_with_free_func(clear_kept);
	return share;
}

void run_share_free(struct tacho_run_share *share)
{
	if (!share)
		return;
	g_array_unref(share->is_own);
	g_ptr_array_unref(share->kept);
	g_free(share);
}

gboolean run_share_owns(const TachoTimeline *timeline, guint32 process)
{
	const struct tacho_run_share *share = timeline->share;

	return !share ||
	       (process < share->is_own->len && g_array_index(share->is_own, gboolean, process));
}

gboolean run_share_owns_rank(const TachoTimeline *timeline, guint32 rank_index)
{
	return run_share_owns(timeline, tacho_timeline_rank(timeline, rank_index)->main_process);
}

void run_share_sum(const TachoTimeline *timeline, const gchar *what, guint64 *values, guint n)
{
	if (timeline->share)
		tacho_peers_sum(timeline->share->peers, what, values, n);
}

void run_share_sum_reals(const TachoTimeline *timeline, const gchar *what, gdouble *values, guint n)
{
	g_autofree guint64 *whole = NULL;

	if (!timeline->share)
		return;
	whole = g_new(guint64, (gsize)n + 1);
	for (guint i = 0; i < n; i++)
		whole[i] = (guint64)(gint64)values[i];
	tacho_peers_sum(timeline->share->peers, what, whole, n);
	for (guint i = 0; i < n; i++)
		values[i] = (gdouble)(gint64)whole[i];
}

void run_share_tell_reals(const TachoTimeline *timeline, const gchar *what, gdouble *values,
			  guint n)
{
	g_autofree guint64 *bits = NULL;

	G_STATIC_ASSERT(sizeof(*bits) == sizeof(*values));
	if (!timeline->share)
		return;
	bits = g_new(guint64, (gsize)n + 1);
	memcpy(bits, values, n * sizeof(*values));
	tacho_peers_sum(timeline->share->peers, what, bits, n);
	memcpy(values, bits, n * sizeof(*values));
}

gboolean run_share_adds_up(const TachoTimeline *timeline, gdouble value)
{
	guint n_owners = timeline->share ? tacho_peers_count(timeline->share->peers) : 1;

	return value >= 0 && value < 0x1p53 / n_owners && value == (gdouble)(guint64)value;
}

guint64 run_share_count_kinds(const TachoTimeline *timeline, guint64 *ret_counts)
{
	guint64 n_all = 0;

	memset(ret_counts, 0, TACHO_N_SLICE_KINDS * sizeof(*ret_counts));
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (!run_share_owns(timeline, track->process))
			continue;
		for (guint32 i = 0; i < track->n_slices; i++)
			ret_counts[timeline->slices.kind[track->first_slice + i]]++;
	}
	run_share_sum(timeline, "numbers of slices", ret_counts, TACHO_N_SLICE_KINDS);
	for (guint kind = 0; kind < TACHO_N_SLICE_KINDS; kind++)
		n_all += ret_counts[kind];
	return n_all;
}

void run_share_exchange(const TachoTimeline *timeline, const gchar *what, const GByteArray *bytes,
			TachoPeerReader read, gpointer data)
{
	if (timeline->share)
		tacho_peers_exchange(timeline->share->peers, what, bytes->data, bytes->len, read,
				     data);
	else
		read(0, bytes->data, bytes->len, data);
}

TachoPeers *run_share_borrow_peers(const TachoTimeline *timeline)
{
	return timeline->share ? timeline->share->peers : NULL;
}

gboolean run_share_fail(const TachoTimeline *timeline, const gchar *reason, GError **error)
{
	const gchar *failure = timeline->share ? tacho_peers_failure(timeline->share->peers) : NULL;

	g_set_error_literal(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_IO,
			    failure ? failure : reason);
	return FALSE;
}

/* --- processes ------------------------------------------------------------------------------ */

void run_share_costs(TachoTimeline *timeline)
{
	GArray *processes = timeline->processes;
	g_autofree guint64 *costs_ns = g_new0(guint64, processes->len + 1u);

	FOR_EACH_AT(const TachoProcess, process, i, processes)
		costs_ns[i] = run_share_owns(timeline, i) ? process->cost_ns : 0;
	run_share_sum(timeline, "costs", costs_ns, processes->len);
	FOR_EACH_AT(TachoProcess, process, i, processes)
		process->cost_ns = costs_ns[i];
}

void run_share_lives(TachoTimeline *timeline)
{
	guint n = timeline->processes->len;
	g_autofree guint64 *times_ns = g_new0(guint64, 2 * (gsize)n + 1);

	if (!timeline->share)
		return;
	FOR_EACH_AT(const TachoProcess, process, i, timeline->processes) {
		if (!run_share_owns(timeline, i))
			continue;
		times_ns[2 * i] = (guint64)process->start_ns;
		times_ns[2 * i + 1] = (guint64)process->end_ns;
	}
	run_share_sum(timeline, "times of processes", times_ns, 2 * n);
	FOR_EACH_AT(TachoProcess, process, i, timeline->processes) {
		process->start_ns = (gint64)times_ns[2 * i];
		process->end_ns = (gint64)times_ns[2 * i + 1];
		timeline->duration_ns = MAX(timeline->duration_ns, process->end_ns);
	}
}

/* --- problems ------------------------------------------------------------------------------- */

static gboolean add_problems(guint from, const guint8 *bytes, gsize n_bytes, gpointer timeline)
{
	struct packed_bytes packed = { bytes, n_bytes };

	(void)from;
	while (packed.n_left) {
		g_autofree gchar *where = NULL;
		guint64 count;
		guint32 kind;

		if (!unpack_bytes(&packed, &kind, sizeof(kind)) || kind >= TACHO_N_PROBLEMS ||
		    !unpack_bytes(&packed, &count, sizeof(count)))
			return FALSE;
		where = unpack_text(&packed);
		if (!where)
			return FALSE;
		tacho_timeline_add_problem(timeline, (TachoProblemKind)kind, count, "%s", where);
	}
	return TRUE;
}

void run_share_problems(TachoTimeline *timeline, guint first)
{
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	for (guint i = first; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		pack_uint32(bytes, problem->kind);
		pack_bytes(bytes, &problem->count, sizeof(problem->count));
		pack_text(bytes, problem->where);
	}
	g_array_set_size(timeline->problems, first);
	run_share_exchange(timeline, "problems", bytes, add_problems, timeline);
}

/* --- strings -------------------------------------------------------------------------------- */

static gboolean add_strings(guint from, const guint8 *bytes, gsize n_bytes, gpointer timeline)
{
	struct packed_bytes packed = { bytes, n_bytes };

	(void)from;
	while (packed.n_left) {
		g_autofree gchar *text = unpack_text(&packed);

		if (!text)
			return FALSE;
		tacho_timeline_intern(timeline, text, -1);
	}
	return TRUE;
}

void run_share_strings(TachoTimeline *timeline)
{
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	for (guint32 id = timeline->share->n_strings; id < string_table_size(timeline->strings);
	     id++)
		pack_text(bytes, tacho_timeline_string(timeline, id));
	run_share_exchange(timeline, "strings", bytes, add_strings, timeline);
}

/* --- flows ---------------------------------------------------------------------------------- */

/* A slice as all can name it. */
struct shared_place {
	guint32 track, place; /* among those that all have */
};

struct shared_flow {
	struct shared_place from, to;
	guint32 kind, is_exact;
};

static const GArray *kept_of(const TachoTimeline *timeline, guint32 track)
{
	const GPtrArray *kept = timeline->share->kept;

	return track < kept->len ? kept->pdata[track] : NULL;
}

/* False: the others do not have it. */
static gboolean find_place(const TachoTimeline *timeline, guint32 slice, struct shared_place *place)
{
	guint32 track = timeline->slices.track[slice];
	guint32 row = slice - tacho_timeline_track(timeline, track)->first_slice;
	const GArray *kept = kept_of(timeline, track);
	guint n = kept ? ROWS_BEFORE(kept, guint32, one, *one < row) : 0;

	*place = (struct shared_place){ track, n };
	return kept && n < kept->len && g_array_index(kept, guint32, n) == row;
}

/* TACHO_NONE: there is none. */
static guint32 find_slice(const TachoTimeline *timeline, const struct shared_place *place)
{
	const TachoTrack *track;
	const GArray *kept;

	if (place->track >= timeline->tracks->len)
		return TACHO_NONE;
	track = tacho_timeline_track(timeline, place->track);
	if (!run_share_owns(timeline, track->process))
		return place->place < track->n_slices ? track->first_slice + place->place
						      : TACHO_NONE;
	kept = kept_of(timeline, place->track);
	if (!kept || place->place >= kept->len)
		return TACHO_NONE;
	return track->first_slice + g_array_index(kept, guint32, place->place);
}

static gboolean add_flows(guint from, const guint8 *bytes, gsize n_bytes, gpointer timeline_pointer)
{
	TachoTimeline *timeline = timeline_pointer;
	struct packed_bytes packed = { bytes, n_bytes };
	struct shared_flow row;

	(void)from;
	while (packed.n_left) {
		TachoFlow flow;

		if (!unpack_bytes(&packed, &row, sizeof(row)) || row.kind >= TACHO_N_FLOW_KINDS)
			return FALSE;
		flow = (TachoFlow){ .from = find_slice(timeline, &row.from),
				    .to = find_slice(timeline, &row.to),
				    .kind = (guint8)row.kind,
				    .is_exact = row.is_exact != 0 };
		if (flow.from == TACHO_NONE || flow.to == TACHO_NONE)
			return FALSE;
		g_array_append_val(timeline->flows, flow);
	}
	return TRUE;
}

static gint compare_flows(gconstpointer a, gconstpointer b, gpointer slices_pointer)
{
	const TachoSlices *slices = slices_pointer;
	guint32 left = ((const TachoFlow *)a)->to, right = ((const TachoFlow *)b)->to;

	return ORDER(slices->start_ns[left], slices->start_ns[right]) ?: ORDER(left, right);
}

void run_share_flows(TachoTimeline *timeline, guint first)
{
	g_autoptr(GByteArray) bytes = NULL;
	g_autoptr(GArray) all = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	for (guint i = first; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);
		struct shared_flow row = { .kind = flow->kind, .is_exact = flow->is_exact };

		if (find_place(timeline, flow->from, &row.from) &&
		    find_place(timeline, flow->to, &row.to))
			pack_bytes(bytes, &row, sizeof(row));
		else
			tacho_peers_fail(timeline->share->peers,
					 "what queued a collective cannot be told to the other "
					 "processes; run it as one process, without the launcher");
	}
	g_array_set_size(timeline->flows, first);
	run_share_exchange(timeline, "flows", bytes, add_flows, timeline);
	all = g_array_new(FALSE, FALSE, sizeof(TachoFlow));
	g_array_append_vals(all, (TachoFlow *)timeline->flows->data + first,
			    timeline->flows->len - first);
	g_array_sort_with_data(all, compare_flows, &timeline->slices);
	g_array_set_size(timeline->flows, first);
	g_array_append_vals(timeline->flows, all->data, all->len);
}
