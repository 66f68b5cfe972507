/* How much kernels of a device run at once, and that a change which brings them together is told of. Times are
 * microseconds. */
#include "predicted.h"
#include "timeline_text.h"

/* Kernels of two streams, 50 and 40 us, one after the other; on two devices where `device` is 1. */
#define TWO_STREAMS(device)                                                                        \
	"unit us\n"                                                                                \
	"rank 0 thread 1000 main\n"                                                                \
	"  annotation ProfilerStep#0 0..300\n"                                                     \
	"    runtime lA 0..5\n"                                                                    \
	"    runtime lB 50..55\n"                                                                  \
	"  stream 7 s7\n"                                                                          \
	"    kernel A 10..60 launch=lA\n"                                                          \
	"  stream 8 s8 device=" device "\n"                                                        \
	"    kernel B 60..100 launch=lB\n"

static void assert_overlap(const gchar *text, const gchar *what_if, gdouble recorded_pct,
			   gdouble predicted_pct, gboolean is_noted)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = predict(timeline, what_if, &error);

	g_assert_no_error(error);
	g_assert_cmpfloat_with_epsilon(prediction->baseline_kernel_overlap_pct, recorded_pct, 1e-6);
	g_assert_cmpfloat_with_epsilon(prediction->predicted_kernel_overlap_pct, predicted_pct,
				       1e-6);
	g_assert_true(has_note(prediction, "several kernels at once") == is_noted);
}

static void test_newly(void)
{
	assert_overlap(TWO_STREAMS("0"), "", 0, 0, FALSE);
	assert_overlap(TWO_STREAMS("0"), "scale:kernel~A=2", 0, 40, TRUE);
	assert_overlap(TWO_STREAMS("1"), "scale:kernel~A=2", 0, 0, FALSE);
}

/* What ran at once when it was recorded is no news. */
static void test_as_recorded(void)
{
	static const gchar text[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..300\n"
				    "    runtime lA 0..5\n"
				    "    runtime lB 20..25\n"
				    "  stream 7 s7\n"
				    "    kernel A 10..60 launch=lA\n"
				    "  stream 8 s8\n"
				    "    kernel B 30..60 launch=lB\n";

	assert_overlap(text, "", 60, 60, FALSE);
	assert_overlap(text, "scale:kernel~B=0.5", 60, 30, FALSE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel-overlap/newly", test_newly);
	g_test_add_func("/kernel-overlap/as-recorded", test_as_recorded);
	return g_test_run();
}
