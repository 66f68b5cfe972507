/* Which ranks a list of ranks names, and which texts are none. */
#include <glib.h>

#include "trace/rank_list.h"

static void test_has(void)
{
	g_assert_true(rank_list_has("0,7", 0));
	g_assert_true(rank_list_has("0,7", 7));
	g_assert_false(rank_list_has("0,7", 1));
	g_assert_false(rank_list_has("0,70", 7));
	g_assert_true(rank_list_has("3-5,8", 4));
	g_assert_true(rank_list_has("3-5,8", 8));
	g_assert_false(rank_list_has("3-5,8", 6));
	g_assert_false(rank_list_has("0", -1));
	g_assert_false(rank_list_has("", 0));
	/* what is right before the fault counts; who asks has looked whether there is one */
	g_assert_true(rank_list_has("1,x", 1));
}

static void test_valid(void)
{
	static const char *const right[] = { "0", "0,7", "0-3", "0-3,8,10-11", "99999999", "5-5" };
	static const char *const wrong[] = { "",     ",",     "0,",	   ",0",  "a",
					     "0-",   "-1",    "3-1",	   "0 1", "0x1",
					     "1,,2", "1-2-3", "100000000", "+1" };

	for (guint i = 0; i < G_N_ELEMENTS(right); i++)
		g_assert_true(rank_list_is_valid(right[i]));
	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		g_assert_false(rank_list_is_valid(wrong[i]));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank_list/has", test_has);
	g_test_add_func("/rank_list/valid", test_valid);
	return g_test_run();
}
