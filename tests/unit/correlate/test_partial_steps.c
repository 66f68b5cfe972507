/* Steps of which records were removed, of whichever of the rank's processes, are incomplete; those of other ranks are not. */
#include <tacho/correlate.h>

#include "timeline_text.h"

static const gchar two_ranks[] = "rank 0 thread 1 main\n"
				 "mark step 100 first=0\n  op a 110..120\n"
				 "mark step 200 first=1\n  op a 210..220\n"
				 "mark step 300 first=2\n  op a 310..320\n"
				 "mark step 400 first=3\n"
				 "process 33 thread 33 loader\n  wait batch 250..260\n"
				 "rank 1 thread 1 main\n"
				 "mark step 100 first=0\n  op a 110..120\n"
				 "mark step 200 first=1\n  op a 210..220\n"
				 "mark step 300 first=2\n";

static void cut(TachoTimeline *timeline, guint32 pid, gint64 whole_from_ms)
{
	for (guint i = 0; i < timeline->processes->len; i++) {
		TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, i);

		if (process->pid != pid)
			continue;
		process->is_cut = TRUE;
		process->whole_from_ns = whole_from_ms * 1000000;
	}
}

/* "1" for each step that is complete, "0" for the others, rank by rank. */
static gchar *tell_steps(TachoTimeline *timeline)
{
	GString *text = g_string_new(NULL);

	tacho_correlate(timeline);
	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		if (i &&
		    step->rank_index != g_array_index(timeline->steps, TachoStep, i - 1).rank_index)
			g_string_append_c(text, ' ');
		g_string_append_c(text, step->is_complete ? '1' : '0');
	}
	return g_string_free(text, FALSE);
}

static void check(guint32 pid, gint64 whole_from_ms, const gchar *expected)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(two_ranks);
	g_autofree gchar *found = NULL;

	if (pid)
		cut(timeline, pid, whole_from_ms);
	found = tell_steps(timeline);
	g_assert_cmpstr(found, ==, expected);
}

static void test_partial(void)
{
	check(0, 0, "1110 110");
	check(1000, 100, "1110 110"); /* a step that begins there is whole */
	check(1000, 101, "0110 110");
	check(1000, 250, "0010 110");
	check(33, 250, "0010 110"); /* a worker's loss is its rank's */
	check(1001, 900, "1110 000");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/partial_steps", test_partial);
	return g_test_run();
}
