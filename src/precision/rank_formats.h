/* rank_formats: what operations compute in, on ranks that may differ: sets of ranks that compute all in the same. */
#ifndef TACHO_RANK_FORMATS_H
#define TACHO_RANK_FORMATS_H

#include <glib.h>

struct rank_formats {
	guint32 n_operations, n_ranks;
	guint32 *set_of; /* [rank, as the timeline numbers them]: its set */
	GPtrArray *sets; /* guint8 [n_operations], enum number_format; owned */
	GArray *n_of;	 /* guint32: ranks of each set */
};

/* No rank is of a set yet: add each once. Release it. */
void rank_formats_init(struct rank_formats *ranks, guint32 n_operations, guint32 n_ranks);
void rank_formats_release(struct rank_formats *ranks);
/* The rank computes in these, which are copied. */
void rank_formats_set(struct rank_formats *ranks, guint32 rank, const guint8 *formats);

static inline guint8 *rank_formats_of(const struct rank_formats *ranks, guint32 set)
{
	return ranks->sets->pdata[set];
}

#endif
