/* correlate: make a timeline one may trust: times on one clock, steps, forward to backward, collectives
 * across ranks, and how far all of it can be believed. */
#ifndef TACHO_CORRELATE_H
#define TACHO_CORRELATE_H

#include <tacho/timeline.h>

G_BEGIN_DECLS

/* Fill steps, flows, messages, collectives, clocks and the problems found on the way, and move the times
 * of all hosts to the first one's clock, as far as something ties them. Call once, after reading; a run that
 * is correlated already stays as it is. Never fails: what does not fit becomes a problem. */
void tacho_correlate(TachoTimeline *timeline);

/* 0 (believe nothing) to 100 (nothing found wrong); docs/trust.md says how much each kind of
 * problem costs. */
guint tacho_trust_score(const TachoTimeline *timeline);
/* The same without what is only missing: how far the figures of what is there can be believed. */
guint tacho_trust_present_score(const TachoTimeline *timeline);

/* The kernel's op: the innermost OP that contains it on its thread, or what launched it on its device;
 * TACHO_NONE: there is none. */
guint32 tacho_kernel_op(const TachoTimeline *timeline, guint32 slice);

/* How the steps were found. */
typedef enum {
	TACHO_STEPS_NONE,
	TACHO_STEPS_ANNOTATED, /* step marks of the job or the hook */
	TACHO_STEPS_OPTIMIZER, /* ends of optimizer steps */
	TACHO_STEPS_PERIOD,    /* the op sequence repeats */
} TachoStepSource;
TachoStepSource tacho_step_source(const TachoTimeline *timeline);

/* What recording takes, as control steps show it. */
typedef struct {
	gdouble share; /* of an unrecorded step: 0.02 where recorded steps take 2 % longer */
	gdouble error; /* its standard error */
	guint n_control, n_recorded; /* steps compared */
} TachoRecordingExcess;

/* FALSE: there are no control steps, or too few steps beside them to tell. */
gboolean tacho_recording_excess(const TachoTimeline *timeline, TachoRecordingExcess *ret_excess);

/* What a step takes in which nothing is recorded. */
typedef struct {
	gdouble step_ns; /* median over the control steps of the mean over ranks */
	gdouble error;	 /* its standard error, of itself */
	guint n_steps;
} TachoControlTime;

/* From the control steps among those numbered `first` to `last`, and next to these. FALSE: too few. */
gboolean tacho_control_time(const TachoTimeline *timeline, guint32 first, guint32 last,
			    TachoControlTime *ret_time);

G_END_DECLS

#endif
