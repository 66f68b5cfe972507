/* Who asked for a collective, where the backend's thread does not tell: by the tensor, by the moment, by order, and how far back.
 * Times are nanoseconds. */
#include <tacho/correlate.h>

#include "timeline_text.h"

/* "OP=", where it is sure, or "OP~" of the nth collective of that name; "" where nobody asked. */
static gchar *asker_of(const TachoTimeline *timeline, const gchar *name, guint nth)
{
	guint32 slice = timeline_find(timeline, name, nth);

	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE && flow->to == slice)
			return g_strdup_printf("%s@%d%s", tacho_slice_name(timeline, flow->from),
					       (gint)timeline->slices.start_ns[flow->from],
					       flow->is_exact ? "" : "?");
	}
	return g_strdup("");
}

static void check(const TachoTimeline *timeline, const gchar *name, guint nth,
		  const gchar *expected)
{
	g_autofree gchar *asker = asker_of(timeline, name, nth);

	g_assert_cmpstr(asker, ==, expected);
}

/* A thread of the backend that comes straight from another collective, within 100 us, had this one waiting; else it is what the
 * main thread does at that moment. */
static void test_picked_up(void)
{
	static const struct {
		guint begin_ns;
		const gchar *asker;
	} cases[] = {
		{ 200000, "" }, { 299999, "" }, { 300000, "work@0?" }, { 350000, "work@0?" }
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree gchar *text = g_strdup_printf("unit ns\nrank 0 pid=1 thread 1 main\n"
							 "op work 0..900000\n"
							 "thread 11\n"
							 "collective gloo:barrier 100000..200000\n"
							 "collective gloo:barrier %u..800000\n",
							 cases[i].begin_ns);
		g_autoptr(TachoTimeline) timeline = correlated(text);

		check(timeline, "gloo:barrier", 0, "work@0?");
		check(timeline, "gloo:barrier", 1, cases[i].asker);
	}
}

/* What is open on the collective's own thread asked for it, the innermost. */
static void test_own_thread(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit ns\nrank 0 pid=1 thread 1 main\n"
			   "op outer 0..100\n  op c10d::allreduce_ 10..50 in=float32[4]@0x100\n"
			   "  collective gloo:all_reduce 20..200 in=float32[4]@0x100\n"
			   "thread 11\n"
			   "collective gloo:all_reduce 300..400 in=float32[4]@0x100\n");

	check(timeline, "gloo:all_reduce", 0, "c10d::allreduce_@10");
	check(timeline, "gloo:all_reduce", 1, ""); /* that one has its collective */
}

/* An operation asks for a collective that begins no sooner, of the same tensor; of several the first. */
static void test_order(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit ns\nrank 0 pid=1 thread 1 main\n"
			   "op c10d::allreduce_ 0..1 in=float32[4]@0x100\n"
			   "op c10d::allreduce_ 10..11 in=float32[4]@0x200\n"
			   "op c10d::allreduce_ 20..21 in=float32[4]@0x100\n"
			   "op c10d::allreduce_ 1000000..1000001 in=float32[4]@0x300\n"
			   "op c10d::allreduce_ 2000000..2000001 in=float32[4]@0x400\n"
			   "thread 11\n"
			   "collective gloo:all_reduce 500000..500001 in=float32[4]@0x100\n"
			   "collective gloo:all_reduce 700000..700001 in=float32[4]@0x100\n"
			   "collective gloo:all_reduce 1000000..1000001 in=float32[4]@0x300\n"
			   "collective gloo:all_reduce 1500000..1500001 in=float32[4]@0x400\n"
			   "collective gloo:all_reduce 2500000..2500001 in=float32[4]@0x100+16\n");

	check(timeline, "gloo:all_reduce", 0, "c10d::allreduce_@0");
	check(timeline, "gloo:all_reduce", 1, "c10d::allreduce_@20");
	check(timeline, "gloo:all_reduce", 2, "c10d::allreduce_@1000000");
	check(timeline, "gloo:all_reduce", 3,
	      "c10d::allreduce_@10?"); /* 0x400 is asked for later */
	check(timeline, "gloo:all_reduce", 4, "c10d::allreduce_@2000000?");
}

/* Eight workers at most take collectives up at once: who asked as many before one that was found has lost its own. */
static void test_far_behind(void)
{
	g_autoptr(GString) text = g_string_new("unit ns\nrank 0 pid=1 thread 1 main\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint i = 0; i < 12; i++)
		g_string_append_printf(text,
				       "op c10d::allreduce_ %u..%u in=float32[4]@0x%x00\n"
				       "op c10d::broadcast_ %u..%u in=float32[4]@0x%x80\n",
				       10 * i, 10 * i + 1, i + 1, 10 * i + 2, 10 * i + 3, i + 1);
	g_string_append(text, "thread 11\n"
			      "collective gloo:all_reduce 500000..500001 in=float32[4]@0xc00\n"
			      "collective gloo:all_reduce 700000..700001 in=float32[4]@0x500\n"
			      "collective gloo:all_reduce 900000..900001 in=float32[4]@0x400\n"
			      "collective gloo:broadcast 1100000..1100001 in=float32[4]@0x180\n");
	timeline = correlated(text->str);
	check(timeline, "gloo:all_reduce", 0, "c10d::allreduce_@110");
	check(timeline, "gloo:all_reduce", 1, "c10d::allreduce_@40");  /* the seventh before it */
	check(timeline, "gloo:all_reduce", 2, "c10d::allreduce_@50?"); /* the eighth is forgotten */
	check(timeline, "gloo:broadcast", 0, "c10d::broadcast_@2");
}

/* No more than 256 wait for their collectives, in each process by itself. */
static void test_many_waiting(void)
{
	for (guint n = 255; n <= 256; n++) {
		g_autoptr(GString) text =
			g_string_new("unit ns\nrank 0 pid=1 thread 1 main\n"
				     "op c10d::gather_ 0..1 in=float32[4]@0x100\n");
		g_autoptr(TachoTimeline) timeline = NULL;

		for (guint i = 1; i <= n; i++)
			g_string_append_printf(text, "op c10d::allreduce_ %u..%u\n", 10 * i,
					       10 * i + 1);
		g_string_append(text, "thread 11\n"
				      "collective gloo:gather 500000..500001 in=float32[4]@0x100\n"
				      "rank 1 pid=2 thread 2 main\n");
		for (guint i = 1; i <= n; i++)
			g_string_append_printf(text, "op c10d::allreduce_ %u..%u\n", 10 * i,
					       10 * i + 1);
		timeline = correlated(text->str);
		check(timeline, "gloo:gather", 0, n == 255 ? "c10d::gather_@0" : "");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/queued_collective/picked_up", test_picked_up);
	g_test_add_func("/queued_collective/own_thread", test_own_thread);
	g_test_add_func("/queued_collective/order", test_order);
	g_test_add_func("/queued_collective/far_behind", test_far_behind);
	g_test_add_func("/queued_collective/many_waiting", test_many_waiting);
	return g_test_run();
}
