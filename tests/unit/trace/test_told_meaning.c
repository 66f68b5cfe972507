/* told_meaning: what an importer says wins over the name, in whichever order; it can be listed and told again. */
#include "trace/told_meaning.h"

static void test_wins(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	guint32 copy = tacho_timeline_intern(timeline, "cudaMemcpy", -1);
	guint32 wait = tacho_timeline_intern(timeline, "Wait 3", -1);

	g_assert_cmpint(call_kind_of_name(timeline, wait), ==, CALL_OTHER);
	tell_call(timeline, wait, CALL_EVENT_SYNC);
	tell_call(timeline, copy, CALL_OTHER);
	g_assert_cmpint(call_kind_of_name(timeline, wait), ==, CALL_EVENT_SYNC);
	g_assert_cmpint(call_kind_of_name(timeline, copy), ==, CALL_OTHER);
	tell_call(timeline, wait, CALL_FREE); /* the last word */
	g_assert_cmpint(call_kind_of_name(timeline, wait), ==, CALL_FREE);
	/* as another's name it is judged as before */
	g_assert_cmpint(region_kind_of_name(timeline, wait), ==, REGION_OTHER);
	tell_region(timeline, wait, REGION_RENDEZVOUS);
	tell_operation(timeline, wait, OPERATION_PUSH_PULL);
	g_assert_cmpint(region_kind_of_name(timeline, wait), ==, REGION_RENDEZVOUS);
	g_assert_cmpint(operation_of_name(timeline, wait), ==, OPERATION_PUSH_PULL);
	g_assert_cmpint(call_kind_of_name(timeline, wait), ==, CALL_FREE);
	tell_call(timeline, TACHO_NONE, CALL_FREE); /* no such name: nothing happens */
}

static void test_words(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	guint32 from = tacho_timeline_intern(timeline, "a", -1);
	guint32 to = tacho_timeline_intern(timeline, "b", -1);
	struct told_words words[N_NAMES_OF];

	g_assert_cmpint(call_kind_of_name(timeline, from), ==, CALL_OTHER);
	g_assert_cmpuint(told_meaning_list(timeline, from, words), ==, 0); /* judged, not told */
	tell_call(timeline, from, CALL_STREAM_SYNC);
	tell_operation(timeline, from, OPERATION_UNTOLD);
	g_assert_cmpuint(told_meaning_list(timeline, from, words), ==, 2);
	g_assert_cmpstr(words[0].of, ==, "call");
	g_assert_cmpstr(words[0].meaning, ==, "STREAM_SYNC");
	g_assert_cmpstr(words[1].of, ==, "collective");
	g_assert_cmpstr(words[1].meaning, ==, "UNTOLD");
	for (guint i = 0; i < 2; i++)
		told_meaning_restore(timeline, to, words[i].of, words[i].meaning);
	told_meaning_restore(timeline, to, "call", "of a later version");
	told_meaning_restore(timeline, to, "of a later version", "COPY");
	g_assert_cmpint(call_kind_of_name(timeline, to), ==, CALL_STREAM_SYNC);
	g_assert_cmpuint(told_meaning_list(timeline, to, words), ==, 2);
}

/* What reads more out of names of a kind takes any name. */
static void test_any_name(void)
{
	static const struct {
		const gchar *name;
		gint64 number;
	} steps[] = {
		{ "iteration 12 of 20", 12 }, { "ProfilerStep#-1", -1 }, { "x", 0 }, { "", 0 }
	};
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
		guint32 name = tacho_timeline_intern(timeline, steps[i].name, -1);

		tell_region(timeline, name, REGION_STEP);
		g_assert_cmpint(region_kind_of_name(timeline, name), ==, REGION_STEP);
		g_assert_cmpint(region_step_number(timeline, name), ==, steps[i].number);
		tell_region(timeline, name, REGION_EVALUATE);
		g_assert_cmpstr(region_evaluated(timeline, name), ==, steps[i].name);
	}
}

static void test_copy(void)
{
	g_autoptr(TachoTimeline) from = tacho_timeline_new();
	g_autoptr(TachoTimeline) to = tacho_timeline_new();
	guint32 there = tacho_timeline_intern(from, "cudaFree", -1);
	guint32 here = tacho_timeline_intern(to, "cudaFree", -1);

	told_meaning_copy(to, here, from, there);
	g_assert_cmpint(call_kind_of_name(to, here), ==, CALL_FREE);
	tell_call(from, there, CALL_EVENT_SYNC);
	told_meaning_copy(to, here, from, there);
	g_assert_cmpint(call_kind_of_name(to, here), ==, CALL_EVENT_SYNC);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/told_meaning/wins", test_wins);
	g_test_add_func("/told_meaning/words", test_words);
	g_test_add_func("/told_meaning/any_name", test_any_name);
	g_test_add_func("/told_meaning/copy", test_copy);
	return g_test_run();
}
