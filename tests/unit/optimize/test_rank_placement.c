/* Ranks on hosts, by hand; and what is said of a job whose groups are apart. */
#include <tacho/correlate.h>
#include <tacho/optimize.h>

#include <string.h>

#include "optimize/rank_placement.h"
#include "timeline_text.h"

static void add_group(GArray *groups, gdouble bytes, guint32 first, guint32 second)
{
	struct placed_group group = { g_array_new(FALSE, FALSE, sizeof(guint32)), bytes };

	g_array_append_val(group.ranks, first);
	g_array_append_val(group.ranks, second);
	g_array_append_val(groups, group);
}

/* 0 and 2 send 100, 1 and 3 100, 0 and 1 10, 2 and 3 10: two hosts of two have 0 1 | 2 3, where 2 * 200 go; with 0 2 | 1 3 only 2 * 20 do. */
static void test_pairs(void)
{
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct placed_group));
	guint32 host_of[] = { 0, 0, 1, 1 };

	add_group(groups, 100, 0, 2);
	add_group(groups, 100, 1, 3);
	add_group(groups, 10, 0, 1);
	add_group(groups, 10, 2, 3);
	g_assert_cmpfloat(rank_placement_bytes(groups, host_of), ==, 400);
	g_assert_cmpfloat(rank_placement_improve(groups, 4, host_of), ==, 40);
	g_assert_cmpuint(host_of[0], ==, host_of[2]);
	g_assert_cmpuint(host_of[1], ==, host_of[3]);
	g_assert_cmpuint(host_of[0], !=, host_of[1]);
	for (guint i = 0; i < groups->len; i++)
		g_array_unref(g_array_index(groups, struct placed_group, i).ranks);
}

#define RANK(rank, host, group, ranks)                                                             \
	"rank " #rank " host=" #host " thread 10" #rank " main\n"                                  \
	"  mark process_group 0 first=" #group " text='ranks=" ranks "'\n"                         \
	"  annotation ProfilerStep#0 0..100\n"                                                     \
	"    op work 0..10\n"                                                                      \
	"    collective nccl:all_reduce 10..50 bytes=1000000 group=" #group "\n"                   \
	"    op more 50..100\n"

static gboolean has_note(const gchar *text, const gchar *words)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(TachoOptimization) found = NULL;
	TachoRecording recording = { "job", timeline };
	TachoOptimizeOptions options = { .seed = 1, .first_step = -1, .last_step = -1 };

	tacho_correlate(timeline);
	found = tacho_optimize(&recording, 1, &options, NULL);
	g_assert_nonnull(found);
	for (guint i = 0; i < found->notes->len; i++)
		if (strstr(found->notes->pdata[i], words))
			return TRUE;
	for (guint i = 0; i < found->notes->len; i++)
		g_test_message("%s", (const gchar *)found->notes->pdata[i]);
	return FALSE;
}

static void test_job(void)
{
	static const gchar apart[] = "unit us\n" RANK(0, a, 1, "0,2") RANK(1, a, 2, "1,3")
		RANK(2, b, 1, "0,2") RANK(3, b, 2, "1,3");
	static const gchar together[] = "unit us\n" RANK(0, a, 1, "0,1") RANK(1, a, 1, "0,1")
		RANK(2, b, 2, "2,3") RANK(3, b, 2, "2,3");

	g_assert_true(has_note(apart, "placed as 2 0 | 1 3") ||
		      has_note(apart, "placed as 0 2 | 1 3") ||
		      has_note(apart, "placed as 1 3 | 0 2"));
	g_assert_true(has_note(apart, "send 100 % fewer bytes from host to host"));
	g_assert_false(has_note(together, "fewer bytes from host to host"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/rank_placement/pairs", test_pairs);
	g_test_add_func("/rank_placement/job", test_job);
	return g_test_run();
}
