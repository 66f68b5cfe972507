#include "precision/indicator.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order_statistics.h"

/* QSync's constants (spec of GVAR in docs/precision-statistics.md). Source: cited from QSync's predictor, as it is coded. */
#define GVAR_FORWARD_WEIGHT 4.0
#define GVAR_MAX_EXPONENT   5
#define GVAR_INT8_K	    9
/* Numbers of int8 on one side of 0. */
#define INT8_STEPS 127.0
/* A largest value that many times the root mean square is called an outlier. Source: a rule: of a million normal numbers the largest is 5
 * times it. If wrong, a reason is not the one that matters. */
#define OUTLIER 12.0
/* A share below that is called none in particular, and a ratio above that is told. Source: a rule: of two. If wrong, a reason is not the one
 * that matters. */
#define ALIKE 0.6
#define MUCH  2.0

static const struct {
	const gchar *name, *description;
} kinds[N_INDICATORS] = {
#define INDICATOR(enumerator, name, unit, description) { name, description },
#include "precision/indicators.def"
#undef INDICATOR
};

struct _Indicator {
	const TachoPrecisionStatistics *statistics;
	gdouble *upstream; /* [operations] S of what makes its input */
	gdouble *behind;   /* [operations] S of all that follow it in the forward pass */
	gdouble *depth;	   /* [operations] */
	gdouble deepest;
	gdouble usual_gradient; /* median over the operations of the root mean square of their outputs' gradients; 0: none is known */
};

const gchar *tacho_precision_indicator(guint index, const gchar **ret_description)
{
	if (index >= N_INDICATORS)
		return NULL;
	*ret_description = kinds[index].description;
	return kinds[index].name;
}

static gint find_kind(const gchar *name, gsize n)
{
	for (gint i = 0; i < N_INDICATORS; i++)
		if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, name, n) == 0)
			return i;
	return -1;
}

gboolean indicator_mix_parse(const gchar *text, struct indicator_mix *mix, GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	*mix = (struct indicator_mix){ { 0 } };
	for (guint i = 0; words[i]; i++) {
		const gchar *colon = strchr(words[i], ':');
		gint kind =
			find_kind(words[i], colon ? (gsize)(colon - words[i]) : strlen(words[i]));
		gchar *end = NULL;
		gdouble weight = colon ? g_ascii_strtod(colon + 1, &end) : 1;
		g_autoptr(GString) names = NULL;

		if (kind >= 0 && isfinite(weight) && weight > 0 &&
		    (!colon || (end != colon + 1 && !*end))) {
			mix->weights[kind] = weight;
			continue;
		}
		names = g_string_new(NULL);
		for (guint j = 0; j < N_INDICATORS; j++)
			g_string_append_printf(names, "%s%s", j ? ", " : "", kinds[j].name);
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH,
			    "'%s' is no indicator with a weight above 0: there are %s", words[i],
			    names->str);
		return FALSE;
	}
	return TRUE;
}

/* --- rounding ----------------------------------------------------------------------------------- */

static const struct operation_statistics *operation_at(const TachoPrecisionStatistics *statistics,
						       guint32 operation)
{
	return &g_array_index(statistics->operations, struct operation_statistics, operation);
}

/* Whether every number of the reference is one of the format, too. */
static gboolean is_harmless(const TachoPrecisionStatistics *statistics, enum number_format format)
{
	return format == statistics->reference ||
	       (number_format_significand(format) > 0 &&
		number_format_promote(statistics->reference, format) == format);
}

/* What a tensor's rounding to the format makes of it, squared; NAN: it is not known. */
static gdouble error2_of(const TachoPrecisionStatistics *statistics,
			 const struct tensor_statistics *tensor, enum number_format format,
			 gboolean *is_derived)
{
	guint significand = number_format_significand(format);

	if (!tensor_is_known(tensor))
		return NAN;
	if (is_harmless(statistics, format))
		return 0;
	if (tensor->formats && !isnan(tensor->formats[format].error2))
		return tensor->formats[format].error2;
	*is_derived = TRUE;
	if (significand == 0) {
		gdouble step = tensor->max_abs / INT8_STEPS;

		return tensor->elements * step * step / 12;
	}
	/* Source: derived from a unit in the last place of m 2^e being 2^(e - s + 1), and significands m whose logarithms are spread evenly:
	 * the sum of squares of steps is 2^(-2 (s - 1)) * (2 ln 2 / 3) of that of the numbers; a twelfth of it for rounding to nearest */
	return tensor->norm2 * exp2(-2.0 * (significand - 1.0)) * (2 * M_LN2 / 3) / 12;
}

/* The same as X, W and G of a product have it: of the tensor as it is unfolded. */
struct unfolded {
	gdouble norm2, error2;
};

static struct unfolded unfold(const TachoPrecisionStatistics *statistics,
			      const struct tensor_statistics *tensor, gdouble elements,
			      enum number_format format, gboolean *is_derived)
{
	gdouble factor = elements / tensor->elements;

	if (!tensor_is_known(tensor))
		return (struct unfolded){ NAN, NAN };
	return (struct unfolded){ tensor->norm2 * factor,
				  error2_of(statistics, tensor, format, is_derived) * factor };
}

/* Of A B', whose sums have `length` terms. */
static gdouble product_variance(const struct unfolded *a, const struct unfolded *b, gdouble length)
{
	return (a->error2 * b->norm2 + b->error2 * a->norm2 + a->error2 * b->error2) / length;
}

static gdouble samples_of(const struct operation_statistics *operation)
{
	return operation->n * operation->k * operation->groups;
}

void indicator_variances_of(const TachoPrecisionStatistics *statistics, guint32 operation,
			    enum number_format format, struct indicator_variances *variances)
{
	const struct operation_statistics *facts = operation_at(statistics, operation);
	const struct tensor_statistics *tensors = facts->tensors;
	gboolean *is_derived = &variances->is_derived;
	struct unfolded x, w, g;

	*variances = (struct indicator_variances){ NAN, NAN, NAN, FALSE };
	if (!facts->is_product) {
		const struct tensor_statistics *given = &tensors[STATISTICS_OUTPUT_GRADIENT];

		variances->output =
			error2_of(statistics, &tensors[STATISTICS_OUTPUT], format, is_derived);
		variances->weight_gradient = 0;
		variances->input_gradient =
			given->norm2 > 0
				? error2_of(statistics, given, format, is_derived) *
					  tensors[STATISTICS_INPUT_GRADIENT].norm2 / given->norm2
				: NAN;
		return;
	}
	x = unfold(statistics, &tensors[STATISTICS_INPUT], samples_of(facts), format, is_derived);
	w = unfold(statistics, &tensors[STATISTICS_WEIGHT], facts->k * facts->m * facts->groups,
		   format, is_derived);
	g = unfold(statistics, &tensors[STATISTICS_OUTPUT_GRADIENT],
		   facts->n * facts->m * facts->groups, format, is_derived);
	variances->output = product_variance(&x, &w, facts->k * facts->groups);
	variances->input_gradient = product_variance(&g, &w, facts->m * facts->groups);
	variances->weight_gradient = product_variance(&g, &x, facts->n * facts->groups);
}

/* --- what comes before --------------------------------------------------------------------------- */

/* What a relative squared error of 1 of the output's gradient makes of the weight's gradient. */
static gdouble own_sensitivity(const struct operation_statistics *operation)
{
	const struct tensor_statistics *x = &operation->tensors[STATISTICS_INPUT];
	const struct tensor_statistics *g = &operation->tensors[STATISTICS_OUTPUT_GRADIENT];

	if (!operation->is_product || !tensor_is_known(x) || !tensor_is_known(g))
		return 0;
	return g->norm2 * x->norm2 * (samples_of(operation) / x->elements) /
	       (operation->n * operation->groups);
}

/* Without a graph each reads what the one before made. */
static void follow_file(Indicator *indicator)
{
	gdouble sum = 0;

	FOR_EACH_AT(const struct operation_statistics, operation, i,
		    indicator->statistics->operations) {
		indicator->upstream[i] = sum;
		indicator->depth[i] = i;
		indicator->deepest = MAX(indicator->deepest, i);
		sum += own_sensitivity(operation);
	}
}

/* Along the graph: S of an operation's output is shared among those that read it. */
static void follow_graph(Indicator *indicator, const TachoPrecisionProblem *problem)
{
	guint32 n = problem->n_operations;
	g_autofree gdouble *upstream = g_new0(gdouble, MAX(n, 1)); /* of what it reads */
	g_autofree gdouble *total = g_new0(gdouble, MAX(n, 1));
	g_autofree guint32 *row = g_new(guint32, MAX(n, 1));
	g_autofree guint32 *first = g_new0(guint32, (gsize)n + 1);
	g_autofree guint32 *made = g_new(guint32, MAX(problem->n_tensors, 1));
	g_autofree guint32 *n_readers = g_new0(guint32, MAX(n, 1));

	for (guint32 t = 0; t < problem->n_tensors; t++) {
		first[problem->tensors[t].producer + 1]++;
		n_readers[problem->tensors[t].producer] += problem->tensors[t].n_edges;
	}
	for (guint32 i = 0; i < n; i++)
		first[i + 1] += first[i];
	for (guint32 t = 0; t < problem->n_tensors; t++)
		made[first[problem->tensors[t].producer]++] = t;
	for (guint32 i = 0, at = 0; i < n; i++) {
		row[i] = indicator_find(indicator->statistics, &problem->operations[i]);
		total[i] = upstream[i];
		if (row[i] != G_MAXUINT32) {
			total[i] += own_sensitivity(operation_at(indicator->statistics, row[i]));
			indicator->upstream[row[i]] = upstream[i];
			indicator->depth[row[i]] = problem->operations[i].hops;
		}
		indicator->deepest = MAX(indicator->deepest, problem->operations[i].hops);
		for (; at < first[i]; at++) {
			const struct precision_tensor *tensor = &problem->tensors[made[at]];

			for (guint32 e = 0; e < tensor->n_edges; e++)
				upstream[problem->edges[tensor->first_edge + e].consumer] +=
					total[i] / n_readers[i];
		}
	}
}

static void sum_behind(Indicator *indicator)
{
	gdouble sum = 0;

	for (guint i = indicator->statistics->operations->len; i-- > 0;) {
		indicator->behind[i] = sum;
		sum += own_sensitivity(operation_at(indicator->statistics, i));
	}
}

static gdouble root_mean_square(const struct tensor_statistics *tensor)
{
	return tensor_is_known(tensor) ? sqrt(tensor->norm2 / tensor->elements) : 0;
}

static void find_usual_gradient(Indicator *indicator)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(gdouble));

	FOR_EACH(const struct operation_statistics, operation, indicator->statistics->operations) {
		gdouble rms = root_mean_square(&operation->tensors[STATISTICS_OUTPUT_GRADIENT]);

		if (rms > 0)
			g_array_append_val(all, rms);
	}
	if (all->len > 0)
		indicator->usual_gradient = median_of_doubles(all);
}

Indicator *indicator_new(const TachoPrecisionStatistics *statistics,
			 const TachoPrecisionProblem *problem)
{
	Indicator *indicator = g_new0(Indicator, 1);

	indicator->statistics = statistics;
	indicator->upstream = g_new0(gdouble, MAX(statistics->operations->len, 1));
	indicator->behind = g_new0(gdouble, MAX(statistics->operations->len, 1));
	indicator->depth = g_new0(gdouble, MAX(statistics->operations->len, 1));
	if (problem)
		follow_graph(indicator, problem);
	else
		follow_file(indicator);
	sum_behind(indicator);
	find_usual_gradient(indicator);
	return indicator;
}

void indicator_free(Indicator *indicator)
{
	if (!indicator)
		return;
	g_free(indicator->upstream);
	g_free(indicator->behind);
	g_free(indicator->depth);
	g_free(indicator);
}

/* --- indicators --------------------------------------------------------------------------------- */

static struct indicator_harm known(gdouble harm, const gchar *missing)
{
	if (isfinite(harm) && harm >= 0)
		return (struct indicator_harm){ harm, FALSE, NULL };
	return (struct indicator_harm){ 0, FALSE, missing };
}

static struct indicator_harm loss(const Indicator *indicator, guint32 operation,
				  enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	const struct tensor_statistics *gradient = &facts->tensors[STATISTICS_OUTPUT_GRADIENT];
	struct indicator_variances variances;
	struct indicator_harm harm;
	gdouble elements;

	indicator_variances_of(indicator->statistics, operation, format, &variances);
	elements = facts->is_product ? facts->n * facts->m * facts->groups
				     : facts->tensors[STATISTICS_OUTPUT].elements;
	harm = known(indicator->statistics->samples / 2 * gradient->norm2 * variances.output /
			     elements,
		     facts->is_product ? "input, weight or output_gradient"
				       : "output or output_gradient");
	harm.is_derived = variances.is_derived;
	return harm;
}

static struct indicator_harm gradient(const Indicator *indicator, guint32 operation,
				      enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	gdouble through = facts->tensors[STATISTICS_INPUT_GRADIENT].norm2;
	gdouble given = facts->tensors[STATISTICS_OUTPUT].norm2;
	gdouble upstream = indicator->upstream[operation];
	struct indicator_variances variances;
	struct indicator_harm harm;
	gdouble sum;

	indicator_variances_of(indicator->statistics, operation, format, &variances);
	sum = variances.weight_gradient;
	if (upstream >
	    0) /* the first operation has nothing before it, and perhaps no gradient of its input */
		sum += through > 0 ? variances.input_gradient / through * upstream : NAN;
	if (given > 0) /* what follows reads the error, relative to what it is of */
		sum += variances.output / given * indicator->behind[operation];
	harm = known(sum, "input, weight, output_gradient or input_gradient");
	harm.is_derived = variances.is_derived;
	return harm;
}

static struct indicator_harm variance(const Indicator *indicator, guint32 operation,
				      enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	const struct tensor_statistics *tensors = facts->tensors;
	struct indicator_variances variances;
	struct indicator_harm harm;
	gdouble sum;

	indicator_variances_of(indicator->statistics, operation, format, &variances);
	sum = variances.output / tensors[STATISTICS_OUTPUT].norm2;
	if (tensor_is_known(&tensors[STATISTICS_INPUT_GRADIENT]))
		sum += variances.input_gradient / tensors[STATISTICS_INPUT_GRADIENT].norm2;
	if (facts->is_product && tensor_is_known(&tensors[STATISTICS_WEIGHT_GRADIENT]))
		sum += variances.weight_gradient / tensors[STATISTICS_WEIGHT_GRADIENT].norm2;
	harm = known(sum, "input, weight, output or output_gradient");
	harm.is_derived = variances.is_derived;
	return harm;
}

static struct indicator_harm hessian(const Indicator *indicator, guint32 operation,
				     enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	const struct tensor_statistics *weight = &facts->tensors[STATISTICS_WEIGHT];
	gboolean is_derived = FALSE;
	gdouble error2 = error2_of(indicator->statistics, weight, format, &is_derived);
	gdouble trace = isnan(facts->hessian_mean) ? NAN : MAX(facts->hessian_mean, 0);
	struct indicator_harm harm =
		known(trace * error2 / weight->elements, "hessian_trace or weight");

	harm.is_derived = is_derived;
	return harm;
}

static struct indicator_harm direct(const Indicator *indicator, guint32 operation,
				    enum number_format format, gboolean is_gradient)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);

	if (!facts->direct)
		return known(NAN, "direct");
	return known(is_gradient ? facts->direct[format].gradient_change2
				 : facts->direct[format].loss_change,
		     "direct");
}

static struct indicator_harm wvar(const Indicator *indicator, guint32 operation,
				  enum number_format format)
{
	const struct tensor_statistics *weight =
		&operation_at(indicator->statistics, operation)->tensors[STATISTICS_WEIGHT];
	gdouble rounded = weight->formats ? weight->formats[format].abs_sum : NAN;

	return known(log2(1 + fabs(rounded - weight->abs_sum) / weight->abs_sum),
		     "abs_sum of weight");
}

static struct indicator_harm hess(const Indicator *indicator, guint32 operation,
				  enum number_format format)
{
	const struct tensor_statistics *weight =
		&operation_at(indicator->statistics, operation)->tensors[STATISTICS_WEIGHT];
	gdouble rounded = weight->formats ? weight->formats[format].laplacian : NAN;

	return known(fabs(rounded - weight->laplacian), "laplacian of weight");
}

/* --- GVAR as coded ------------------------------------------------------------------------------- */

/* The exponent that frexp gives of a number, clipped as QSync does. */
static gdouble clipped_exponent(gdouble value)
{
	gint exponent = 0;

	if (value > 0)
		frexp(value, &exponent);
	return MIN(ABS(exponent), GVAR_MAX_EXPONENT);
}

/* The nearest half-precision number: 11 bits of significand, and steps of 2^-24 at least. */
static gdouble to_half(gdouble value)
{
	gint exponent;
	gdouble step;

	if (!(value > 0))
		return 0;
	frexp(value, &exponent);
	step = ldexp(1, MAX(exponent - 11, -24));
	return nearbyint(value / step) * step;
}

/* A tensor as GVAR sees it; all 1 where there is none. */
struct gvar_tensor {
	gdouble norm, elements, scale2, exponent;
};

static struct gvar_tensor gvar_tensor(const struct tensor_statistics *tensor)
{
	struct gvar_tensor seen = { 1, 1, 1, 1 };
	gdouble scale = tensor->max_abs / INT8_STEPS;

	if (!tensor_is_known(tensor))
		return seen;
	seen.norm = isnan(tensor->norm) ? sqrt(tensor->norm2) : tensor->norm;
	seen.elements = tensor->elements;
	seen.scale2 = isnan(tensor->scale_norm2) ? scale * scale : tensor->scale_norm2;
	seen.exponent = clipped_exponent(to_half(sqrt(seen.norm / seen.elements)));
	return seen;
}

static struct indicator_harm gvar(const Indicator *indicator, guint32 operation,
				  enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	struct gvar_tensor v = gvar_tensor(&facts->tensors[STATISTICS_INPUT]);
	struct gvar_tensor w = gvar_tensor(&facts->tensors[STATISTICS_WEIGHT]);
	gdouble outputs = facts->is_product ? facts->n * facts->m * facts->groups
					    : facts->tensors[STATISTICS_OUTPUT].elements;
	gdouble norm = facts->accumulated_norm;
	gdouble exponent = clipped_exponent(facts->accumulated_max_abs);
	gdouble k = GVAR_INT8_K, forward, backward, small;

	if (number_format_significand(format) > 0)
		k = number_format_significand(format) - 2.0;
	small = exp2(-2 * k);
	if (number_format_significand(format) == 0) {
		forward = (w.norm * v.scale2 * v.elements + v.norm * w.scale2 * w.elements) / 6;
		backward = (norm * v.scale2 * v.elements +
			    v.norm * exp2(2 * v.exponent) * small * outputs) /
			   6;
	} else {
		forward = small *
			  (w.norm * v.elements * v.exponent + v.norm * w.elements * w.exponent) / 6;
		backward =
			small * (norm * v.elements * v.exponent + v.norm * outputs * exponent) / 6;
	}
	return known(GVAR_FORWARD_WEIGHT * (indicator->deepest - indicator->depth[operation]) *
				     forward +
			     indicator->depth[operation] * backward,
		     "input, max_abs or accumulated_weight_gradient");
}

/* --- all of them --------------------------------------------------------------------------------- */

/* Whether numbers of what the operation reads or gives become infinite. */
static gboolean overflows(const struct operation_statistics *operation, enum number_format format)
{
	for (guint i = 0; i <= STATISTICS_OUTPUT; i++) {
		const struct tensor_statistics *tensor = &operation->tensors[i];

		if (tensor->formats && tensor->formats[format].overflow > 0)
			return TRUE;
	}
	return FALSE;
}

struct indicator_harm indicator_harm_of(const Indicator *indicator, enum indicator_kind kind,
					guint32 operation, enum number_format format)
{
	if (is_harmless(indicator->statistics, format))
		return (struct indicator_harm){ 0, FALSE, NULL };
	if (overflows(operation_at(indicator->statistics, operation), format))
		return (struct indicator_harm){ INFINITY, FALSE, NULL };
	switch (kind) {
	case INDICATOR_LOSS:
		return loss(indicator, operation, format);
	case INDICATOR_GRADIENT:
		return gradient(indicator, operation, format);
	case INDICATOR_VARIANCE:
		return variance(indicator, operation, format);
	case INDICATOR_HESSIAN:
		return hessian(indicator, operation, format);
	case INDICATOR_DIRECT:
	case INDICATOR_DIRECT_GRADIENT:
		return direct(indicator, operation, format, kind == INDICATOR_DIRECT_GRADIENT);
	case INDICATOR_WVAR:
		return wvar(indicator, operation, format);
	case INDICATOR_GVAR:
		return gvar(indicator, operation, format);
	default:
		return hess(indicator, operation, format);
	}
}

struct indicator_harm indicator_mixed(const Indicator *indicator, const struct indicator_mix *mix,
				      guint32 operation, enum number_format format)
{
	struct indicator_harm sum = { 0, FALSE, NULL };

	for (guint i = 0; i < N_INDICATORS; i++) {
		struct indicator_harm one;

		if (mix->weights[i] == 0)
			continue;
		one = indicator_harm_of(indicator, (enum indicator_kind)i, operation, format);
		sum.harm += mix->weights[i] * one.harm;
		sum.is_derived = sum.is_derived || one.is_derived;
		if (one.missing)
			return one;
	}
	return sum;
}

/* --- in words ------------------------------------------------------------------------------------ */

static const gchar *const part_names[] = { "input", "weight", "output", "output gradient" };

static void append(GString *text, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void append(GString *text, const gchar *format, ...)
{
	va_list arguments;

	if (text->len)
		g_string_append(text, "; ");
	va_start(arguments, format);
	g_string_append_vprintf(text, format, arguments);
	va_end(arguments);
}

/* The tensor whose rounding changes the output most, relative to it; N_STATISTICS_TENSORS: none is known. */
static guint most_rounded(const TachoPrecisionStatistics *statistics,
			  const struct operation_statistics *operation, enum number_format format,
			  gdouble *ret_share)
{
	gdouble relative[2] = { 0 }, sum;

	for (guint i = 0; i < 2; i++) {
		const struct tensor_statistics *tensor = &operation->tensors[i];
		gboolean is_derived = FALSE;

		if (tensor_is_known(tensor) && tensor->norm2 > 0)
			relative[i] =
				error2_of(statistics, tensor, format, &is_derived) / tensor->norm2;
	}
	sum = relative[0] + relative[1];
	if (!(sum > 0))
		return N_STATISTICS_TENSORS;
	*ret_share = MAX(relative[0], relative[1]) / sum;
	return relative[0] >= relative[1] ? STATISTICS_INPUT : STATISTICS_WEIGHT;
}

static void append_range(GString *text, const struct tensor_statistics *tensor, guint part)
{
	gdouble rms = sqrt(tensor->norm2 / tensor->elements);

	if (rms > 0 && tensor->max_abs / rms > OUTLIER)
		append(text,
		       "the %s has outliers: its largest number is %.0f times its root mean square",
		       part_names[part], tensor->max_abs / rms);
}

/* Where the loss depends on the output more, or less, than on that of most operations. */
static void append_gradient(GString *text, const Indicator *indicator,
			    const struct operation_statistics *operation)
{
	gdouble rms = root_mean_square(&operation->tensors[STATISTICS_OUTPUT_GRADIENT]);
	gdouble ratio = indicator->usual_gradient > 0 ? rms / indicator->usual_gradient : 1;

	if (ratio >= MUCH)
		append(text, "the loss depends on its output %.1f times as much as on most", ratio);
	else if (rms > 0 && ratio <= 1 / MUCH)
		append(text, "the loss depends on its output %.1f times less than on most",
		       1 / ratio);
}

gchar *indicator_reason(const Indicator *indicator, guint32 operation, enum number_format format)
{
	const struct operation_statistics *facts = operation_at(indicator->statistics, operation);
	g_autoptr(GString) text = g_string_new(NULL);
	gdouble share = 0;
	guint most;

	for (guint i = 0; i <= STATISTICS_OUTPUT_GRADIENT; i++) {
		const struct tensor_statistics *tensor = &facts->tensors[i];

		if (tensor->formats && tensor->formats[format].overflow > 0)
			append(text, "%.3g %% of the %s's numbers become infinite",
			       100 * tensor->formats[format].overflow, part_names[i]);
		/* Source: a rule: a hundredth is seen in sums. If wrong, a reason is not the one that matters. */
		if (tensor->formats && tensor->formats[format].underflow > 0.01)
			append(text, "%.3g %% of the %s's numbers become 0",
			       100 * tensor->formats[format].underflow, part_names[i]);
	}
	most = facts->is_product ? most_rounded(indicator->statistics, facts, format, &share)
				 : N_STATISTICS_TENSORS;
	if (most < N_STATISTICS_TENSORS) {
		if (share < ALIKE)
			append(text, "its input and its weight err alike");
		else
			append(text, "%.0f %% of the output's error is from its %s", 100 * share,
			       part_names[most]);
		append_range(text, &facts->tensors[most], most);
	}
	append_gradient(text, indicator, facts);
	return g_string_free(g_steal_pointer(&text), FALSE);
}

/* A worker's device has the operation in the format. */
static gboolean is_allowed(const TachoPrecisionProblem *problem, guint32 operation,
			   enum number_format format)
{
	for (guint32 w = 0; w < problem->n_workers; w++)
		if (precision_cost_of(problem, w, operation, format)->is_allowed)
			return TRUE;
	return FALSE;
}

/* --- for a problem ------------------------------------------------------------------------------- */

guint32 indicator_find(const TachoPrecisionStatistics *statistics,
		       const struct precision_operation *operation)
{
	return precision_statistics_find(statistics, operation->module, operation->kind,
					 operation->ordinal);
}

gboolean indicator_fill(TachoPrecisionProblem *problem, const TachoPrecisionStatistics *statistics,
			const struct indicator_mix *mix, GError **error)
{
	g_autoptr(Indicator) indicator = indicator_new(statistics, problem);
	guint32 n_known = 0, n_chosen = 0, n_derived = 0;
	const gchar *missing = NULL;

	for (guint32 i = 0; i < problem->n_operations; i++) {
		struct precision_operation *operation = &problem->operations[i];
		guint32 row = indicator_find(statistics, operation);

		if (operation->rule != PRECISION_CHOSEN)
			continue;
		n_chosen++;
		operation->has_harm = FALSE;
		for (guint f = 0; row != G_MAXUINT32 && f < N_NUMBER_FORMATS; f++) {
			struct indicator_harm harm =
				indicator_mixed(indicator, mix, row, (enum number_format)f);

			/* a format of which nothing is known is not to be had */
			operation->harm[f] = harm.missing ? INFINITY : harm.harm;
			if (harm.missing)
				missing = harm.missing;
			else if (f != statistics->reference)
				operation->has_harm = TRUE;
			n_derived +=
				harm.is_derived && is_allowed(problem, i, (enum number_format)f);
		}
		n_known += operation->has_harm;
	}
	if (n_chosen > 0 && n_known == 0) {
		g_set_error(
			error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH,
			"the statistics tell the harm of none of the model's %u operations: %s%s",
			n_chosen, missing ? "they lack " : "they are of another model",
			missing ? missing : "");
		return FALSE;
	}
	if (n_known < n_chosen)
		g_ptr_array_add(
			problem->notes,
			g_strdup_printf("of %u of %u operations the statistics do not tell the "
					"harm: they keep their format",
					n_chosen - n_known, n_chosen));
	if (n_derived > 0)
		g_ptr_array_add(
			problem->notes,
			g_strdup_printf("%u rounding errors were not measured, but derived from "
					"norms and ranges",
					n_derived));
	return TRUE;
}
