/* collective_matcher: the same collective, seen from each of its ranks.
 *
 * Ranks of a group call its collectives in one order, so the n-th of each rank belong together as long
 * as they agree in name and bytes (bytes only where every rank's are the same by definition). Where
 * they do not, records were lost or a rank really did something else:
 *
 * (1) The next key that the most ranks have within WINDOW of where they stand is taken to go on with, at
 *     the least skipped; what is skipped stands alone, without partners.
 * (2) Equal keys in a row say nothing about how many were lost. When ranks of one host disagree in how
 *     many collectives they made, times decide: nothing that waits for all ranks ends on one before it
 *     began on all, so one that did is missing on the others.
 *
 * A partner that is missing is a problem ("unmatched_collective") of the rank that lacks it, unless
 * that rank explains it: it is not in the run, had not begun recording, or was gone or still running
 * when its own collectives were over.
 *
 * Sends and receives are not matched: they are no collectives. */
#include <string.h>

#include "correlate/correlate_internal.h"
#include "correlate/process_groups.h"

enum {
	WINDOW = 16,
	SAME_HOST_SLACK_NS = 10 * 1000,
	OTHER_HOST_SLACK_NS = 100 * 1000, /* clocks set by NTP are no better */
};

/* What must agree. */
struct key {
	guint32 name;
	guint64 bytes;
};

/* One rank in the group at work. */
struct cursor {
	guint32 rank_index;
	const TachoProcess *process;
	const guint32 *slices;
	const struct key *keys;
	guint32 n, next;
	gboolean is_chosen; /* takes part in the row being made */
};

struct missing {
	guint64 count;
	gchar *first; /* says which */
};

struct doubt {
	guint64 count;
	gint64 worst_ns;
	gchar *where;
};

struct matching {
	TachoTimeline *timeline;
	struct missing *missing; /* a rank */
	struct doubt doubt;
	/* the group at work */
	guint32 group;
	guint32 n_expected;
	guint32 sequence;
	gboolean by_time;  /* (2) */
	gboolean is_exact; /* nothing had to be skipped so far */
	struct cursor *cursors;
	guint n_cursors;
};

/* --- names ----------------------------------------------------------------------------------- */

static gboolean name_has(const gchar *name, const gchar *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return TRUE;
	return FALSE;
}

static gboolean is_point_to_point(const gchar *name)
{
	static const gchar *const WORDS[] = { "send", "recv", NULL };

	return name_has(name, WORDS);
}

/* Ends nowhere before it has begun everywhere. */
static gboolean waits_for_all(const gchar *name)
{
	static const gchar *const WORDS[] = { "all_reduce", "allreduce",      "all_gather",
					      "allgather",  "reduce_scatter", "all_to_all",
					      "alltoall",   "barrier",	      NULL };

	return name_has(name, WORDS);
}

/* A scatter's root has all the input, for example. */
static gboolean has_equal_bytes(const gchar *name)
{
	static const gchar *const WORDS[] = { "scatter", "gather", "all_to_all", "alltoall", NULL };
	static const gchar *const EVEN[] = { "reduce_scatter", "all_gather", "allgather", NULL };

	return !name_has(name, WORDS) || name_has(name, EVEN);
}

/* --- cursors --------------------------------------------------------------------------------- */

static struct key *read_keys(const TachoTimeline *timeline, const guint32 *slices, guint32 n)
{
	struct key *keys = g_new(struct key, (gsize)n + 1);

	for (guint32 i = 0; i < n; i++) {
		TachoCollectiveArgs args = { 0 };

		keys[i].name = timeline->slices.name[slices[i]];
		keys[i].bytes = 0;
		if (has_equal_bytes(tacho_slice_name(timeline, slices[i])) &&
		    tacho_slice_collective(timeline, slices[i], &args))
			keys[i].bytes = args.bytes;
	}
	return keys;
}

static gboolean is_equal(const struct key *a, const struct key *b)
{
	return a->name == b->name && a->bytes == b->bytes;
}

static gboolean is_over(const struct cursor *cursor)
{
	return cursor->next >= cursor->n;
}

static guint32 current(const struct cursor *cursor)
{
	return cursor->slices[cursor->next];
}

/* --- rows ------------------------------------------------------------------------------------ */

static gint64 row_begin_ns(const struct matching *matching)
{
	gint64 begin_ns = G_MININT64;

	for (guint i = 0; i < matching->n_cursors; i++)
		if (matching->cursors[i].is_chosen)
			begin_ns = MAX(begin_ns, matching->timeline->slices
							 .start_ns[current(&matching->cursors[i])]);
	return begin_ns;
}

static gboolean explains_absence(const struct cursor *cursor, gint64 begin_ns)
{
	if (!cursor->process || cursor->process->start_ns > begin_ns)
		return TRUE;
	return is_over(cursor) &&
	       (cursor->process->end != TACHO_END_EXITED || cursor->process->exit_status != 0);
}

static void note_missing(struct matching *matching, const struct cursor *absent, guint32 slice)
{
	struct missing *missing = &matching->missing[absent->rank_index];

	if (missing->count++ == 0)
		missing->first = g_strdup_printf(
			"rank %d lacks %s at %.6f s, sequence %u of group %u",
			g_array_index(matching->timeline->ranks, TachoRank, absent->rank_index)
				.rank,
			tacho_slice_name(matching->timeline, slice),
			(gdouble)matching->timeline->slices.start_ns[slice] / 1e9,
			matching->sequence, matching->group);
}

static gint64 slack_ns(const struct cursor *a, const struct cursor *b)
{
	return a->process && b->process && a->process->host == b->process->host
		       ? SAME_HOST_SLACK_NS
		       : OTHER_HOST_SLACK_NS;
}

static void note_doubt(struct matching *matching, const struct cursor *early,
		       const struct cursor *late, gint64 by_ns)
{
	const TachoTimeline *timeline = matching->timeline;
	struct doubt *doubt = &matching->doubt;

	doubt->count++;
	if (by_ns <= doubt->worst_ns)
		return;
	doubt->worst_ns = by_ns;
	g_free(doubt->where);
	doubt->where =
		g_strdup_printf("rank %d ended %s %.3f ms before rank %d began it",
				g_array_index(timeline->ranks, TachoRank, early->rank_index).rank,
				tacho_slice_name(timeline, current(early)), (gdouble)by_ns / 1e6,
				g_array_index(timeline->ranks, TachoRank, late->rank_index).rank);
}

/* Times that cannot be, of the row being made. */
static void check_row(struct matching *matching)
{
	const TachoTimeline *timeline = matching->timeline;
	const struct cursor *first_to_end = NULL, *last_to_begin = NULL;
	gint64 end_ns, begin_ns;

	for (guint i = 0; i < matching->n_cursors; i++) {
		const struct cursor *cursor = &matching->cursors[i];

		if (!cursor->is_chosen)
			continue;
		if (!first_to_end || tacho_slice_end_ns(timeline, current(cursor)) <
					     tacho_slice_end_ns(timeline, current(first_to_end)))
			first_to_end = cursor;
		if (!last_to_begin || timeline->slices.start_ns[current(cursor)] >
					      timeline->slices.start_ns[current(last_to_begin)])
			last_to_begin = cursor;
	}
	if (!first_to_end || !waits_for_all(tacho_slice_name(timeline, current(first_to_end))))
		return;
	end_ns = tacho_slice_end_ns(timeline, current(first_to_end));
	begin_ns = timeline->slices.start_ns[current(last_to_begin)];
	if (end_ns < begin_ns && begin_ns - end_ns > slack_ns(first_to_end, last_to_begin))
		note_doubt(matching, first_to_end, last_to_begin, begin_ns - end_ns);
}

static void add_row_flows(struct matching *matching, const TachoCollective *row)
{
	TachoTimeline *timeline = matching->timeline;
	guint32 last = TACHO_NONE;

	for (guint32 i = 0; i < row->n_members && last == TACHO_NONE; i++) {
		guint32 member = g_array_index(timeline->members, guint32, row->first_member + i);

		if (timeline->slices.start_ns[member] == row->last_begin_ns)
			last = member;
	}
	for (guint32 i = 0; i < row->n_members; i++) {
		guint32 member = g_array_index(timeline->members, guint32, row->first_member + i);

		if (member != last)
			add_flow(timeline, TACHO_FLOW_COLLECTIVE, last, member, matching->is_exact);
	}
}

/* Make a row of the chosen cursors and step them on. */
static void take_row(struct matching *matching)
{
	TachoTimeline *timeline = matching->timeline;
	TachoCollective row = {
		.group = matching->group,
		.sequence = matching->sequence,
		.first_member = timeline->members->len,
		.n_expected = matching->n_expected,
		.last_begin_ns = row_begin_ns(matching),
	};
	guint32 slice = TACHO_NONE;

	check_row(matching);
	for (guint i = 0; i < matching->n_cursors; i++) {
		TachoCollectiveArgs args = { 0 };

		if (!matching->cursors[i].is_chosen)
			continue;
		slice = current(&matching->cursors[i]);
		g_array_append_val(timeline->members, slice);
		if (tacho_slice_collective(timeline, slice, &args))
			row.bytes = MAX(row.bytes, args.bytes);
		row.n_members++;
	}
	row.name = timeline->slices.name[slice];
	add_row_flows(matching, &row);
	g_array_append_val(timeline->collectives, row);
	for (guint i = 0; i < matching->n_cursors; i++) {
		struct cursor *cursor = &matching->cursors[i];

		if (cursor->is_chosen)
			cursor->next++;
		else if (row.n_members < matching->n_expected &&
			 !explains_absence(cursor, row.last_begin_ns))
			note_missing(matching, cursor, slice);
		cursor->is_chosen = FALSE;
	}
	matching->sequence++;
}

/* --- alignment ------------------------------------------------------------------------------- */

/* Choose all cursors that are not over if they agree on a key. */
static gboolean choose_agreeing(struct matching *matching)
{
	const struct key *key = NULL;
	gboolean agrees = TRUE;

	for (guint i = 0; i < matching->n_cursors && agrees; i++) {
		struct cursor *cursor = &matching->cursors[i];

		cursor->is_chosen = !is_over(cursor);
		if (!cursor->is_chosen)
			continue;
		if (!key)
			key = &cursor->keys[cursor->next];
		agrees = is_equal(key, &cursor->keys[cursor->next]);
	}
	return agrees;
}

/* (2): of the chosen, leave out those that began only after another one had ended. */
static void leave_out_late(struct matching *matching)
{
	const TachoTimeline *timeline = matching->timeline;
	const struct cursor *first_to_end = NULL;
	gint64 end_ns;

	for (guint i = 0; i < matching->n_cursors; i++) {
		const struct cursor *cursor = &matching->cursors[i];

		if (cursor->is_chosen &&
		    (!first_to_end || tacho_slice_end_ns(timeline, current(cursor)) <
					      tacho_slice_end_ns(timeline, current(first_to_end))))
			first_to_end = cursor;
	}
	if (!first_to_end || !waits_for_all(tacho_slice_name(timeline, current(first_to_end))))
		return;
	end_ns = tacho_slice_end_ns(timeline, current(first_to_end));
	for (guint i = 0; i < matching->n_cursors; i++) {
		struct cursor *cursor = &matching->cursors[i];

		if (cursor->is_chosen && slack_ns(cursor, first_to_end) == SAME_HOST_SLACK_NS &&
		    timeline->slices.start_ns[current(cursor)] > end_ns &&
		    timeline->slices.start_ns[current(cursor)] - end_ns > SAME_HOST_SLACK_NS) {
			cursor->is_chosen = FALSE;
			matching->is_exact = FALSE;
		}
	}
}

/* How far ahead of a cursor `key` comes next; WINDOW if not within it. */
static guint32 distance_to(const struct cursor *cursor, const struct key *key)
{
	guint32 n = MIN(cursor->n - cursor->next, WINDOW);

	for (guint32 i = 0; i < n; i++)
		if (is_equal(&cursor->keys[cursor->next + i], key))
			return i;
	return WINDOW;
}

/* What it takes to go on with a key; lower is better, and from `limit` on is not of interest. */
static guint64 price_of(const struct matching *matching, const struct key *key, guint64 limit)
{
	guint64 price = 0;

	for (guint i = 0; i < matching->n_cursors && price < limit; i++) {
		const struct cursor *cursor = &matching->cursors[i];
		guint32 distance = is_over(cursor) ? 0 : distance_to(cursor, key);

		price += distance == WINDOW ? (guint64)WINDOW << 32 : distance;
	}
	return price;
}

static void skip_to(struct matching *matching, struct cursor *cursor, guint32 position)
{
	for (guint i = 0; i < matching->n_cursors; i++)
		matching->cursors[i].is_chosen = FALSE;
	while (cursor->next < position) {
		cursor->is_chosen = TRUE;
		take_row(matching);
	}
}

struct candidates {
	guint n;
	const struct key *keys[2 * WINDOW];
};

static void add_candidates(struct candidates *candidates, const struct cursor *cursor)
{
	guint32 n = MIN(cursor->n - cursor->next, WINDOW);

	for (guint32 i = 0; i < n; i++) {
		const struct key *key = &cursor->keys[cursor->next + i];
		guint k = 0;

		while (k < candidates->n && !is_equal(candidates->keys[k], key))
			k++;
		if (k == candidates->n)
			candidates->keys[candidates->n++] = key;
	}
}

/* What the first cursor has ahead, and the first one that stands at another key than it. */
static void collect_candidates(const struct matching *matching, struct candidates *candidates)
{
	const struct cursor *first = NULL;

	candidates->n = 0;
	for (guint i = 0; i < matching->n_cursors; i++) {
		const struct cursor *cursor = &matching->cursors[i];

		if (is_over(cursor) ||
		    (first && is_equal(&first->keys[first->next], &cursor->keys[cursor->next])))
			continue;
		add_candidates(candidates, cursor);
		if (first)
			return;
		first = cursor;
	}
}

/* (1): bring the cursors to the key of the lowest price. */
static void resynchronise(struct matching *matching)
{
	const struct key *best = NULL;
	guint64 best_price = G_MAXUINT64;
	struct candidates candidates;

	matching->is_exact = FALSE;
	collect_candidates(matching, &candidates);
	for (guint i = 0; i < candidates.n; i++) {
		guint64 price = price_of(matching, candidates.keys[i], best_price);

		if (price < best_price) {
			best_price = price;
			best = candidates.keys[i];
		}
	}
	for (guint i = 0; i < matching->n_cursors; i++) {
		struct cursor *cursor = &matching->cursors[i];
		guint32 distance = is_over(cursor) ? WINDOW : distance_to(cursor, best);

		if (distance < WINDOW)
			skip_to(matching, cursor, cursor->next + distance);
	}
	for (guint i = 0; i < matching->n_cursors; i++) {
		struct cursor *cursor = &matching->cursors[i];

		cursor->is_chosen = !is_over(cursor) && is_equal(&cursor->keys[cursor->next], best);
	}
}

static gboolean is_any_left(const struct matching *matching)
{
	for (guint i = 0; i < matching->n_cursors; i++)
		if (!is_over(&matching->cursors[i]))
			return TRUE;
	return FALSE;
}

static void match_group(struct matching *matching)
{
	while (is_any_left(matching)) {
		if (!choose_agreeing(matching))
			resynchronise(matching);
		if (matching->by_time)
			leave_out_late(matching);
		take_row(matching);
	}
}

/* --- groups ---------------------------------------------------------------------------------- */

static struct cursor make_cursor(const TachoTimeline *timeline, const GroupRank *rank)
{
	guint32 process = g_array_index(timeline->ranks, TachoRank, rank->rank_index).main_process;
	const guint32 *slices = (const guint32 *)(gpointer)rank->slices->data;
	struct cursor cursor = {
		.rank_index = rank->rank_index,
		.process = process < timeline->processes->len
				   ? &g_array_index(timeline->processes, TachoProcess, process)
				   : NULL,
		.slices = slices,
		.keys = read_keys(timeline, slices, rank->slices->len),
		.n = rank->slices->len,
	};

	return cursor;
}

static void drop_point_to_point(const TachoTimeline *timeline, GArray *slices)
{
	guint n = 0;

	for (guint i = 0; i < slices->len; i++) {
		guint32 slice = g_array_index(slices, guint32, i);

		if (!is_point_to_point(tacho_slice_name(timeline, slice)))
			g_array_index(slices, guint32, n++) = slice;
	}
	g_array_set_size(slices, n);
}

static void start_group(struct matching *matching, const ProcessGroup *group)
{
	matching->n_expected = group->n_expected;
	matching->sequence = 0;
	matching->is_exact = TRUE;
	matching->by_time = FALSE;
	matching->n_cursors = group->ranks->len;
	matching->cursors = g_new0(struct cursor, group->ranks->len);
	for (guint i = 0; i < group->ranks->len; i++) {
		const GroupRank *rank = g_ptr_array_index(group->ranks, i);

		drop_point_to_point(matching->timeline, rank->slices);
		matching->cursors[i] = make_cursor(matching->timeline, rank);
		if (matching->cursors[i].n != matching->cursors[0].n)
			matching->by_time = TRUE;
	}
}

static void end_group(struct matching *matching)
{
	for (guint i = 0; i < matching->n_cursors; i++)
		g_free((struct key *)matching->cursors[i].keys);
	g_free(matching->cursors);
	if (matching->sequence > 0)
		matching->group++;
}

static void report_missing(struct matching *matching)
{
	for (guint32 i = 0; i < matching->timeline->ranks->len; i++) {
		struct missing *missing = &matching->missing[i];

		if (missing->count)
			tacho_timeline_add_problem(matching->timeline, "unmatched_collective",
						   missing->count, "%s", missing->first);
		g_free(missing->first);
	}
	if (matching->doubt.count)
		tacho_timeline_add_problem(matching->timeline, "clock_doubt", 1,
					   "%s; collectives of this sort: %" G_GUINT64_FORMAT,
					   matching->doubt.where, matching->doubt.count);
	g_free(matching->doubt.where);
}

/* --- what queued them ------------------------------------------------------------------------ */

static void link_queued(TachoTimeline *timeline, const struct thread_index *threads)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, slices->track[i]);
		guint32 thread, queued_by;

		if (slices->kind[i] != TACHO_SLICE_COLLECTIVE || track->kind != TACHO_TRACK_ASYNC)
			continue;
		thread = thread_index_track(threads, track->process, track->tid,
					    slices->start_ns[i]);
		if (thread == TACHO_NONE)
			continue;
		queued_by = thread_index_open_slice(threads, thread, slices->start_ns[i]);
		if (queued_by != TACHO_NONE)
			add_flow(timeline, TACHO_FLOW_QUEUE_COLLECTIVE, queued_by, i, TRUE);
	}
}

void match_collectives(TachoTimeline *timeline, const struct thread_index *threads)
{
	g_autoptr(GPtrArray) groups = process_groups_new(timeline);
	g_autofree struct missing *missing = g_new0(struct missing, timeline->ranks->len + 1);
	struct matching matching = { .timeline = timeline, .missing = missing };

	link_queued(timeline, threads);
	for (guint i = 0; i < groups->len; i++) {
		start_group(&matching, g_ptr_array_index(groups, i));
		match_group(&matching);
		end_group(&matching);
	}
	report_missing(&matching);
}
