/* shared_cores: what is computed while cores are shared, or bytes of its rank move.
 *
 * All nodes on a set of cores run at one pace, so a clock of work done serves them all: a node ends when that shows
 * what it showed at its begin and the node's own work. A change of pace touches no node.
 *
 * (1) A tournament of the sets says which has something to end next. If one set changes several times in
 *     succession, it sees only the last change (late_set).
 * (2) Most nodes concern nobody but the next one of their own thread. So up to the first moment at which anything else
 *     can happen, a set of one such thread is played alone, and the sets one after the other. Each does then what it
 *     would have done in their common order, operation by operation, so that the times are the same to the bit.
 * (3) That moment is the soonest of: an event of links or of what is still to begin, and of each set the first end that
 *     concerns others (alone_ns). To be sure of the latter, work is taken to run undisturbed, and a nanosecond faster for
 *     each node that begins, more than rounding to nanoseconds takes. Where more than one node is on a set, each end may
 *     concern others.
 * (4) Whether any node is on a set concerns transfers that wait for it (core_waits.h): there, only what follows at once is played alone.
 * (5) What trials begin from (shared_state.c) is kept in order of time: it must not depend on durations of what has not
 *     begun. */
#include <math.h>

#include "base/time_units.h"
#include "replay/shared_run.h"

/* Nodes that are looked at to see when the first concerns others.
 * Source: a rule: more cost more than they save. If wrong, the replay is slower; times stay. */
#define MAX_AHEAD 64

/* As rounded_ns(), for what is not negative. */
static gint64 round_ns(gdouble time_ns)
{
	gint64 down_ns = (gint64)MIN(time_ns, (gdouble)MOST_NS);

	/* Half is rounded up. Source: derived from rounding to the nearest. */
	return down_ns + (time_ns - (gdouble)down_ns >= 0.5);
}

/* --- the clock of a set ----------------------------------------------------------------------- */

/* With so many nodes on it. */
static gdouble core_pace(const struct shared_run *run, const struct core_set *cores,
			 guint32 n_nodes)
{
	gdouble left;

	if (cores->is_uncounted)
		return cores->n_moving > 0 ? 1 - cores->taken : 1;
	left = (gdouble)run->graph->n_cores;
	left = MAX(left - cores->taken * cores->n_moving, left * (1 - GRAPH_MAX_TAKEN));
	return MIN(1.0, left / MAX(n_nodes, 1u));
}

static void advance(struct core_set *cores, gdouble pace, gdouble time_ns)
{
	cores->done_ns += (time_ns - cores->at_ns) * pace;
	cores->at_ns = time_ns;
}

/* When the clock shows `until`. */
static gdouble time_of(const struct core_set *cores, gdouble pace, gdouble until)
{
	gdouble left = MAX(until - cores->done_ns, 0.0);

	return cores->at_ns + (pace == 1 ? left : left / pace);
}

/* --- what concerns nobody else ---------------------------------------------------------------- */

static gboolean is_waited_for(const struct core_set *cores)
{
	return cores->first_waiting < cores->end_waiting;
}

/* The only node that follows, where it is on the same set; else TACHO_NONE. A call that wakes workers concerns these. Where
 * transfers wait for the set to be idle, it must begin at once: else its being idle concerns them. */
static guint32 only_next(const struct shared_run *run, guint32 node, guint32 set)
{
	const TachoGraph *graph = run->graph;
	guint32 first = graph->succ_first[node], next;

	if (graph->succ_first[node + 1] - first != 1)
		return TACHO_NONE;
	next = graph->succ[first];
	if (shared_run_is_call(run, next))
		return TACHO_NONE;
	if (is_waited_for(&run->cores[set]) &&
	    graph->pred_first[next + 1] - graph->pred_first[next] != 1)
		return TACHO_NONE;
	return run->place[next] == set ? next : TACHO_NONE;
}

/* Its end concerns nothing but the next node on the set that takes any time. */
static gboolean is_alone(const struct shared_run *run, guint32 node, guint32 set)
{
	do
		node = only_next(run, node, set);
	while (node != TACHO_NONE && run->graph->duration_ns[node] == 0);
	return node != TACHO_NONE;
}

/* What is to be done, at least, between the end of the node and the first that concerns others. */
static gdouble work_alone(const struct shared_run *run, guint32 node, guint32 set)
{
	gdouble work_ns = 0;

	for (guint i = 0; i < MAX_AHEAD && (node = only_next(run, node, set)) != TACHO_NONE; i++)
		work_ns += (gdouble)MAX(run->graph->duration_ns[node] - 1, 0);
	return work_ns;
}

/* --- the tournament --------------------------------------------------------------------------- */

static struct next_set next_of(const struct shared_run *run, guint32 set)
{
	struct core_set *cores = &run->cores[set];
	struct next_set next = { INFINITY, INFINITY, set };
	struct event first;

	if (cores->heap.n == 0)
		return next;
	first = cores->heap.events[0];
	next.time_ns = next.alone_ns =
		time_of(cores, core_pace(run, cores, cores->heap.n), first.time);
	if (!cores->is_uncounted || cores->moves_as || cores->heap.n > 1 || run->history)
		return next;
	if (!cores->is_alone_known || cores->alone_until < first.time) {
		cores->alone_until = first.time + work_alone(run, first.node, set);
		cores->is_alone_known = TRUE;
	}
	next.alone_ns = time_of(cores, 1, cores->alone_until);
	return next;
}

static struct next_set sooner(struct next_set a, struct next_set b)
{
	struct next_set first = b.time_ns < a.time_ns ? b : a;

	first.alone_ns = MIN(a.alone_ns, b.alone_ns);
	return first;
}

static void play_late(struct shared_run *run)
{
	guint32 i = run->n_leaves + run->late_set;

	if (run->late_set == TACHO_NONE)
		return;
	run->next[i] = next_of(run, run->late_set);
	for (i /= 2; i > 0; i /= 2)
		run->next[i] = sooner(run->next[2 * i], run->next[2 * i + 1]);
	run->late_set = TACHO_NONE;
}

/* What is on the set, or its pace, will change. */
static void touch(struct shared_run *run, guint32 set)
{
	if (run->late_set != set)
		play_late(run);
	run->late_set = set;
}

void shared_cores_schedule(struct shared_run *run)
{
	run->late_set = TACHO_NONE;
	for (guint32 i = 0; i < run->n_leaves; i++)
		run->next[run->n_leaves + i] = i < run->n_core_sets
						       ? next_of(run, i)
						       : (struct next_set){ INFINITY, INFINITY, i };
	for (guint32 i = run->n_leaves; --i > 0;)
		run->next[i] = sooner(run->next[2 * i], run->next[2 * i + 1]);
}

const struct next_set *shared_cores_next(struct shared_run *run)
{
	play_late(run);
	return &run->next[1];
}

/* --- what moving bytes takes ------------------------------------------------------------------ */

/* So many more move bytes as this index of rank_core_set[]. */
static void change_moving(struct shared_run *run, guint32 who, gint change, gdouble time_ns)
{
	guint32 first = run->rank_core_set[who], n_sets = who < run->n_ranks ? 1 : run->n_slots;
	guint32 n_before = run->n_moving[who], n_after = n_before + (guint32)change;

	run->n_moving[who] = n_after;
	for (guint32 set = first; set < first + n_sets; set++) {
		struct core_set *cores = &run->cores[set];

		touch(run, set);
		advance(cores, core_pace(run, cores, cores->heap.n), time_ns);
		cores->n_moving -= n_before > 0;
		cores->n_moving += n_after > 0;
	}
}

void shared_cores_move(struct shared_run *run, guint32 group, gint change, gdouble time_ns)
{
	for (guint32 i = run->moving_first[group]; i < run->moving_first[group + 1]; i++)
		change_moving(run, run->moving[i], change, time_ns);
}

/* --- who waits for cores ---------------------------------------------------------------------- */

/* What is on the set has changed: who waits for it is told when all that happens at this moment has happened, for mostly the next node
 * follows at once. */
static void note_change(struct shared_run *run, guint32 set)
{
	struct core_set *cores = &run->cores[set];

	if (!is_waited_for(cores) || cores->is_noted)
		return;
	cores->is_noted = TRUE;
	run->changed[run->n_changed++] = set;
}

/* No core is free. */
static gboolean is_busy(const struct shared_run *run, const struct core_set *cores)
{
	return cores->heap.n >= (cores->is_uncounted ? 1 : run->graph->n_cores);
}

gboolean shared_cores_tell(struct shared_run *run)
{
	gboolean has_changed = FALSE;

	while (run->n_changed > 0) {
		struct core_set *cores = &run->cores[run->changed[--run->n_changed]];
		gboolean was_busy = cores->is_busy;

		cores->is_noted = FALSE;
		cores->is_busy = is_busy(run, cores);
		for (guint32 i = cores->first_waiting;
		     i < cores->end_waiting && cores->is_busy != was_busy; i++) {
			guint32 group = run->waiting[i], n_before = run->n_computing[group];

			run->n_computing[group] += cores->is_busy ? 1 : G_MAXUINT32;
			has_changed |= run->n_active[group] > 0 &&
				       (n_before > 0) != (run->n_computing[group] > 0);
		}
	}
	return has_changed;
}

/* --- begin and end ---------------------------------------------------------------------------- */

void shared_cores_begin(struct shared_run *run, guint32 node, guint32 set, gdouble time_ns)
{
	struct core_set *cores = &run->cores[set];

	touch(run, set);
	advance(cores, core_pace(run, cores, cores->heap.n), time_ns);
	event_heap_push(&cores->heap, cores->done_ns + (gdouble)shared_run_work_ns(run, node),
			node);
	cores->is_alone_known = FALSE;
	note_change(run, set);
	if (cores->moves_as)
		change_moving(run, cores->moves_as - 1, 1, time_ns);
}

/* The end of a node that is alone; the node that begins by it, or TACHO_NONE: it has others to wait for. */
static guint32 finish_alone(struct shared_run *run, guint32 node, gint64 end_ns)
{
	const TachoGraph *graph = run->graph;
	TachoReplay *replay = run->replay;

	for (;;) {
		guint32 next = graph->succ[graph->succ_first[node]];

		replay->end_ns[node] = end_ns;
		run->n_done++;
		if (end_ns > replay->begin_ns[next] || replay->cause[next] == TACHO_NONE) {
			replay->begin_ns[next] = MAX(end_ns, replay->begin_ns[next]);
			replay->cause[next] = node;
		}
		if (--run->n_waiting[next] > 0)
			return TACHO_NONE;
		if (run->history)
			run->history->begun[next] = run->n_begun;
		run->n_begun++;
		if (graph->duration_ns[next] > 0)
			return next;
		node = next;
		end_ns = replay->begin_ns[next];
	}
}

/* What begins by the end of a node at `time_ns` does so now; FALSE: only later, and waits for that, as must the set. */
static gboolean begins_now(struct shared_run *run, guint32 node, gdouble *horizon_ns,
			   gdouble time_ns)
{
	gdouble begin_ns = (gdouble)run->replay->begin_ns[node];

	if (begin_ns <= time_ns + ALMOST_NS)
		return TRUE;
	event_heap_push(&run->begins, begin_ns, node);
	*horizon_ns = MIN(*horizon_ns, begin_ns);
	return FALSE;
}

/* The first node on the set, and whatever ends there after it up to the horizon, until an end concerns others. */
static void play_alone(struct shared_run *run, guint32 set, gdouble time_ns, gdouble horizon_ns)
{
	struct core_set cores = run->cores[set];
	gdouble pace = core_pace(run, &cores, cores.heap.n);
	gdouble pace_of_fewer = core_pace(run, &cores, cores.heap.n - 1);

	do {
		guint32 next = finish_alone(run, cores.heap.events[0].node, round_ns(time_ns));

		advance(&cores, pace, time_ns);
		if (next == TACHO_NONE || !begins_now(run, next, &horizon_ns, time_ns)) {
			event_heap_pop(&cores.heap);
			if (cores.heap.n == 0)
				break;
			pace = pace_of_fewer;
			pace_of_fewer = core_pace(run, &cores, cores.heap.n - 1);
		} else {
			advance(&cores, pace_of_fewer, (gdouble)run->replay->begin_ns[next]);
			event_heap_replace(&cores.heap,
					   cores.done_ns + (gdouble)run->graph->duration_ns[next],
					   next);
		}
		time_ns = time_of(&cores, pace, cores.heap.events[0].time);
	} while (time_ns < horizon_ns && is_alone(run, cores.heap.events[0].node, set));
	run->cores[set] = cores;
}

static void end_for_others(struct shared_run *run, guint32 set, gdouble time_ns)
{
	struct core_set *cores = &run->cores[set];
	guint32 node;

	advance(cores, core_pace(run, cores, cores->heap.n), time_ns);
	cores->is_alone_known = FALSE;
	node = event_heap_pop(&cores->heap).node;
	note_change(run, set);
	if (cores->moves_as)
		change_moving(run, cores->moves_as - 1, -1, time_ns);
	shared_run_finish(run, node, round_ns(time_ns));
}

/* When any other set may concern this one, at the soonest. */
static gdouble others_alone_ns(const struct shared_run *run, guint32 set)
{
	gdouble soonest_ns = INFINITY;

	for (guint32 i = run->n_leaves + set; i > 1; i /= 2)
		soonest_ns = MIN(soonest_ns, run->next[i ^ 1].alone_ns);
	return soonest_ns;
}

void shared_cores_end(struct shared_run *run, guint32 set, gdouble horizon_ns)
{
	gdouble time_ns = run->next[run->n_leaves + set].time_ns;

	touch(run, set);
	if (run->cores[set].moves_as || !is_alone(run, run->cores[set].heap.events[0].node, set))
		end_for_others(run, set, time_ns);
	else if (run->history)
		play_alone(run, set, time_ns, time_ns);
	else
		play_alone(run, set, time_ns, MIN(horizon_ns, others_alone_ns(run, set)));
}
