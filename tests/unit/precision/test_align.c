/* Sequences that are the same but for some elements; against all pairs tried. */
#include <string.h>

#include <glib.h>
#include <tacho/timeline.h>

#include "precision/align.h"

/* Letters; a capital is like its small letter. */
static guint like(guint32 a, guint32 b, gconstpointer data)
{
	const gchar *const *texts = data;

	return g_ascii_tolower(texts[0][a]) == g_ascii_tolower(texts[1][b]);
}

static guint32 *align(const gchar *first, const gchar *second, gboolean with_likeness)
{
	const gchar *texts[] = { first, second };
	guint32 n = (guint32)strlen(first), m = (guint32)strlen(second);
	g_autofree guint64 *a = g_new0(guint64, n + 1), *b = g_new0(guint64, m + 1);

	for (guint32 i = 0; i < n; i++)
		a[i] = (guint64)first[i];
	for (guint32 i = 0; i < m; i++)
		b[i] = (guint64)second[i];
	return align_sequences(a, n, b, m, with_likeness ? like : NULL, texts);
}

/* The match of each letter of the first, as a digit; '-': none. */
static void assert_aligned(const gchar *first, const gchar *second, gboolean with_likeness,
			   const gchar *expected)
{
	g_autofree guint32 *match = align(first, second, with_likeness);
	GString *found = g_string_new(NULL);

	for (guint i = 0; first[i]; i++)
		g_string_append_c(found, match[i] == TACHO_NONE ? '-' : (gchar)('0' + match[i]));
	g_assert_cmpstr(found->str, ==, expected);
	g_string_free(found, TRUE);
}

static void test_plain(void)
{
	assert_aligned("", "abc", FALSE, "");
	assert_aligned("abc", "", FALSE, "---");
	assert_aligned("abc", "abc", FALSE, "012");
	assert_aligned("abc", "axbxc", FALSE, "024"); /* casts before b and c */
	assert_aligned("axbxc", "abc", FALSE, "0-1-2");
	assert_aligned("aaa", "aa", FALSE, "01-");
}

/* Kernels that changed are found by what they are like, in their gap alone. */
static void test_alike(void)
{
	assert_aligned("abc", "aBc", FALSE, "0-2");
	assert_aligned("abc", "aBc", TRUE, "012");
	assert_aligned("abbc", "axBxBc", TRUE, "0245");
	assert_aligned("abc", "acB", TRUE,
		       "0-1"); /* what is equal counts first, and matches do not cross */
}

/* The longest common subsequence, by all pairs. */
static guint longest(const gchar *first, const gchar *second)
{
	guint n = (guint)strlen(first), m = (guint)strlen(second);
	g_autofree guint *best = g_new0(guint, (n + 1) * (m + 1));

	for (guint i = n; i-- > 0;)
		for (guint j = m; j-- > 0;)
			best[i * (m + 1) + j] = first[i] == second[j]
							? best[(i + 1) * (m + 1) + j + 1] + 1
							: MAX(best[(i + 1) * (m + 1) + j],
							      best[i * (m + 1) + j + 1]);
	return best[0];
}

static void test_random(void)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(16);

	for (guint round = 0; round < 3000; round++) {
		gchar first[40] = "", second[40] = "";
		guint n = (guint)g_rand_int_range(random, 0, 39), n_letters = 1 + round % 6,
		      n_found = 0;
		guint m = (guint)g_rand_int_range(random, 0, 39);
		g_autofree guint32 *match = NULL;
		guint32 last = 0;

		for (guint i = 0; i < n; i++)
			first[i] = (gchar)('a' + g_rand_int_range(random, 0, (gint32)n_letters));
		for (guint i = 0; i < m; i++)
			second[i] = (gchar)('a' + g_rand_int_range(random, 0, (gint32)n_letters));
		match = align(first, second, FALSE);
		for (guint i = 0; i < n; i++) {
			if (match[i] == TACHO_NONE)
				continue;
			g_assert_cmpuint(match[i], <, m);
			g_assert_cmpint(first[i], ==, second[match[i]]);
			g_assert_true(n_found == 0 || match[i] > last);
			last = match[i];
			n_found++;
		}
		g_assert_cmpuint(n_found, ==, longest(first, second));
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/align/plain", test_plain);
	g_test_add_func("/align/alike", test_alike);
	g_test_add_func("/align/random", test_random);
	return g_test_run();
}
