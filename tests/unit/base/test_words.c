/* The word that was meant, and none where nobody can tell. */
#include <tacho/words.h>

#include <string.h>

static const gchar *const views[] = { "step",	"op",	 "kernel",	 "comm",      "straggler",
				      "memory", "queue", "memory_curve", "breakdown", NULL };

static void expect(const gchar *word, const gchar *meant)
{
	const gchar *nearest = tacho_nearest_word(word, views);

	g_assert_cmpstr(nearest, ==, meant);
}

static void test_nearest(void)
{
	expect("kernal", "kernel");  /* changed */
	expect("kernels", "kernel"); /* added */
	expect("strangler", "straggler");
	expect("stragler", "straggler"); /* left out */
	expect("stpe", "step");		 /* swapped */
	expect("Kernel", "kernel");
	expect("memory-curve", "memory_curve");
	expect("strag", "straggler"); /* begun */
	expect("mem", "memory");
	expect("break", "breakdown");
	expect("steps", "step");
}

static void test_none(void)
{
	g_autofree gchar *endless = g_strnfill(100000, 'a');

	expect("weather", NULL);
	expect("", NULL);
	expect("x", NULL);
	expect("xy", NULL);
	expect("network", NULL);
	expect(endless, NULL);
	g_assert_null(tacho_nearest_word("step", (const gchar *const[]){ NULL }));
}

static void test_sentence(void)
{
	static const gchar *const few[] = { "auto", "tsc", NULL };
	g_autofree gchar *near = tacho_did_you_mean("atuo", few);
	g_autofree gchar *far = tacho_did_you_mean("monday", few);

	g_assert_cmpstr(near, ==, "; did you mean 'auto'? There are: auto, tsc");
	g_assert_cmpstr(far, ==, "; there are: auto, tsc");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/words/nearest", test_nearest);
	g_test_add_func("/words/none", test_none);
	g_test_add_func("/words/sentence", test_sentence);
	return g_test_run();
}
