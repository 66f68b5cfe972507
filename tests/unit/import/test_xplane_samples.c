/* Real XSpaces, with what their origins expect of them: the README beside them names each. */
#include <string.h>
#include <tacho/correlate.h>

#include "base/interval_set.h"
#include "foreign_traces.h"

/* Events of the file: slices, and memory events. */
static guint64 count_events(const TachoTimeline *timeline)
{
	return (guint64)timeline->slices.n + timeline->memory->len;
}

static gint64 measure_busy(const TachoTimeline *timeline, gint32 device)
{
	struct interval_set set;
	gint64 measured_ns;

	interval_set_init(&set);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);

		if (track->kind == TACHO_TRACK_STREAM && track->device == device)
			interval_set_add(&set, timeline->slices.start_ns[i],
					 tacho_slice_end_ns(timeline, i));
	}
	interval_set_normalize(&set);
	measured_ns = interval_set_measure(&set, 0, TACHO_MAX_TIME_NS);
	interval_set_release(&set);
	return measured_ns;
}

static guint count_launched(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint count = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 launch = timeline->slices.launch[i];

		count += timeline->slices.kind[i] == kind && launch != TACHO_NONE &&
			 timeline->slices.kind[launch] == TACHO_SLICE_RUNTIME;
	}
	return count;
}

/* X1 */
static void test_legacy(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_sample("xplane/tracelens/jax_conv_minimal_legacy.xplane.pb");

	if (!timeline)
		return;
	g_assert_cmpuint(count_events(timeline), ==, 6024);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 25);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 53);
	g_assert_cmpuint(count_launched(timeline, TACHO_SLICE_KERNEL), ==, 25);
	g_assert_cmpuint(count_launched(timeline, TACHO_SLICE_MEMCPY), ==, 53);
	/* processes 1 and 8 there are devices 0 and 7 */
	g_assert_cmpint(measure_busy(timeline, 0), ==, 889028);
	g_assert_cmpint(measure_busy(timeline, 7), ==, 3586493);
	for (gint32 device = 1; device < 7; device++)
		g_assert_cmpint(measure_busy(timeline, device), ==, 0);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

static void test_newer(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_sample("xplane/tracelens/jax_conv_minimal_08.xplane.pb");

	if (!timeline)
		return;
	g_assert_cmpuint(count_events(timeline), ==, 3650);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL), ==, 235);
	g_assert_cmpuint(timeline->devices->len, ==, 8);
	for (gint32 device = 0; device < 8; device++) {
		const TachoDevice *row = &g_array_index(timeline->devices, TachoDevice, device);

		g_assert_cmpint(row->number, ==, device);
		g_assert_cmpuint(row->n_multiprocessors, >, 100);
		g_assert_cmpuint(row->memory_bytes, >, G_GUINT64_CONSTANT(100000000000));
		g_assert_cmpuint(row->peak_bytes_per_s, >, G_GUINT64_CONSTANT(1000000000000));
		g_assert_cmpint(measure_busy(timeline, device), >, 0);
	}
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* X1 */
static void test_fused_attention(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_sample("xplane/tracelens/jax_te_fused_attn.xplane.pb");
	guint n_fills = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(count_events(timeline), ==, 1992);
	g_assert_cmpuint(count_launched(timeline, TACHO_SLICE_KERNEL), ==, 150);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		g_autofree gchar *args = NULL;

		if (strcmp(tacho_slice_name(timeline, i), "__amd_rocclr_fillBufferAligned.kd") != 0)
			continue;
		g_assert_cmpuint(timeline->slices.kind[i], ==, TACHO_SLICE_KERNEL);
		args = tacho_slice_args_json(timeline, i);
		n_fills += strstr(args, "\"hlo_op\":\"te_fused_attn") != NULL;
	}
	g_assert_cmpuint(n_fills, >=, 10);
}

static void test_tpu(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_sample("xplane/xprof/tpu_inference_2.xplane.pb");
	TachoKernelArgs kernel;
	gdouble flops = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(count_events(timeline), ==, 26723);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 12);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 600);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_KERNEL) {
			g_assert_cmpuint(timeline->slices.launch[i], !=, TACHO_NONE);
			if (tacho_slice_kernel(timeline, i, &kernel))
				flops += (gdouble)kernel.flops;
		}
	g_assert_cmpfloat(flops, >, 0);
}

static void test_damaged(void)
{
	g_autofree gchar *path = foreign_sample("xplane/tracelens/jax_te_fused_attn.xplane.pb");

	if (path)
		foreign_damage(path, 150);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/xplane_samples/legacy", test_legacy);
	g_test_add_func("/xplane_samples/newer", test_newer);
	g_test_add_func("/xplane_samples/fused_attention", test_fused_attention);
	g_test_add_func("/xplane_samples/tpu", test_tpu);
	g_test_add_func("/xplane_samples/damaged", test_damaged);
	return g_test_run();
}
