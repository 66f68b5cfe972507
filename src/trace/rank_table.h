/* rank_table: which processes make a rank, and which of them is the one that trains.
 *
 * A launcher gives a rank to one process; what that process forks (data loaders) inherits it. So of
 * the processes with one rank that have operations, the main one is that whose parent is none of them, and of several
 * such the one with the most operations.
 *
 * (1) Every process belongs to a rank; ranks are in ascending order, each with a main process.
 * (2) Where no process of a run has a rank, the run is one rank: the lowest number still free.
 * (3) A process without a rank in a run with ranks (a launcher) goes to the run's lowest one.
 * (4) A process that no launcher gave a rank has the one that the program told (process_facts.c). */
#ifndef TACHO_RANK_TABLE_H
#define TACHO_RANK_TABLE_H

#include <tacho/timeline.h>

/* What decides between the processes of the timeline, by process. */
struct rank_candidate {
	guint run; /* processes of one run belong together */
	guint64 n_ops;
};

/* Fill ranks, rank_index, is_main and expected_ranks; missing ranks become a problem.
 * `launched_ranks`: how many ranks `tacho record` started, 0: not known. */
void rank_table_fill(TachoTimeline *timeline, const struct rank_candidate *candidates,
		     gint launched_ranks);

/* The same once more, when the processes have become others. */
void rank_table_refill(TachoTimeline *timeline, const struct rank_candidate *candidates);

/* The index of the rank that the process is of; TACHO_NONE: there is no such process. */
static inline guint32 rank_index_of_process(const TachoTimeline *timeline, guint32 process)
{
	return process < timeline->processes->len
		       ? tacho_timeline_process(timeline, process)->rank_index
		       : TACHO_NONE;
}

/* The index of the rank that the track's slices are the work of; TACHO_NONE: none, as workers of a rank train nothing. */
static inline guint32 rank_index_of_main(const TachoTimeline *timeline, guint32 track)
{
	guint32 process = tacho_timeline_track(timeline, track)->process;
	guint32 rank_index = rank_index_of_process(timeline, process);

	return rank_index < timeline->ranks->len &&
			       tacho_timeline_process(timeline, process)->is_main
		       ? rank_index
		       : TACHO_NONE;
}

#endif
