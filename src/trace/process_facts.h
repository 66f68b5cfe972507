/* process_facts: what a process's records say about the process itself: its row in the timeline,
 * its tracks and their names, its marks, how it ended and what recording it cost. */
#ifndef TACHO_PROCESS_FACTS_H
#define TACHO_PROCESS_FACTS_H

#include <tacho/timeline.h>

struct process_input;

/* Add the process and its tracks, in the order of its streams, and say in each stream which tracks
 * they are. `launcher_status` and `is_replaced`: see process_end.h. */
void process_facts_add(TachoTimeline *timeline, struct process_input *input,
		       const gchar *launcher_status, gboolean is_replaced);

/* Put the marks of that name, whose thread has no track, on `track`. */
void process_facts_add_marks(TachoTimeline *timeline, const struct process_input *input,
			     const gchar *name, guint32 track);

/* Add the broken records as problems. */
void process_facts_add_faults(TachoTimeline *timeline, const struct process_input *input,
			      const GPtrArray *file_paths);

/* Add what else is wrong with the records of the process with index `process`, and with its clock.
 * For a process that was killed say which slices were open. After the merge. */
void process_facts_add_problems(TachoTimeline *timeline, const struct process_input *input,
				guint32 process);

/* Add the moments at which the process read the system's clocks (struct clock_reading), as those of the process with index
 * `process`. */
void process_facts_add_readings(const TachoTimeline *timeline, const struct process_input *input,
				guint32 process, GArray *readings);

/* Add the handles of the process's threads that have tracks (struct thread_handle). */
void process_facts_add_threads(const TachoTimeline *timeline, const struct process_input *input,
			       GArray *threads);

#endif
