/* sampled_time: what a program's lines took by themselves, as samples of its stacks tell: the time in which no operation
 * ran there, divided into what Python itself took, waiting, and waiting for data. */
#ifndef TACHO_SAMPLED_TIME_H
#define TACHO_SAMPLED_TIME_H

#include "analyze/selection.h"

enum sampled_use {
	SAMPLED_OPERATION, /* an operation of the thread ran: its own slice tells more */
	SAMPLED_LOADING,   /* in a data loader, by itself or waiting for its workers */
	SAMPLED_WAITING,   /* waiting in the operating system */
	SAMPLED_PYTHON,	   /* neither: it ran, outside of operations */
	N_SAMPLED_USES
};

/* One stretch of a thread's time with one innermost function. */
struct sampled_stretch {
	guint32 slice; /* of the innermost function, on a SAMPLED track */
	guint step; /* index among the chosen, of the first that it lies in; the rank's index where there are none */
	gint64 ns[N_SAMPLED_USES]; /* in the chosen steps */
};

typedef void (*SampledVisit)(const struct sampled_stretch *stretch, gpointer data);

/* Call `visit` for every stretch of the main processes of the chosen ranks that lies in the chosen steps. Of threads
 * other than the process's first, which may have nothing to do, waiting is left out. */
void visit_sampled(const struct selection *selection, SampledVisit visit, gpointer data);

/* The SAMPLED track of the thread of `track`, which is on a THREAD track; TACHO_NONE: it was not sampled. */
guint32 sampled_track_of(const TachoTimeline *timeline, const TachoTrack *track);
/* The innermost function that samples on that track saw at `time_ns`; TACHO_NONE: none. */
guint32 sampled_function_at(const TachoTimeline *timeline, guint32 track, gint64 time_ns);

#endif
