/* collective_matcher: the same collective, seen from each of its ranks.
 *
 * Ranks of a group call its collectives in one order, but do not begin them in one: a backend with
 * several threads (gloo has two) begins neighbours in any order. So collectives are matched key by
 * key, a key being the name and the bytes (bytes only where every rank's are the same by
 * definition; the name is the operation's, where kernels of one name do several):
 *
 * (1) Where all ranks have a key equally often, the n-th of each rank belong together: in the order
 *     in which they were queued, where a flow tells by which slice, else in the order of their
 *     begins.
 * (2) Where they do not, records were lost, a rank came late or went early, or did something else.
 *     Then a collective belongs to the one of the rank that has most whose end is nearest to its
 *     own: a collective ends on all ranks at about the same time, when the last one has come.
 *
 * A partner that is missing is a problem (TACHO_PROBLEM_UNMATCHED_COLLECTIVE) of the rank that lacks it, unless
 * that rank explains it: it is not in the run, had not begun recording, or was gone or still
 * running when its own collectives were over.
 *
 * Sends and receives are no collectives: point_to_point.c pairs them.
 *
 * (2) needs times of different ranks that compare. Before clocks are aligned, all ranks are taken to
 * have begun with the same one, and the n-th of each are matched as far as there are any. */
#include <string.h>

#include "base/for_each.h"
#include "correlate/collective_matcher.h"
#include "base/order.h"
#include "correlate/correlate_internal.h"
#include "correlate/point_to_point.h"
#include "correlate/process_groups.h"
#include "correlate/step_window.h"
#include "trace/clock_map.h"
#include "trace/operation.h"

enum {
	SAME_CLOCK_SLACK_NS = 10 * 1000,
	APART_SLACK_NS = 100 * 1000, /* clocks set by NTP are no better */
};

/* One rank's collective, with what must agree across ranks. */
struct entry {
	guint32 name;
	guint64 bytes;
	guint32 rank; /* index into the group's ranks */
	guint32 slice;
	gint64 queued_ns;
};

/* entries[first .. first + n): what one rank has of one key. */
struct run {
	guint32 first, n, next;
};

/* A rank of the group at work. */
struct member_rank {
	guint32 rank_index;
	const TachoProcess *process;
	gint64 last_begin_ns; /* of its collectives in the group */
};

/* One rank's part in a match. */
struct part {
	guint32 rank; /* index into the group's ranks */
	guint32 slice;
};

/* A collective in the making: parts[first_part .. first_part + n_parts) */
struct match {
	gint64 begin_ns; /* last of its parts */
	guint32 first_part, n_parts;
	gboolean is_exact;
};

struct missing {
	guint64 count;
	gchar *first; /* says which */
};

struct doubt {
	guint64 count;
	guint64 worst_ns;
	gchar *where;
};

struct matching {
	TachoTimeline *timeline;
	struct missing *missing; /* a rank */
	struct doubt doubt;
	CollectiveVisit visit; /* or NULL: rows are made */
	gpointer visit_data;
	const StepWindow *steps; /* which takes what is matched; NULL: all is */
	const gint64 *queued_ns; /* of each slice, as far as it is a collective */
	gboolean is_by_order;	 /* times of different ranks do not compare */
	gboolean has_gaps;	 /* a rank lacked a collective */
	guint32 group;		 /* number of the group at work */
	guint32 n_expected;
	GArray *ranks;	 /* struct member_rank */
	GArray *entries; /* struct entry, by key, rank and when queued */
	GArray *matches; /* struct match */
	GArray *parts;	 /* struct part */
	GArray *alone;	 /* guint32: entries of the key at work without partners */
	GArray *of_rank; /* guint32: of the row at work each rank's slice, or TACHO_NONE */
};

/* --- one key --------------------------------------------------------------------------------- */

static gint64 end_of(const struct matching *matching, const struct entry *entry)
{
	return tacho_slice_end_ns(matching->timeline, entry->slice);
}

static const struct entry *entry_at(const struct matching *matching, guint32 index)
{
	return &g_array_index(matching->entries, struct entry, index);
}

static void begin_match(struct matching *matching, gboolean is_exact)
{
	struct match match = {
		.begin_ns = G_MININT64,
		.first_part = matching->parts->len,
		.is_exact = is_exact,
	};

	g_array_append_val(matching->matches, match);
}

/* Add to the match begun last. */
static void add_part(struct matching *matching, const struct entry *entry)
{
	struct match *match =
		&g_array_index(matching->matches, struct match, matching->matches->len - 1);
	struct part part = { entry->rank, entry->slice };

	g_array_append_val(matching->parts, part);
	match->n_parts++;
	match->begin_ns = MAX(match->begin_ns, matching->timeline->slices.start_ns[entry->slice]);
}

/* (1), and what comes nearest to it where some ranks have fewer. */
static void match_in_order(struct matching *matching, const struct run *runs, gboolean is_even)
{
	guint32 most = 0;

	for (guint rank = 0; rank < matching->ranks->len; rank++)
		most = MAX(most, runs[rank].n);
	for (guint32 i = 0; i < most; i++) {
		begin_match(matching, is_even);
		for (guint rank = 0; rank < matching->ranks->len; rank++)
			if (i < runs[rank].n)
				add_part(matching, entry_at(matching, runs[rank].first + i));
	}
}

static guint64 distance_ns(gint64 a, gint64 b)
{
	return a > b ? (guint64)a - (guint64)b : (guint64)b - (guint64)a;
}

static void set_aside(struct matching *matching, const struct run *run)
{
	guint32 entry = run->first + run->next;

	g_array_append_val(matching->alone, entry);
}

/* (2): whether the run's next collective ends nearer to `end_ns` than to the end that comes after,
 * and nearer than the one after it does. What ends too early for that stands alone. */
static gboolean ends_nearest(struct matching *matching, struct run *run, gint64 end_ns,
			     const struct entry *following)
{
	for (; run->next < run->n; run->next++) {
		const struct entry *next = entry_at(matching, run->first + run->next);
		guint64 apart_ns = distance_ns(end_of(matching, next), end_ns);

		if (following &&
		    distance_ns(end_of(matching, next), end_of(matching, following)) < apart_ns)
			return FALSE;
		if (run->next + 1 == run->n ||
		    distance_ns(end_of(matching, next + 1), end_ns) >= apart_ns)
			return TRUE;
		set_aside(matching, run);
	}
	return FALSE;
}

/* Add the run's next to the match begun last. It is sure as long as nothing was missing before. */
static void add_nearest(struct matching *matching, struct run *run, guint32 expected)
{
	struct match *match =
		&g_array_index(matching->matches, struct match, matching->matches->len - 1);

	match->is_exact &= run->next == expected;
	add_part(matching, entry_at(matching, run->first + run->next));
	run->next++;
}

static void match_by_end(struct matching *matching, struct run *runs)
{
	guint32 most = 0;

	for (guint rank = 1; rank < matching->ranks->len; rank++)
		if (runs[rank].n > runs[most].n)
			most = rank;
	for (guint32 i = 0; i < runs[most].n; i++) {
		const struct entry *entry = entry_at(matching, runs[most].first + i);
		const struct entry *following = i + 1 < runs[most].n ? entry + 1 : NULL;

		begin_match(matching, TRUE);
		for (guint rank = 0; rank < matching->ranks->len; rank++) {
			struct run *run = &runs[rank];

			if (rank == most)
				add_part(matching, entry);
			else if (ends_nearest(matching, run, end_of(matching, entry), following))
				add_nearest(matching, run, i);
		}
	}
	for (guint rank = 0; rank < matching->ranks->len; rank++)
		for (; rank != most && runs[rank].next < runs[rank].n; runs[rank].next++)
			set_aside(matching, &runs[rank]);
	for (guint i = 0; i < matching->alone->len; i++) {
		begin_match(matching, FALSE);
		add_part(matching, entry_at(matching, g_array_index(matching->alone, guint32, i)));
	}
	g_array_set_size(matching->alone, 0);
}

/* Match entries[first .. end), which are of one key. */
static void match_key(struct matching *matching, guint32 first, guint32 end)
{
	g_autofree struct run *runs = g_new0(struct run, matching->ranks->len);
	gboolean is_even = TRUE;

	for (guint32 i = first; i < end; i++) {
		struct run *run = &runs[entry_at(matching, i)->rank];

		if (run->n++ == 0)
			run->first = i;
	}
	for (guint rank = 1; rank < matching->ranks->len; rank++)
		is_even &= runs[rank].n == runs[0].n;
	matching->has_gaps |= !is_even;
	if (is_even || matching->is_by_order)
		match_in_order(matching, runs, is_even);
	else
		match_by_end(matching, runs);
}

/* --- the matches of a group, as rows ---------------------------------------------------------- */

static gboolean explains_absence(const struct member_rank *rank, gint64 begin_ns)
{
	if (!rank->process || rank->process->start_ns > begin_ns)
		return TRUE;
	return rank->last_begin_ns < begin_ns &&
	       (rank->process->end != TACHO_END_EXITED || rank->process->exit_status != 0);
}

static gint32 rank_number(const struct matching *matching, const struct member_rank *rank)
{
	return tacho_timeline_rank(matching->timeline, rank->rank_index)->rank;
}

static void note_missing(struct matching *matching, const struct member_rank *absent,
			 const TachoCollective *row)
{
	struct missing *missing = &matching->missing[absent->rank_index];

	if (missing->count++ == 0)
		missing->first = g_strdup_printf(
			"rank %d has no %s at %.6f s, sequence %u of group %u",
			rank_number(matching, absent),
			tacho_timeline_string(matching->timeline, row->name),
			(gdouble)row->last_begin_ns / 1e9, row->sequence, row->group);
}

static gint64 slack_ns(const struct matching *matching, const struct member_rank *a,
		       const struct member_rank *b)
{
	const TachoClock *clocks = (const TachoClock *)matching->timeline->clocks->data;

	if (!a->process || !b->process)
		return APART_SLACK_NS;
	if (a->process->clock == b->process->clock)
		return SAME_CLOCK_SLACK_NS;
	if (clocks[a->process->clock].reference != clocks[b->process->clock].reference)
		return APART_SLACK_NS;
	return clock_map_add(SAME_CLOCK_SLACK_NS,
			     clock_map_add(clocks[a->process->clock].inner_uncertainty_ns,
					   clocks[b->process->clock].inner_uncertainty_ns));
}

static void note_doubt(struct matching *matching, const struct member_rank *early,
		       const struct member_rank *late, const TachoCollective *row, guint64 by_ns)
{
	struct doubt *doubt = &matching->doubt;

	doubt->count++;
	if (by_ns <= doubt->worst_ns)
		return;
	doubt->worst_ns = by_ns;
	g_free(doubt->where);
	doubt->where = g_strdup_printf("rank %d ended %s %.3f ms before rank %d began it",
				       rank_number(matching, early),
				       tacho_timeline_string(matching->timeline, row->name),
				       (gdouble)by_ns / 1e6, rank_number(matching, late));
}

/* Times that cannot be: `of_rank`, a slice or TACHO_NONE for each rank, is what `row` is made
 * of. */
static void check_row(struct matching *matching, const TachoCollective *row, const guint32 *of_rank)
{
	const TachoTimeline *timeline = matching->timeline;
	guint first_to_end = G_MAXUINT, last_to_begin = G_MAXUINT;
	const struct member_rank *early, *late;
	gint64 end_ns;

	if (!operation_waits_for_all(operation_of_name(timeline, row->name)))
		return;
	for (guint i = 0; i < matching->ranks->len; i++) {
		if (of_rank[i] == TACHO_NONE)
			continue;
		if (first_to_end == G_MAXUINT ||
		    tacho_slice_end_ns(timeline, of_rank[i]) <
			    tacho_slice_end_ns(timeline, of_rank[first_to_end]))
			first_to_end = i;
		if (timeline->slices.start_ns[of_rank[i]] == row->last_begin_ns)
			last_to_begin = i;
	}
	early = &g_array_index(matching->ranks, struct member_rank, first_to_end);
	late = &g_array_index(matching->ranks, struct member_rank, last_to_begin);
	end_ns = tacho_slice_end_ns(timeline, of_rank[first_to_end]);
	if (end_ns < row->last_begin_ns &&
	    distance_ns(row->last_begin_ns, end_ns) > (guint64)slack_ns(matching, early, late))
		note_doubt(matching, early, late, row, distance_ns(row->last_begin_ns, end_ns));
}

static void add_member(struct matching *matching, TachoCollective *row, guint32 slice)
{
	TachoTimeline *timeline = matching->timeline;
	TachoCollectiveArgs args = { 0 };

	g_array_append_val(timeline->members, slice);
	if (tacho_slice_collective(timeline, slice, &args))
		row->bytes = MAX(row->bytes, args.bytes);
	row->name = collective_name_id(timeline, slice);
	row->n_members++;
}

static void add_row_flows(TachoTimeline *timeline, const TachoCollective *row, gboolean is_exact)
{
	const guint32 *members = &g_array_index(timeline->members, guint32, row->first_member);
	guint32 last = TACHO_NONE;

	for (guint32 i = 0; i < row->n_members && last == TACHO_NONE; i++)
		if (timeline->slices.start_ns[members[i]] == row->last_begin_ns)
			last = members[i];
	for (guint32 i = 0; i < row->n_members; i++)
		if (members[i] != last)
			add_flow(timeline, TACHO_FLOW_COLLECTIVE, last, members[i], is_exact);
}

/* Who of the group is in the match: a slice a rank, good until the next call. */
static const guint32 *spread_parts(struct matching *matching, const struct match *match)
{
	guint32 *of_rank;

	g_array_set_size(matching->of_rank, matching->ranks->len);
	of_rank = &g_array_index(matching->of_rank, guint32, 0);
	for (guint i = 0; i < matching->ranks->len; i++)
		of_rank[i] = TACHO_NONE;
	for (guint32 i = 0; i < match->n_parts; i++) {
		const struct part *part =
			&g_array_index(matching->parts, struct part, match->first_part + i);

		of_rank[part->rank] = part->slice;
	}
	return of_rank;
}

static void add_row(struct matching *matching, const struct match *match, guint32 sequence)
{
	const guint32 *of_rank = spread_parts(matching, match);
	TachoCollective row = {
		.group = matching->group,
		.sequence = sequence,
		.first_member = matching->timeline->members->len,
		.n_expected = matching->n_expected,
		.last_begin_ns = match->begin_ns,
	};

	for (guint i = 0; i < matching->ranks->len; i++)
		if (of_rank[i] != TACHO_NONE)
			add_member(matching, &row, of_rank[i]);
	g_array_append_val(matching->timeline->collectives, row);
	add_row_flows(matching->timeline, &row, match->is_exact);
	check_row(matching, &row, of_rank);
	FOR_EACH_AT(const struct member_rank, rank, i, matching->ranks)
		if (of_rank[i] == TACHO_NONE && !explains_absence(rank, row.last_begin_ns))
			note_missing(matching, rank, &row);
}

static gint compare_matches(gconstpointer a, gconstpointer b)
{
	const struct match *left = a, *right = b;

	return ORDER(left->begin_ns, right->begin_ns) ?: ORDER(left->first_part, right->first_part);
}

static void add_rows(struct matching *matching)
{
	g_array_sort(matching->matches, compare_matches);
	for (guint i = 0; i < matching->matches->len; i++)
		add_row(matching, &g_array_index(matching->matches, struct match, i), i);
}

/* --- groups ---------------------------------------------------------------------------------- */

static void add_entries(struct matching *matching, const GroupRank *rank)
{
	TachoTimeline *timeline = matching->timeline;
	struct member_rank row = { .rank_index = rank->rank_index, .last_begin_ns = G_MININT64 };
	guint32 process = tacho_timeline_rank(timeline, rank->rank_index)->main_process;

	if (process < timeline->processes->len)
		row.process = &g_array_index(timeline->processes, TachoProcess, process);
	for (guint i = 0; i < rank->slices->len; i++) {
		guint32 slice = g_array_index(rank->slices, guint32, i);
		TachoCollectiveArgs args = { 0 };
		struct entry entry = {
			.name = collective_name_id(timeline, slice),
			.rank = matching->ranks->len,
			.slice = slice,
			.queued_ns = matching->queued_ns[slice],
		};

		if (point_to_point_way(timeline, slice) != TACHO_WAY_BY_NAME ||
		    !step_window_takes(matching->steps, timeline, rank->rank_index, slice))
			continue;
		if (operation_has_equal_bytes(operation_of_name(timeline, entry.name)) &&
		    tacho_slice_collective(timeline, slice, &args))
			entry.bytes = args.bytes;
		row.last_begin_ns = MAX(row.last_begin_ns, timeline->slices.start_ns[slice]);
		g_array_append_val(matching->entries, entry);
	}
	g_array_append_val(matching->ranks, row);
}

static gint compare_keys(const struct entry *a, const struct entry *b)
{
	return ORDER(a->name, b->name) ?: ORDER(a->bytes, b->bytes);
}

static gint compare_entries(gconstpointer a, gconstpointer b)
{
	const struct entry *left = a, *right = b;
	gint order = compare_keys(left, right);

	if (order)
		return order;
	return ORDER(left->rank, right->rank) ?: ORDER(left->queued_ns, right->queued_ns) ?:
	       ORDER(left->slice, right->slice);
}

static void match_group(struct matching *matching, const ProcessGroup *group)
{
	matching->n_expected = group->n_expected;
	g_array_set_size(matching->ranks, 0);
	g_array_set_size(matching->entries, 0);
	g_array_set_size(matching->matches, 0);
	g_array_set_size(matching->parts, 0);
	for (guint i = 0; i < group->ranks->len; i++)
		add_entries(matching, g_ptr_array_index(group->ranks, i));
	g_array_sort(matching->entries, compare_entries);
	for (guint32 first = 0, end; first < matching->entries->len; first = end) {
		for (end = first + 1; end < matching->entries->len; end++)
			if (compare_keys(entry_at(matching, first), entry_at(matching, end)) != 0)
				break;
		match_key(matching, first, end);
	}
}

static void report_problems(struct matching *matching)
{
	for (guint32 i = 0; i < matching->timeline->ranks->len; i++) {
		struct missing *missing = &matching->missing[i];

		if (missing->count)
			tacho_timeline_add_problem(matching->timeline,
						   TACHO_PROBLEM_UNMATCHED_COLLECTIVE,
						   missing->count, "%s", missing->first);
		g_free(missing->first);
	}
	if (matching->doubt.count)
		tacho_timeline_add_problem(matching->timeline, TACHO_PROBLEM_CLOCK_DOUBT, 1,
					   "%s; collectives with this problem: %" G_GUINT64_FORMAT,
					   matching->doubt.where, matching->doubt.count);
	g_free(matching->doubt.where);
}

gint64 *collective_queue_times(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 *queued_ns = g_new(gint64, slices->n);

	for (guint32 i = 0; i < slices->n; i++)
		queued_ns[i] = slices->start_ns[i];
	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE && flow->is_exact)
			queued_ns[flow->to] = slices->start_ns[flow->from];
	return queued_ns;
}

/* Match all groups, and do `with_group` with each. */
static void match_groups(struct matching *matching, void (*with_group)(struct matching *))
{
	TachoTimeline *timeline = matching->timeline;
	g_autofree gint64 *queued_ns = collective_queue_times(timeline);
	g_autoptr(GPtrArray) groups = process_groups_new(timeline);
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(struct member_rank));
	g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(struct entry));
	g_autoptr(GArray) matches = g_array_new(FALSE, FALSE, sizeof(struct match));
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(struct part));
	g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GArray) of_rank = g_array_new(FALSE, FALSE, sizeof(guint32));

	matching->queued_ns = queued_ns;
	matching->ranks = ranks;
	matching->entries = entries;
	matching->matches = matches;
	matching->parts = parts;
	matching->alone = alone;
	matching->of_rank = of_rank;
	for (guint i = 0; i < groups->len; i++) {
		match_group(matching, g_ptr_array_index(groups, i));
		with_group(matching);
		if (matching->entries->len > 0)
			matching->group++;
	}
}

void match_collectives(TachoTimeline *timeline, const StepWindow *steps)
{
	g_autofree struct missing *missing = g_new0(struct missing, timeline->ranks->len);
	struct matching matching = { .timeline = timeline, .missing = missing, .steps = steps };

	match_groups(&matching, add_rows);
	report_problems(&matching);
}

/* --- for those who do not want rows ----------------------------------------------------------- */

static void visit_matches(struct matching *matching)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(guint32));

	FOR_EACH(const struct match, match, matching->matches) {
		g_array_set_size(slices, 0);
		for (guint32 j = 0; j < match->n_parts; j++)
			g_array_append_val(slices, g_array_index(matching->parts, struct part,
								 match->first_part + j)
							   .slice);
		matching->visit((const guint32 *)slices->data, slices->len, match->is_exact,
				matching->visit_data);
	}
}

gboolean collective_matches_visit(TachoTimeline *timeline, gboolean is_by_order,
				  CollectiveVisit visit, gpointer data)
{
	struct matching matching = {
		.timeline = timeline, .is_by_order = is_by_order, .visit = visit, .visit_data = data
	};

	match_groups(&matching, visit_matches);
	return matching.has_gaps;
}
