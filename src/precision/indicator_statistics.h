/* indicator_statistics: what was measured of operations' tensors, from a file (docs/precision-statistics.md). */
#ifndef TACHO_INDICATOR_STATISTICS_H
#define TACHO_INDICATOR_STATISTICS_H

#include <tacho/precision.h>

#include "precision/number_format.h"

#define STATISTICS_MAX_OPERATIONS (1u << 20)

enum statistics_tensor {
	STATISTICS_INPUT,
	STATISTICS_WEIGHT,
	STATISTICS_OUTPUT,
	STATISTICS_OUTPUT_GRADIENT,
	STATISTICS_INPUT_GRADIENT,
	STATISTICS_WEIGHT_GRADIENT,
	N_STATISTICS_TENSORS
};

/* What rounding to a format does to a tensor; NAN: it was not measured. */
struct tensor_rounding {
	gdouble error2, error2_spread, overflow, underflow, abs_sum, laplacian;
};

/* A tensor in the reference's format; NAN: it was not measured. */
struct tensor_statistics {
	gdouble elements, norm2, norm2_spread, norm, max_abs, scale_norm2, abs_sum, laplacian;
	struct tensor_rounding *formats; /* [N_NUMBER_FORMATS]; NULL: none was measured */
};

struct operation_statistics {
	gchar *module, *kind;
	guint32 ordinal;
	gboolean is_product;
	gdouble n, k, m, groups;
	struct tensor_statistics tensors[N_STATISTICS_TENSORS];
	gdouble accumulated_norm, accumulated_max_abs, hessian_mean, hessian_spread;
	struct {
		gdouble loss_change, gradient_change2;
	} * direct; /* [N_NUMBER_FORMATS]; NULL: none */
};

struct _TachoPrecisionStatistics {
	enum number_format reference;
	gdouble steps, samples, loss_mean, loss_spread;
	GArray *operations; /* struct operation_statistics, in forward order */
	GHashTable *rows;   /* struct operation_statistics * -> its number + 1 */
};

/* The statistics that a text is; the caller's. TACHO_PRECISION_ERROR_FORMAT, _VERSION: with the byte. */
TachoPrecisionStatistics *precision_statistics_parse(const gchar *text, gsize n, GError **error);

/* The number of an operation; G_MAXUINT32: it is not in the statistics. */
guint32 precision_statistics_find(const TachoPrecisionStatistics *statistics, const gchar *module,
				  const gchar *kind, guint32 ordinal);

/* Whether a tensor was measured. */
static inline gboolean tensor_is_known(const struct tensor_statistics *tensor)
{
	return tensor->elements > 0;
}

#endif
