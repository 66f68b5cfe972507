/* Harm by hand, and against true errors of random products. */
#include <math.h>
#include <string.h>

#include "precision/indicator.h"

#define HEAD                                                                                       \
	"{\"tacho_precision_statistics\": 1, \"reference\": \"fp32\", \"steps\": 4, \"samples\": " \
	"10, \"operations\": ["
/* n 2, k 4, m 3; |X|^2 8 over 8 elements, |W|^2 6 over 12, |G|^2 3 over 6, |dX|^2 2, |Y|^2 5, |dW|^2 7; errors in int8 0.4, 0.6, 0.3 */
#define PRODUCT                                                                                    \
	"{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0, \"form\": \"product\", \"n\": " \
	"2, "                                                                                      \
	"\"k\": 4, \"m\": 3, "                                                                     \
	"\"input\": {\"elements\": 8, \"norm2\": 8, \"norm\": 2, \"max_abs\": 127, \"formats\": {" \
	"\"int8\": {\"error2\": 0.4}}}, "                                                          \
	"\"weight\": {\"elements\": 12, \"norm2\": 6, \"norm\": 3, \"max_abs\": 254, "             \
	"\"abs_sum\": 8, "                                                                         \
	"\"laplacian\": 0.5, \"formats\": {\"int8\": {\"error2\": 0.6, \"abs_sum\": 16, "          \
	"\"laplacian\": -0.25}}}, "                                                                \
	"\"output_gradient\": {\"elements\": 6, \"norm2\": 3, \"formats\": {\"int8\": "            \
	"{\"error2\": 0.3}}}, "                                                                    \
	"\"output\": {\"elements\": 6, \"norm2\": 5}, \"input_gradient\": {\"elements\": 8, "      \
	"\"norm2\": 2}, \"weight_gradient\": {\"elements\": 12, \"norm2\": 7}, "                   \
	"\"accumulated_weight_gradient\": {\"norm\": 5, \"max_abs\": 3}, "                         \
	"\"hessian_trace\": {\"mean\": 20, \"spread\": 1, \"probes\": 8}, "                        \
	"\"direct\": {\"int8\": {\"loss_change\": 0.125, \"gradient_change2\": 0.25}}}"
#define MAP                                                                                        \
	"{\"module\": \"b\", \"kind\": \"gelu\", \"ordinal\": 0, \"form\": \"map\", "              \
	"\"output\": {\"elements\": 4, \"norm2\": 9, \"formats\": {\"bf16\": {\"error2\": 0.02}, " \
	"\"fp16\": {\"error2\": 0.01, \"overflow\": 0.5}}}, "                                      \
	"\"output_gradient\": {\"elements\": 4, \"norm2\": 2, \"formats\": {\"bf16\": "            \
	"{\"error2\": 0.5}}}, "                                                                    \
	"\"input_gradient\": {\"elements\": 4, \"norm2\": 6}}"

static TachoPrecisionStatistics *parse(const gchar *text)
{
	g_autoptr(GError) error = NULL;
	TachoPrecisionStatistics *statistics =
		precision_statistics_parse(text, strlen(text), &error);

	g_assert_no_error(error);
	return statistics;
}

static gdouble harm_of(const Indicator *indicator, enum indicator_kind kind, guint32 operation,
		       enum number_format format)
{
	struct indicator_harm harm = indicator_harm_of(indicator, kind, operation, format);

	g_assert_null(harm.missing);
	return harm.harm;
}

/* V_output = (0.4*6 + 0.6*8 + 0.4*0.6) / 4 = 1.86; V_input_gradient = (0.3*6 + 0.6*3 + 0.3*0.6) / 3 = 1.26;
 * V_weight_gradient = (0.3*8 + 0.4*3 + 0.3*0.4) / 2 = 1.86 */
static void test_by_hand(void)
{
	g_autoptr(TachoPrecisionStatistics) statistics = parse(HEAD MAP "," PRODUCT "]}");
	g_autoptr(Indicator) indicator = indicator_new(statistics, NULL);
	struct indicator_variances variances;
	const gdouble near = 1e-12;

	indicator_variances_of(statistics, 1, FORMAT_INT8, &variances);
	g_assert_cmpfloat_with_epsilon(variances.output, 1.86, near);
	g_assert_cmpfloat_with_epsilon(variances.input_gradient, 1.26, near);
	g_assert_cmpfloat_with_epsilon(variances.weight_gradient, 1.86, near);
	g_assert_false(variances.is_derived);
	/* 10 / 2 * 3 * 1.86 / 6 */
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_LOSS, 1, FORMAT_INT8), 4.65,
				       near);
	/* the map has no weight: nothing is before */
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_GRADIENT, 1, FORMAT_INT8), 1.86,
				       near);
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_VARIANCE, 1, FORMAT_INT8),
				       1.86 / 5 + 1.26 / 2 + 1.86 / 7, near);
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_HESSIAN, 1, FORMAT_INT8),
				       20 * 0.6 / 12, near);
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_DIRECT, 1, FORMAT_INT8), ==, 0.125);
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_DIRECT_GRADIENT, 1, FORMAT_INT8), ==, 0.25);
	/* log2(1 + 8/8) and |-0.25 - 0.5| */
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_WVAR, 1, FORMAT_INT8), ==, 1);
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_HESS, 1, FORMAT_INT8), ==, 0.75);
	/* the reference harms nothing, and neither does what is wider */
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_LOSS, 1, FORMAT_FP32), ==, 0);
	g_assert_cmpfloat(harm_of(indicator, INDICATOR_GVAR, 1, FORMAT_FP64), ==, 0);
	/* of the map: 10 / 2 * 2 * 0.02 / 4; numbers overflow in fp16 */
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_LOSS, 0, FORMAT_BF16), 0.05,
				       near);
	g_assert_true(isinf(harm_of(indicator, INDICATOR_LOSS, 0, FORMAT_FP16)));
	g_assert_nonnull(indicator_harm_of(indicator, INDICATOR_WVAR, 0, FORMAT_BF16).missing);
}

/* Behind a product, a map adds to its weight's gradient: V_input_gradient = 0.5 * 6 / 2 = 1.5, over 6, times S = 3 * 8 / 2 = 12. */
static void test_before(void)
{
	g_autoptr(TachoPrecisionStatistics) statistics = parse(HEAD PRODUCT "," MAP "]}");
	g_autoptr(Indicator) indicator = indicator_new(statistics, NULL);

	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_GRADIENT, 1, FORMAT_BF16),
				       1.5 / 6 * 12, 1e-12);
}

/* Before a product like itself, a product adds the relative error of its output, 1.86 / 5, times S of the other, 3 * 8 / 2 = 12. */
static void test_behind(void)
{
	g_autoptr(GString) text = g_string_new(HEAD PRODUCT "," PRODUCT "]}");
	g_autoptr(TachoPrecisionStatistics) statistics = NULL;
	g_autoptr(Indicator) indicator = NULL;

	g_string_replace(text, "\"ordinal\": 0", "\"ordinal\": 1", 1);
	statistics = parse(text->str);
	indicator = indicator_new(statistics, NULL);
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_GRADIENT, 0, FORMAT_INT8),
				       1.86 + 1.86 / 5 * 12, 1e-12);
}

/* GVAR as it is coded, k = 9 for fp16: v: norm 2, 8 elements, sqrt(2/8) = 0.5 = 0.5 * 2^0, exponent 0; w: norm 3, 12 elements,
 * sqrt(3/12) = 0.5, exponent 0; g: norm 5, 3 = 0.75 * 2^2, exponent 2; depth 1 of 2.
 * fp16: F = 0; B = 2^-18 / 6 * (5*8*0 + 2*6*2). int8: Sv = 1, Sw = 2: F = (3*1*8 + 2*4*12) / 6 = 20, B = (5*1*8 + 2*1*2^-18*6) / 6. */
static void test_gvar(void)
{
	g_autoptr(TachoPrecisionStatistics) statistics = parse(
		HEAD MAP
		"," PRODUCT ","
		"{\"module\": \"c\", \"kind\": \"gelu\", \"ordinal\": 0, \"form\": \"map\"}]}");
	g_autoptr(Indicator) indicator = indicator_new(statistics, NULL);
	gdouble small = ldexp(1, -18);

	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_GVAR, 1, FORMAT_FP16),
				       small / 6 * 24, 1e-15);
	g_assert_cmpfloat_with_epsilon(harm_of(indicator, INDICATOR_GVAR, 1, FORMAT_INT8),
				       4 * 1 * 20 + (40 + 12 * small) / 6, 1e-9);
}

/* --- against true errors ------------------------------------------------------------------------- */

enum { ROWS = 64, SUM = 96, COLUMNS = 48 };

static gdouble normal(GRand *rand)
{
	gdouble sum = -6;

	for (guint i = 0; i < 12; i++)
		sum += g_rand_double(rand);
	return sum;
}

static gdouble to_bf16(gdouble value)
{
	gint exponent;

	frexp(value, &exponent);
	return nearbyint(ldexp(value, 8 - exponent)) * ldexp(1, exponent - 8);
}

static gdouble rounded(const gdouble *values, guint n, guint at, enum number_format format)
{
	gdouble most = 0;

	if (format == FORMAT_BF16)
		return to_bf16(values[at]);
	for (guint i = 0; i < n; i++)
		most = MAX(most, fabs(values[i]));
	return nearbyint(values[at] / (most / 127)) * (most / 127);
}

static gdouble *round_all(const gdouble *values, guint n, enum number_format format)
{
	gdouble *all = g_new(gdouble, n);

	for (guint i = 0; i < n; i++)
		all[i] = rounded(values, n, i, format);
	return all;
}

static void describe(GString *text, const gchar *name, const gdouble *values, guint n,
		     enum number_format format, gboolean is_measured)
{
	g_autofree gdouble *all = round_all(values, n, format);
	gdouble norm2 = 0, error2 = 0, most = 0;

	for (guint i = 0; i < n; i++) {
		norm2 += values[i] * values[i];
		error2 += (all[i] - values[i]) * (all[i] - values[i]);
		most = MAX(most, fabs(values[i]));
	}
	g_string_append_printf(text,
			       ", \"%s\": {\"elements\": %u, \"norm2\": %.17g, \"max_abs\": %.17g",
			       name, n, norm2, most);
	if (is_measured)
		g_string_append_printf(text, ", \"formats\": {\"%s\": {\"error2\": %.17g}}",
				       number_format_name(format), error2);
	g_string_append(text, "}");
}

/* |Q(X) Q(W)' - X W'|^2 */
static gdouble true_error(const gdouble *x, const gdouble *w, enum number_format format)
{
	g_autofree gdouble *qx = round_all(x, ROWS * SUM, format);
	g_autofree gdouble *qw = round_all(w, COLUMNS * SUM, format);
	gdouble error2 = 0;

	for (guint i = 0; i < ROWS; i++)
		for (guint j = 0; j < COLUMNS; j++) {
			gdouble difference = 0;

			for (guint s = 0; s < SUM; s++)
				difference += qx[i * SUM + s] * qw[j * SUM + s] -
					      x[i * SUM + s] * w[j * SUM + s];
			error2 += difference * difference;
		}
	return error2;
}

/* Measured errors predict the true one within 10 %, derived ones within 30 %. */
static void test_true_errors(void)
{
	static const enum number_format formats[] = { FORMAT_BF16, FORMAT_INT8 };
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);

	for (guint trial = 0; trial < 8; trial++) {
		enum number_format format = formats[trial % 2];
		gboolean is_measured = trial / 2 % 2 == 0, is_heavy = trial / 4;
		g_autofree gdouble *x = g_new(gdouble, ROWS * SUM),
				   *w = g_new(gdouble, COLUMNS * SUM);
		g_autoptr(GString) text = g_string_new(
			HEAD "{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0, \"form\": "
			     "\"product\", \"n\": 64, \"k\": 96, \"m\": 48");
		g_autoptr(TachoPrecisionStatistics) statistics = NULL;
		struct indicator_variances variances;
		gdouble ratio;

		for (guint i = 0; i < ROWS * SUM; i++)
			x[i] = is_heavy ? pow(normal(rand), 3) : normal(rand);
		for (guint i = 0; i < COLUMNS * SUM; i++)
			w[i] = normal(rand) / 16;
		describe(text, "input", x, ROWS * SUM, format, is_measured);
		describe(text, "weight", w, COLUMNS * SUM, format, is_measured);
		g_string_append(text, "}]}");
		statistics = parse(text->str);
		indicator_variances_of(statistics, 0, format, &variances);
		g_assert_cmpint(variances.is_derived, ==, !is_measured);
		ratio = variances.output / true_error(x, w, format);
		g_test_message("%s, %s: %.3f of the true error", number_format_name(format),
			       is_measured ? "measured" : "derived", ratio);
		g_assert_cmpfloat(fabs(log(ratio)), <, is_measured ? 0.1 : 0.3);
	}
}

/* --- files ---------------------------------------------------------------------------------------- */

static void test_refused(void)
{
	static const struct {
		const gchar *text, *reason;
	} wrong[] = {
		{ "", "is not an object" },
		{ "{\"steps\": 1}", "does not stand first" },
		{ "{\"tacho_precision_statistics\": 2}", "later tacho" },
		{ "{\"tacho_precision_statistics\": 1}", "'reference' is missing" },
		{ "{\"tacho_precision_statistics\": 1, \"reference\": \"int8\"",
		  "no floating format" },
		{ "{\"tacho_precision_statistics\": 1, \"steps\": 0}", "less than 1" },
		{ "{\"tacho_precision_statistics\": 1, \"steps\": 1.5}", "not a whole number" },
		{ "{\"tacho_precision_statistics\": 1, \"rank\": 1}", "there is no 'rank'" },
		{ HEAD MAP "," MAP "]}", "stands twice" },
		{ HEAD MAP, "ends within" },
		{ HEAD "{\"module\": \"a\"}]}", "'kind' is missing" },
		{ HEAD
		  "{\"module\": \"a\", \"kind\": \"b\", \"ordinal\": 0, \"form\": \"product\"}]}",
		  "'n' is missing" },
		{ HEAD "{\"module\": \"a\", \"kind\": \"b\", \"ordinal\": 0, \"form\": \"sum\"}]}",
		  "neither \"product\" nor" },
		{ HEAD "{\"input\": {\"elements\": 0, \"norm2\": 1}}]}", "less than 1" },
		{ HEAD "{\"input\": {\"elements\": 1, \"norm2\": -1}}]}", "not from" },
		{ HEAD "{\"input\": {\"elements\": 1, \"norm2\": nan}}]}", "finite number" },
		{ HEAD "{\"input\": {\"elements\": 1, \"norm2\": 1e999}}]}", "" },
		{ HEAD "{\"input\": {\"formats\": {\"fp12\": {}}}}]}", "no number format 'fp12'" },
		{ HEAD "{\"input\": {\"formats\": {\"int8\": {\"overflow\": 2}}}}]}",
		  "not from 0 to 1" },
		{ HEAD MAP "]} {}", "stands behind" },
		{ HEAD "{\"module\": \"a\\u000ab\"}]}", "control characters" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(
			precision_statistics_parse(wrong[i].text, strlen(wrong[i].text), &error));
		g_assert_nonnull(error);
		if (!strstr(error->message, wrong[i].reason))
			g_error("'%s' is refused with '%s'", wrong[i].text, error->message);
	}
}

static void test_mix(void)
{
	struct indicator_mix mix;
	g_autoptr(GError) error = NULL;

	g_assert_true(indicator_mix_parse("loss,gradient:0.5", &mix, NULL));
	g_assert_cmpfloat(mix.weights[INDICATOR_LOSS], ==, 1);
	g_assert_cmpfloat(mix.weights[INDICATOR_GRADIENT], ==, 0.5);
	g_assert_false(indicator_mix_parse("loss:0", &mix, NULL));
	g_assert_false(indicator_mix_parse("loss:1x", &mix, NULL));
	g_assert_false(indicator_mix_parse("los", &mix, &error));
	g_assert_nonnull(strstr(error->message, "gvar"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/indicator/by_hand", test_by_hand);
	g_test_add_func("/indicator/before", test_before);
	g_test_add_func("/indicator/behind", test_behind);
	g_test_add_func("/indicator/gvar", test_gvar);
	g_test_add_func("/indicator/true_errors", test_true_errors);
	g_test_add_func("/indicator/refused", test_refused);
	g_test_add_func("/indicator/mix", test_mix);
	return g_test_run();
}
