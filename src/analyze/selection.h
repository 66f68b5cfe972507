/* selection: the ranks and steps a view is about. */
#ifndef TACHO_SELECTION_H
#define TACHO_SELECTION_H

#include <tacho/analyze.h>

#include "base/interval_set.h"

typedef enum {
	STEP_STEADY,
	STEP_WARM_UP,
	STEP_INCOMPLETE, /* one of its ends was not seen */
} StepState;

struct selection {
	const TachoTimeline *timeline;
	const TachoFilter *filter;
	gint64 n_warm_up;     /* steps with lower numbers are warm-up */
	GArray *chosen;	      /* TachoStep, by rank and number */
	guint *first_of_rank; /* where a rank's steps begin in `chosen`; one more than ranks */
	gdouble total_ns;     /* of the chosen steps; taken whole, of the chosen ranks' processes */
	guint n_ranks;
	gboolean is_whole; /* no steps: the run has none, or all that was recorded was asked for */
};

void selection_init(struct selection *selection, const TachoTimeline *timeline,
		    const TachoFilter *filter);
void selection_release(struct selection *selection);

/* Whether steps were asked for by number. */
gboolean selection_is_by_number(const struct selection *selection);
StepState selection_step_state(const struct selection *selection, const TachoStep *step);
gboolean selection_takes_rank(const struct selection *selection, guint rank_index);
gboolean selection_takes_name(const struct selection *selection, const gchar *name);
/* Whether its slices are looked at: a track of the main process of a chosen rank. */
gboolean selection_takes_track(const struct selection *selection, const TachoTrack *track);
/* Whether `time_ns` of that rank lies in a chosen step, or everything is taken. `cursor`, 0 at first, makes it quick for
 * times that do not go back. */
gboolean selection_takes_time(const struct selection *selection, guint rank_index, gint64 time_ns,
			      guint *cursor);
/* The chosen steps of a rank as stretches of time (struct interval); where everything is taken, the life
 * of its main process. The caller's. */
GArray *selection_stretches(const struct selection *selection, guint rank_index);
/* The same as a set of moments, to be initialized here. */
void selection_moments(const struct selection *selection, guint rank_index,
		       struct interval_set *ret_moments);
/* How many steps were chosen, over all ranks; 0: the run has none, or is taken whole. */
guint selection_n_steps(const struct selection *selection);
/* Tell of which ranks steps and collectives alone were recorded, where there are such: part of selection_note(). */
void selection_note_partial(const struct selection *selection, TachoTable *table);
/* Tell under an empty table that there are no `things`, or none of that name. */
void selection_note_empty(const struct selection *selection, TachoTable *table,
			  const gchar *things);
/* Tell under the table what it is about. */
void selection_note(const struct selection *selection, TachoTable *table);

#endif
