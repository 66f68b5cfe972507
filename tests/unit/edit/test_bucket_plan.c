/* Which gradients go together, by PyTorch's rule and by Horovod's: lists of sizes, and the number of each one's bucket. */
#include "edit/bucket_plan.h"

enum { MAX_GRADIENTS = 64 };

/* "100 50 10h": bytes in float32, or with a letter in a type of that name. */
static guint32 read_gradients(const gchar *text, struct graph_gradient *gradients,
			      gchar types[MAX_GRADIENTS][2])
{
	g_auto(GStrv) words = g_strsplit(text, " ", -1);
	guint32 n = 0;

	for (; words[n]; n++) {
		gchar *end;

		gradients[n] =
			(struct graph_gradient){ .bytes = g_ascii_strtoull(words[n], &end, 10) };
		types[n][0] = *end;
		types[n][1] = '\0';
		gradients[n].dtype = types[n];
	}
	return n;
}

static void check(const gchar *sizes, guint64 first_cap, guint64 cap, const gchar *expected,
		  guint32 n_expected)
{
	struct graph_gradient gradients[MAX_GRADIENTS];
	gchar types[MAX_GRADIENTS][2];
	guint32 n = read_gradients(sizes, gradients, types), buckets[MAX_GRADIENTS];
	g_autoptr(GString) found = g_string_new(NULL);
	guint32 n_buckets = first_cap ? bucket_plan(gradients, n, first_cap, cap, buckets)
				      : buffer_plan(gradients, n, cap, buckets);

	for (guint32 i = 0; i < n; i++)
		g_string_append_printf(found, "%s%u", i ? " " : "", buckets[i]);
	g_assert_cmpstr(found->str, ==, expected);
	g_assert_cmpuint(n_buckets, ==, n_expected);
}

/* A bucket is full as soon as it has its cap; the first one's is smaller; what is left is one more. */
static void test_buckets(void)
{
	check("40 60 100 90 10 5", 100, 200, "0 0 1 1 1 2", 3);
	check("40 59 100 90 10", 100, 200, "0 0 0 1 1", 2);
	check("100 200 200", 100, 200, "0 1 2", 3);
	check("99 1 199 1 199", 100, 200, "0 0 1 1 2", 3);
	check("500 1", 100, 200, "0 1", 2);
	check("7", 100, 200, "0", 1);
}

/* Types do not mix, each has a first bucket of its own, and numbers are in the order in which buckets are full; of those left,
 * in the order in which their types came. */
static void test_types(void)
{
	check("60 60h 40 40h", 100, 200, "0 1 0 1", 2);
	check("60h 60 40 40h", 100, 200, "1 0 0 1", 2);
	check("60h 60 50 30h 150 20", 100, 200, "1 0 0 1 2 2", 3);
	check("10h 10", 100, 200, "0 1", 2);
	check("100 10h 10", 100, 200, "0 2 1", 3);
}

/* Beyond sixteen types, those that come later share the last one's. */
static void test_many_types(void)
{
	check("1a 1b 1c 1d 1e 1f 1g 1h 1i 1j 1k 1l 1m 1n 1o 1p 1q 1r 1a", 100, 200,
	      "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 15 15 0", 16);
}

/* A buffer takes what still fits, and what is too large for any is alone. */
static void test_buffers(void)
{
	check("40 60 1 99 100", 0, 100, "0 0 1 1 2", 3);
	check("40 61 39 1", 0, 100, "0 1 1 2", 3);
	check("500 1 99 1", 0, 100, "0 1 1 2", 3);
	check("10 500 10", 0, 100, "0 1 2", 3);
	check("40 40h 60 60h 1h", 0, 100, "0 1 0 1 2", 3);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/bucket_plan/buckets", test_buckets);
	g_test_add_func("/bucket_plan/types", test_types);
	g_test_add_func("/bucket_plan/many_types", test_many_types);
	g_test_add_func("/bucket_plan/buffers", test_buffers);
	return g_test_run();
}
