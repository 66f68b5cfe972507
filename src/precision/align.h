/* align: which elements of two sequences are the same thing, where one has some that the other has not.
 *
 * (1) Elements whose keys are equal are matched first, by a longest common subsequence: the greedy algorithm of E. W. Myers, "An
 *     O(ND) Difference Algorithm and Its Variations", Algorithmica 1, 1986, in linear memory.
 * (2) In each gap between these, elements that are alike are matched, so that the sum of how alike they are is the greatest
 *     (S. B. Needleman and C. D. Wunsch, J. Mol. Biol. 48, 1970, with no cost of gaps).
 * (3) Matches do not cross, and an element has one at most. Beyond ALIGN_MAX_DIFFERENCES nothing more is matched: that is another
 *     sequence. */
#ifndef TACHO_ALIGN_H
#define TACHO_ALIGN_H

#include <glib.h>

/* Edits, at most, between two parts whose ends differ. Source: a rule: recordings of one job in two formats differ by casts, a few for
 * each operation; a model of 4,000 operations has that many. If wrong, identities are missing, and the coverage says so. */
#define ALIGN_MAX_DIFFERENCES 16384
/* Pairs that are compared in a gap, at most. Source: a rule: a second of work. If wrong, a large gap stays unmatched. */
#define ALIGN_MAX_PAIRS (1u << 24)

/* How alike element `a` of the first and `b` of the second are: 0, not at all. */
typedef guint (*AlignScore)(guint32 a, guint32 b, gconstpointer data);

/* For each of the first's `n` keys the place of its match in the second's `m`, or G_MAXUINT32. `score` may be NULL. To be freed with
 * g_free(). */
guint32 *align_sequences(const guint64 *first, guint32 n, const guint64 *second, guint32 m,
			 AlignScore score, gconstpointer data);

#endif
