/* What casts take, by samples whose lines can be drawn by hand. */
#include <math.h>
#include <string.h>

#include "precision/casts.h"

static const gchar whole[] =
	"{\"tacho_casts\": 1, \"device\": \"a processor\", \"torch\": \"1.13.0\", \"casts\": [\n"
	" {\"from\": \"fp32\", \"to\": \"bf16\",\n"
	"  \"samples\": [[100, 1000], [300, 1400], [1000, 2800], [2000, 6000]]}]}";

static gdouble ns_of(const struct casts *casts, enum number_format from, enum number_format to,
		     gdouble elements)
{
	return casts_ns(casts, from, to, elements, NULL);
}

static void test_lines(void)
{
	g_autoptr(casts) casts = casts_parse(whole, strlen(whole), NULL);
	gboolean is_estimated;

	g_assert_nonnull(casts);
	g_assert_cmpstr(casts->device, ==, "a processor");
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 100), ==, 1000);
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 10), ==,
			  1000); /* a call has its price */
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 200), ==, 1200);
	g_assert_cmpfloat_with_epsilon(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 650), 2100, 1e-6);
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 4000), ==, 12000);
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_FP32, 4000), ==, 0);
	/* the other way round moves as many bytes; to 64 bits twice as many */
	g_assert_cmpfloat(casts_ns(casts, FORMAT_BF16, FORMAT_FP32, 200, &is_estimated), ==, 1200);
	g_assert_true(is_estimated);
	g_assert_cmpfloat_with_epsilon(
		casts_ns(casts, FORMAT_FP32, FORMAT_FP64, 200, &is_estimated), 2400, 1e-6);
	g_assert_true(is_estimated);
	casts_ns(casts, FORMAT_FP32, FORMAT_BF16, 200, &is_estimated);
	g_assert_false(is_estimated);
}

static void test_nothing(void)
{
	g_autoptr(casts) casts = casts_new();
	g_autoptr(TachoTable) table = NULL;

	casts_fit(casts);
	table = casts_table(casts);
	g_assert_cmpfloat(ns_of(casts, FORMAT_FP32, FORMAT_BF16, 100), <, 0);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 0);
}

/* 1200 and 800 that fall are pooled, each weighed by 1 / ns^2: (1/1200 + 1/800) / (1/1200^2 + 1/800^2) = 923.08. */
static void test_pooled(void)
{
	g_autoptr(casts) casts = casts_new();

	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 10, 100);
	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 30, 800);
	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 20, 1200);
	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 40, 2000);
	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 40, (gdouble)NAN);
	casts_add(casts, FORMAT_FP32, FORMAT_FP16, 40, -1);
	casts_fit(casts);
	g_assert_cmpfloat_with_epsilon(ns_of(casts, FORMAT_FP32, FORMAT_FP16, 20), 923.0769, 1e-3);
	g_assert_cmpfloat_with_epsilon(ns_of(casts, FORMAT_FP32, FORMAT_FP16, 30), 923.0769, 1e-3);
	for (gdouble n = 1, before = 0; n < 100; n++) {
		gdouble ns = ns_of(casts, FORMAT_FP32, FORMAT_FP16, n);

		g_assert_cmpfloat(ns, >=, before);
		before = ns;
	}
}

/* Of five samples the third is left out: on the line between its neighbours it is right, else wrong by what it is off. */
static void test_held_out(void)
{
	for (guint is_off = 0; is_off < 2; is_off++) {
		g_autoptr(casts) casts = casts_new();
		const struct cast_pair *pair = &casts->pairs[FORMAT_FP32][FORMAT_BF16];

		for (guint i = 1; i <= 5; i++)
			casts_add(casts, FORMAT_FP32, FORMAT_BF16, i,
				  i == 3 && is_off ? 330 : 100.0 * i);
		casts_fit(casts);
		g_assert_cmpuint(pair->n_held_out, ==, 1);
		g_assert_cmpfloat_with_epsilon(pair->error, is_off ? log(1.1) : 0, 1e-9);
	}
}

static void assert_refused(const gchar *text, gint code, const gchar *reason)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(casts_parse(text, strlen(text), &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, code);
	if (!strstr(error->message, reason))
		g_error("'%s' is not in '%s'", reason, error->message);
}

#define PAIR(text) "{\"tacho_casts\": 1, \"casts\": [" text "]}"
#define GOOD	   "{\"from\": \"fp32\", \"to\": \"bf16\", \"samples\": [[1, 1]]}"

static void test_refused(void)
{
	static const struct {
		const gchar *text, *reason;
	} wrong[] = {
		{ "", "not an object" },
		{ "{\"casts\": []}", "'tacho_casts' is missing" },
		{ PAIR("[]"), "not an object" },
		{ PAIR("{\"from\": \"fp32\", \"to\": \"bf16\"}"), "'samples' is missing" },
		{ PAIR("{\"from\": \"fp32\", \"to\": \"fp32\", \"samples\": [[1, 1]]}"),
		  "same one" },
		{ PAIR(GOOD ", " GOOD), "twice" },
		{ PAIR("{\"from\": \"fp32\", \"to\": \"bf16\", \"samples\": [[1, 0]]}"),
		  "takes is not from" },
		{ PAIR("{\"from\": \"fp32\", \"to\": \"bf16\", \"samples\": [[0.5, 1]]}"),
		  "has is not from" },
		{ PAIR("{\"from\": \"fp32\", \"to\": \"bf16\", \"samples\": [[1, 1, 1]]}"),
		  "[ELEMENTS, NS]" },
		{ PAIR(GOOD), NULL },
	};

	for (guint i = 0; wrong[i].reason; i++)
		assert_refused(wrong[i].text, TACHO_PRECISION_ERROR_FORMAT, wrong[i].reason);
	assert_refused("{\"tacho_casts\": 3}", TACHO_PRECISION_ERROR_VERSION, "version 3");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/casts/lines", test_lines);
	g_test_add_func("/casts/nothing", test_nothing);
	g_test_add_func("/casts/pooled", test_pooled);
	g_test_add_func("/casts/held_out", test_held_out);
	g_test_add_func("/casts/refused", test_refused);
	return g_test_run();
}
