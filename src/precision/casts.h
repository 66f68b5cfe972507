/* casts: what casts of tensors from one format of numbers to another take, by how many numbers they have.
 *
 * (1) A pair of formats has knots, of which times rise with sizes and none is negative. Between two knots the time is linear in the
 *     size; below the first it is the first's, for a call has its price; above the last it grows with the size.
 * (2) Knots are the samples, made to rise by pooling neighbours that fall (R. E. Barlow et al., Statistical Inference under Order
 *     Restrictions, 1972), each weighed by 1 / ns^2, so that relative errors count.
 * (3) How wrong that is: every fifth sample is left out, and predicted from the others; `error` is the root of the mean squared
 *     logarithm of what it takes to what was predicted.
 * (4) A pair that was not measured is estimated from one that was, by the bytes that both move, and says so. */
#ifndef TACHO_PRECISION_CASTS_H
#define TACHO_PRECISION_CASTS_H

#include <tacho/precision.h>

#include "precision/number_format.h"

#define CASTS_MAX_BYTES	  (16u * 1024 * 1024)
#define CASTS_MAX_SAMPLES (1u << 20)

struct cast_sample {
	gdouble elements, ns;
};

/* The same cast, which many of one size may have told. */
struct cast_pair {
	GArray *samples; /* struct cast_sample, in any order; NULL: none */
	GArray *knots;	 /* struct cast_sample, ascending; NULL: not fitted, or none */
	gdouble error;	 /* NaN: too few samples to leave any out */
	guint n_held_out;
};

struct casts {
	gchar *device; /* "" where it is not told */
	struct cast_pair pairs[N_NUMBER_FORMATS][N_NUMBER_FORMATS];
};

typedef struct casts casts;

struct casts *casts_new(void);
void casts_free(struct casts *casts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(casts, casts_free)

/* A sample that is positive and finite; casts_fit() must follow. */
void casts_add(struct casts *casts, enum number_format from, enum number_format to,
	       gdouble elements, gdouble ns);
void casts_fit(struct casts *casts);

/* What a cast takes, in ns; 0 where both are the same. `ret_is_estimated`, which may be NULL: that pair was not measured. Negative: nothing
 * at all was. */
gdouble casts_ns(const struct casts *casts, enum number_format from, enum number_format to,
		 gdouble elements, gboolean *ret_is_estimated);

/* A row a pair that was measured: "from", "to", "samples", "held_out", "error_pct", "smallest_ns" and "ns_per_element" of the largest. */
TachoTable *casts_table(const struct casts *casts);

/* A file of `tacho calibrate casts` (docs/precision-casts.md), fitted. TACHO_PRECISION_ERROR, G_FILE_ERROR. */
struct casts *casts_parse(const gchar *text, gsize n, GError **error);
struct casts *casts_read(const gchar *path, GError **error);

#endif
