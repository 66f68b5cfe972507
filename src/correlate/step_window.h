/* step_window: steps and collectives of a run that is being written, found in one window after the other (run_window.h).
 *
 *     step_window_correlate() --> the timeline has the steps that ended since --> step_window_advance()
 *
 * (1) A step is found once, when it is over on all ranks that still run: so the collectives of all ranks between two cuts
 *     belong together, as they do in the whole run.
 * (2) Steps are found by the code that finds them in the whole (step_finder.c). What that decides by all of a run is decided
 *     here by what is known: how many updates make a step, what tells steps, how ranks that came late are numbered. Where
 *     what is known later says otherwise, step_window_is_changed(): all is to be done again from the start, with more at once.
 * (3) A collective that outlasts a cut is remembered with the moment from which on it was transfer, and with its end, if that was told too
 *     late (chained_collective.c): what tells so may be before the cut.
 * (4) What is kept of steps that were found: their number and end, and the first updates. */
#ifndef TACHO_STEP_WINDOW_H
#define TACHO_STEP_WINDOW_H

#include <tacho/correlate.h>

#include "trace/run_window.h"

#define STEP_WINDOW_UPDATES 512 /* of which it is seen how many make a step */

/* What was found of a rank before the window. */
struct rank_history {
	gint32 rank;
	guint8 source; /* TachoStepSource: what told them */
	guint8 told;   /* the best that ever told any; it outlives a new beginning */
	gboolean is_marked;
	gint64 first_end_unix_ns, last_end_unix_ns; /* of its steps */
	guint32 n_steps;			    /* control steps among them */
	guint64 n_updates;
	gint64 shift;	 /* its numbers, to be those of the others */
	GArray *updates; /* struct update, the first */
	guint cycle;
	guint n_regions; /* of updates, in each step of the last window ... */
	guint n_agreed;	 /* ... and in how many windows in a row that was so: passed_steps.c */
};

/* Whose the trace of a process is. */
struct rank_trace {
	gchar *path;
	gint32 rank;
	gboolean is_main;
};

typedef struct _StepWindow StepWindow;

struct _StepWindow {
	GArray *ranks; /* struct rank_history, in the order in which they were found */
	gint64 least;  /* of the numbers that annotated steps bring; G_MAXINT64: not known yet */
	guint n_least; /* updates of a rank that must be known before its first step is found */
	guint8 source; /* TachoStepSource: the best that tells steps of any rank */
	guint n_restarts;
	gboolean is_changed;
	GHashTable *transfers; /* record -> gint64 *: Unix time from which on it was transfer */
	GHashTable *
		ends; /* record -> gint64 *: Unix time at which it was over, of those of the last window */
	/* of the window at work, by rank of the timeline: what is matched begins in [from, to) */
	GArray *from_ns, *to_ns; /* gint64 */
	GArray *found;		 /* struct window_steps */
	GArray *cuts;		 /* struct window_cut */
	GArray *traces;		 /* struct rank_trace, of the window before */
};

/* Up to where the trace of a process is done with. */
struct window_cut {
	gchar *path;
	gint64 at_unix_ns;
};

/* What find_window_steps() leaves for step_window_advance(), of a rank. */
struct window_steps {
	gint32 rank;
	guint8 source;
	gboolean is_marked;
	guint n_steps; /* to be given out */
	gint64 shift;
	guint cycle;
	GArray *updates;		  /* struct update of the window, or NULL */
	gint64 first_end_ns, last_end_ns; /* of those given out */
};

StepWindow *step_window_new(void);
void step_window_free(StepWindow *steps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StepWindow, step_window_free)

/* Correlate a timeline of the window as far as steps and what ranks did in them need it. Its `steps` are those that have
 * ended since the last window. `is_forced`: the window has grown too large to wait for ranks that are behind. */
void step_window_correlate(StepWindow *steps, RunWindow *window, TachoTimeline *timeline,
			   gboolean is_forced);
gboolean step_window_is_changed(const StepWindow *steps);
/* Begin anew, with the window. */
void step_window_restart(StepWindow *steps);
/* The steps of the timeline have been taken: they are no longer of the window ... */
void step_window_remember(StepWindow *steps, const RunWindow *window,
			  const TachoTimeline *timeline);
/* ... which is cut behind them, once the timeline is closed. */
void step_window_advance(StepWindow *steps, RunWindow *window);

/* Where the window has more than `max_bytes`: pass over as many of its oldest steps as that is too much, the same of all ranks,
 * but leave `n_least` that are over. They are counted, not read; a collective that outlasts the last of them is not known to
 * have been transfer. Returns how many of each rank; 0 where steps cannot be counted without being read. */
guint step_window_pass(StepWindow *steps, RunWindow *window, guint64 max_bytes, guint n_least);

/* Whether a collective is one to be matched in this window. NULL: all are. */
gboolean step_window_takes(const StepWindow *steps, const TachoTimeline *timeline,
			   guint32 rank_index, guint32 slice);
struct rank_history *step_window_history(StepWindow *steps, gint32 rank);
/* Steps of the rank are told by `source`. */
void step_window_tell(StepWindow *steps, gint32 rank, TachoStepSource source);

/* By the steps that were found, before they are remembered: how they can be counted. */
void step_window_learn(StepWindow *steps, const RunWindow *window, const TachoTimeline *timeline);
GArray *rank_traces_new(void);

#endif
