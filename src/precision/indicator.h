/* indicator: how much an operation in a format harms the training, predicted from statistics (docs/precision-statistics.md). */
#ifndef TACHO_INDICATOR_H
#define TACHO_INDICATOR_H

#include "precision/indicator_statistics.h"
#include "precision/problem.h"

enum indicator_kind {
#define INDICATOR(enumerator, name, unit, description) INDICATOR_##enumerator,
#include "precision/indicators.def"
#undef INDICATOR
	N_INDICATORS
};

/* Indicators that are added up, by their weights; 0: it is not one of them. */
struct indicator_mix {
	gdouble weights[N_INDICATORS];
};

/* "loss", "loss,gradient:0.5". TACHO_PRECISION_ERROR_MATCH: there is none of that name, and which there are. */
gboolean indicator_mix_parse(const gchar *text, struct indicator_mix *mix, GError **error);

/* What an indicator says of one operation in one format. */
struct indicator_harm {
	gdouble harm;	      /* INFINITY: numbers overflow, the format is of no use */
	gboolean is_derived;  /* rounding errors were not measured, but derived */
	const gchar *missing; /* static: what the statistics lack; NULL: nothing, harm is known */
};

/* Statistics as indicators want them: with what comes before each operation. */
typedef struct _Indicator Indicator;

/* Of a model without a graph: each operation reads what the one before made, and is as deep as it stands in the file. With a problem: its
 * graph. Borrows both. */
Indicator *indicator_new(const TachoPrecisionStatistics *statistics,
			 const TachoPrecisionProblem *problem);
void indicator_free(Indicator *indicator);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Indicator, indicator_free)

/* Of an operation by its number in the statistics. */
struct indicator_harm indicator_harm_of(const Indicator *indicator, enum indicator_kind kind,
					guint32 operation, enum number_format format);
struct indicator_harm indicator_mixed(const Indicator *indicator, const struct indicator_mix *mix,
				      guint32 operation, enum number_format format);
/* Why it is what it is, in words; the caller's. */
gchar *indicator_reason(const Indicator *indicator, guint32 operation, enum number_format format);

/* The squared errors of an operation's three results (docs/precision-statistics.md); FALSE: something is missing. */
struct indicator_variances {
	gdouble output, input_gradient, weight_gradient; /* NAN: not known */
	gboolean is_derived;
};
void indicator_variances_of(const TachoPrecisionStatistics *statistics, guint32 operation,
			    enum number_format format, struct indicator_variances *variances);

/* Fill in the harm of the problem's operations. Notes say of how many nothing is known. TACHO_PRECISION_ERROR_MATCH: no chosen operation is in
 * the statistics. */
gboolean indicator_fill(TachoPrecisionProblem *problem, const TachoPrecisionStatistics *statistics,
			const struct indicator_mix *mix, GError **error);
/* The number of an operation in the statistics; G_MAXUINT32: it is not in them. */
guint32 indicator_find(const TachoPrecisionStatistics *statistics,
		       const struct precision_operation *operation);

#endif
