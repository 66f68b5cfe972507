/* late_ranks: which rank the others wait for, decided by one rule for all views. */
#ifndef TACHO_LATE_RANKS_H
#define TACHO_LATE_RANKS_H

#include "analyze/selection.h"

/* Sums over the collectives that were looked at. */
struct late_rank {
	guint64 n_collectives, n_last; /* that it took part in, and came last to */
	gdouble last_ns; /* of those it came last to: how long the others had waited, their mean */
	gdouble caused_ns, waited_ns; /* what all others waited for it, what it waited itself */
	gdouble net_ns;	 /* how much longer the others waited than it did, the mean of them */
	gdouble sure_ns; /* of net_ns what is longer than clocks are uncertain */
	gdouble open_ns; /* net_ns in the step at work */
	GArray *by_collective, *by_step; /* gdouble, parts of net_ns */
};

typedef struct late_ranks late_ranks;

struct late_ranks {
	guint64 n_collectives; /* seen on all their ranks, whose clocks can be compared */
	gdouble caused_ns;     /* of all ranks */
	guint32 most;	       /* index of the rank with most net_ns; TACHO_NONE: nobody waited */
	guint32 late;	  /* of those that stand out the one with most; TACHO_NONE: there is none */
	gboolean is_sure; /* most of what makes it stand out is longer than clocks are uncertain */
	gint64 doubt_ns;  /* how uncertain clocks were that had to be compared, at most */
	GArray *ranks;	  /* struct late_rank, by index */
};

/* Who is late to those `rows` of the timeline's collectives that begin in the steps of `selection`, which is of all
 * ranks. The caller's, to be ended with late_ranks_free(). */
struct late_ranks *late_ranks_new(const struct selection *selection, const GArray *rows);
void late_ranks_free(struct late_ranks *late);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(late_ranks, late_ranks_free)

/* guint32, the rows of all collectives that the filter's name takes. The caller's. */
GArray *late_ranks_rows(const struct selection *selection);

const struct late_rank *late_ranks_at(const struct late_ranks *late, guint rank_index);

/* The answer in a sentence under a table: who is late, or that nobody stands out. */
void late_ranks_note(const struct late_ranks *late, const struct selection *selection,
		     TachoTable *table);

#endif
