/* replay_trial: many changes of one graph, each judged by playing again only what it reaches.
 *
 * A change is a list of nodes with other durations. Where nothing is shared, only the nodes are
 * played again whose begin it moves, in their order; where resources are, all from shortly before the
 * first node changed on (shared_state.c). The times are to the bit those of a replay of a graph that
 * was changed so. */
#ifndef TACHO_REPLAY_TRIAL_H
#define TACHO_REPLAY_TRIAL_H

#include "replay/replay_internal.h"

struct trial_edit {
	guint32 node;
	gint64 duration_ns;	   /* of a TRANSFER not used */
	gdouble fixed_ns, work_ns; /* of a TRANSFER only */
};

/* A graph played as it is: what trials begin from. May be shared by threads. */
struct trial_base;
/* The graph must be frozen, not change, and outlive it. */
struct trial_base *trial_base_new(const TachoGraph *graph, GError **error);
void trial_base_free(struct trial_base *base);
const TachoReplay *trial_base_borrow_replay(const struct trial_base *base);

/* What one thread needs to try one change after the other. */
struct replay_trial;
struct replay_trial *replay_trial_new(const struct trial_base *base);
void replay_trial_free(struct replay_trial *trial);

/* Play the base with these edits, which do not add to those of the trial before; of two edits of one
 * node, the later counts. TACHO_GRAPH_ERROR_CYCLE: ranks then block each other. */
gboolean replay_trial_play(struct replay_trial *trial, const struct trial_edit *edits,
			   guint n_edits, GError **error);
/* What was played last; good until the next play. */
const TachoReplay *replay_trial_borrow_replay(const struct replay_trial *trial);
/* Median over the steps of the mean over ranks. */
gdouble replay_trial_step_ns(struct replay_trial *trial);
/* How many nodes the last trial played anew. */
guint32 replay_trial_n_played(const struct replay_trial *trial);

struct trial_change {
	const struct trial_edit *edits;
	guint n_edits;
	gdouble step_ns; /* to be found; NAN: the ranks would block each other */
};

/* Try them all, on all cores. */
void replay_trials_run(const struct trial_base *base, struct trial_change *changes,
		       guint n_changes);

#endif
