/* Work that is scaled, dropped, or slower on some ranks, by hand: what is meant by each kind and choice of ranks. Times are
 * microseconds. */
#include "predicted.h"
#include "timeline_text.h"

/* Between operations 10 and 10 within the region and 20 and 50 outside of it; a and b take 20 each, the wait 20, c 50 of which a
 * call takes 20. */
static const gchar thread[] = "unit us\n"
			      "rank 0 thread 1000 main\n"
			      "  annotation ProfilerStep#0 0..200\n"
			      "    annotation region 0..60\n"
			      "      module Net 10..50\n"
			      "        op a 10..30\n"
			      "        op b 30..50\n"
			      "    wait lock 60..80\n"
			      "    op c 100..150\n"
			      "      runtime cudaMalloc 110..130\n";

/* A kind means what is called so, and all within it; calls within them are the host's. */
static void test_kinds(void)
{
	assert_predicted(thread, "", 200);
	assert_predicted(thread, "scale:op~^a$=2", 220);
	assert_predicted(thread, "scale:op~^a$=0.25", 185);
	assert_predicted(thread, "scale:op~^c$=2", 250);
	assert_predicted(thread, "scale:op~^[ac]$=2", 270);
	assert_predicted(thread, "scale:op~.=2", 290);
	assert_predicted(thread, "scale:module~Net=2", 240);
	assert_predicted(thread, "scale:annotation~region=2", 260);
	assert_predicted(thread, "scale:host~region=2", 220);
	assert_predicted(thread, "scale:host~ProfilerStep=2", 270);
	assert_predicted(thread, "scale:host~.=2", 310);
	assert_predicted(thread, "scale:host~Malloc=2", 220);
	assert_predicted(thread, "scale:wait~lock=2", 220);
	assert_predicted(thread, "scale:runtime~Malloc=2", 220);
	assert_predicted(thread, "drop:op~^c$", 150);
	assert_predicted(thread, "drop:runtime~.", 180);
	assert_predicted(thread, "scale:op~^a$=2;scale:module~Net=2", 280);
	assert_predicted(thread, "straggler:0=2", 380);
}

/* The host launches within 15 us; the device waits for launches, copies and fills, and the host for it at the end. */
static const gchar device[] = "unit us\n"
			      "rank 0 thread 1000 main\n"
			      "  annotation ProfilerStep#0 0..200\n"
			      "    op a 0..5\n      runtime cudaLaunchKernel 0..5\n"
			      "    op b 5..10\n      runtime cudaMemcpyAsync 5..10\n"
			      "    op c 10..15\n      runtime cudaMemsetAsync 10..15\n"
			      "    runtime cudaDeviceSynchronize 15..200\n"
			      "  stream 7\n"
			      "    kernel gemm 20..80 launch=cudaLaunchKernel\n"
			      "    memcpy copy 80..120 launch=cudaMemcpyAsync\n"
			      "    memset fill 120..190 launch=cudaMemsetAsync\n";

/* What a device does is of the operation that launched it, too, but not of the call. */
static void test_devices(void)
{
	assert_predicted(device, "", 200);
	assert_predicted(device, "scale:kernel~gemm=2", 260);
	assert_predicted(device, "scale:memcpy~copy=2", 240);
	assert_predicted(device, "scale:memset~fill=2", 270);
	assert_predicted(device, "scale:kernel~.=0.5", 170);
	assert_predicted(device, "drop:memset~.", 130);
	assert_predicted(device, "scale:op~^b$=2", 240);
	assert_predicted(device, "scale:op~^c$=3", 340);
	assert_predicted(device, "scale:runtime~Memset=3", 200);
}

#define RANK(rank, us)                                                                             \
	"rank " #rank " thread 100" #rank " main\n"                                                \
	"  annotation ProfilerStep#0 0.." #us "\n    op a 0.." #us "\n"

static const gchar four_ranks[] = "unit us\n" RANK(0, 100) RANK(1, 100) RANK(2, 100) RANK(3, 100);
static const gchar odd_ranks[] = "unit us\n" RANK(1, 100) RANK(5, 100);

/* Ranks are as the launcher numbers them. */
static void test_ranks(void)
{
	assert_predicted(four_ranks, "straggler:1=2", 125);
	assert_predicted(four_ranks, "straggler:0,2=2", 150);
	assert_predicted(four_ranks, "straggler:0-2=2", 175);
	assert_predicted(four_ranks, "straggler:0,2-3=2", 175);
	assert_predicted(four_ranks, "straggler:1,1=2", 125);
	assert_predicted(four_ranks, "straggler:3-3=2", 125);
	assert_predicted(four_ranks, "scale:1-3:op~a=2", 175);
	assert_predicted(four_ranks, "drop:0,3:op~a", 50);
	assert_predicted(odd_ranks, "straggler:5=3", 200);
	assert_refused(odd_ranks, "straggler:0=3", "the run has no rank 0");
	assert_refused(four_ranks, "straggler:4=3", "the run has no rank 4");
	assert_refused(four_ranks, "straggler:2-4=3", "the run has no rank 4");
	assert_refused(four_ranks, "scale:9:op~a=3", "the run has no rank 9");
}

/* What a rank held only in what it does not do any more is not held. */
static void test_memory(void)
{
	static const gchar held[] = "unit us\n" RANK(
		0, 100) "  alloc 10 address=16 bytes=1000\n  free 90 address=16 "
			"bytes=1000\n" RANK(1, 100) "  alloc 10 address=16 bytes=700\n  free "
						    "90 address=16 bytes=700\n";
	static const struct {
		const gchar *what_if;
		gint64 bytes;
	} cases[] = { { "scale:op~a=0.5", 1000 }, { "drop:0:op~a", 700 }, { "drop:1:op~a", 1000 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		TachoTimeline *timeline = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoPrediction) prediction = NULL;

		timeline = timeline_from_text(held);
		prediction = predict(timeline, cases[i].what_if, &error);
		g_assert_no_error(error);
		g_assert_cmpint(prediction->predicted_peak_memory_bytes, ==, cases[i].bytes);
		g_clear_pointer(&prediction, tacho_prediction_free);
		tacho_timeline_free(timeline);
	}
}

static void test_refusals(void)
{
	static const struct {
		const gchar *what_if, *reason;
	} cases[] = {
		{ "scale:kernel~K=2", "the steps have no kernel with that name" },
		{ "drop:module~Other", "the steps have no module with that name" },
		{ "scale:opp~a=2", "'opp' is not a kind of work; did you mean 'op'?" },
		{ "scale:op~=2", "REGEX is empty" },
		{ "scale:op~(=2", "what-if 'scale:op~(=2': " },
		{ "scale:loade=2", "did you mean 'loader'?" },
		{ "scale:kernl=2", "did you mean 'kernel~.'?" },
		{ "scale:zzzzzz=2",
		  "what it is about is loader, wait, or KIND~REGEX, as in op~mm or "
		  "kernel~gemm" },
		{ "scale:wait=2", "how long ranks wait for each other follows from their work" },
		{ "drop:0:wait", "how long ranks wait for each other follows from their work" },
		{ "scale:0:collective~x=2", "a collective belongs to all its ranks" },
		{ "scale:op~a=1000001x", "write scale:KIND~REGEX=F" },
		{ "scale:op~a", "write scale:KIND~REGEX=F" },
		{ "scale:2-1:op~a=2", "write ranks as 4, 4-7 or 0,4-7" },
		{ "scale:0-:op~a=2", "write ranks as 4, 4-7 or 0,4-7" },
		{ "scale:0,:op~a=2", "write ranks as 4, 4-7 or 0,4-7" },
		{ "scale:0op~a=2", "write a ':' after the ranks" },
		{ "straggler:0:2", "write straggler:RANKS=F" },
		{ "straggler:a=2", "write straggler:RANKS=F" },
		{ "straggler:0x=2", "write a '=' after the ranks" },
		{ "cores=0", "write cores=N, with N from 1 to 65536" },
		{ "cores=65537", "write cores=N, with N from 1 to 65536" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		assert_refused(thread, cases[i].what_if, cases[i].reason);
}

/* Steps of 40, 20 and 40 us behind the first. What is first of its name in a step has the middle of all that are first, and so on;
 * a step that has none more has none. */
static void test_durations(void)
{
	static const gchar steps[] = "unit us\n"
				     "rank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 0..100\n    op a 0..100\n"
				     "  annotation ProfilerStep#1 100..140\n"
				     "    op a 100..110\n    op a 110..140\n"
				     "  annotation ProfilerStep#2 140..160\n    op a 140..160\n"
				     "  annotation ProfilerStep#3 160..200\n"
				     "    op b 160..180\n    op a 180..200\n";

	assert_predicted(steps, "durations=measured", 40);
	assert_predicted(steps, "durations=mean", 20 + 50 / 3.0);
	assert_predicted(steps, "durations=median", 40);
	assert_predicted(steps, "durations=median;drop:op~b", 20);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_work/kinds", test_kinds);
	g_test_add_func("/what_if_work/devices", test_devices);
	g_test_add_func("/what_if_work/ranks", test_ranks);
	g_test_add_func("/what_if_work/memory", test_memory);
	g_test_add_func("/what_if_work/durations", test_durations);
	g_test_add_func("/what_if_work/refusals", test_refusals);
	return g_test_run();
}
