/* Real profiles of TensorFlow, with what was counted in the files themselves. */
#include <math.h>
#include <string.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"

/* ResNet on CIFAR-10: 848 nodes ran in each of 11 steps; 32 variables are trained. */
static void test_resnet(void)
{
	g_autoptr(TachoTimeline) timeline =
		foreign_open_sample("tfprof/resnet_dist/profile_100.gz");
	g_autoptr(GHashTable) trainable = g_hash_table_new(NULL, NULL);
	gdouble parameters = 0;
	guint n_made = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 848 * 11);
	g_assert_cmpuint(timeline->steps->len, ==, 11);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		TachoToldOp told;

		n_made += tacho_slice_maker(timeline, i, 0) != 0;
		g_assert_true(tacho_slice_told(timeline, i, &told));
		if (!told.tags ||
		    !strstr(tacho_timeline_string(timeline, told.tags), "_trainable_variables") ||
		    isnan(told.parameters) ||
		    !g_hash_table_add(trainable, GUINT_TO_POINTER(timeline->slices.name[i])))
			continue;
		parameters += told.parameters;
	}
	g_assert_cmpuint(g_hash_table_size(trainable), ==, 32);
	g_assert_cmpfloat(parameters, ==, 78330);
	g_assert_cmpuint(n_made, ==, 6226); /* those with a stack, or of a gradient */
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* MNIST on a GPU: executors of a CPU and a GPU, three streams, all of it told twice. */
static void test_mnist(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open_sample("tfprof/dorsal");
	guint n_launched = 0;

	if (!timeline)
		return;
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_OP), ==, 60 + 174);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_KERNEL) +
				 foreign_count_kind(timeline, TACHO_SLICE_MEMCPY),
			 ==, 94 + 6 + 29);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_MEMCPY), ==, 37);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_ANNOTATION), ==, 92 + 37);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		n_launched += timeline->slices.kind[i] == TACHO_SLICE_KERNEL &&
			      timeline->slices.launch[i] != TACHO_NONE;
	g_assert_cmpuint(n_launched, ==, 92);
	g_assert_cmpuint(timeline->steps->len, ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* A slice for each 'X' of the files. */
static void test_timelines(void)
{
	static const struct {
		const gchar *name;
		guint n_slices, n_memory, n_samples;
	} files[] = {
		{ "trace_CNNGender_tf_700-15ISK.json", 443, 0, 0 },
		{ "dlprof_feeddict_timeline_01.json", 472, 0, 0 },
		{ "mnist_timeline_xla.ctf.json", 43, 0, 0 },
		{ "trace_addition_tfprof_All-Series.json", 5, 6, 6 },
		{ "trace_logreg_memory_All-Series.json", 83, 140, 158 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *name = g_strdup_printf("timeline/tf/%s", files[i].name);
		g_autoptr(TachoTimeline) timeline = foreign_open_sample(name);

		if (!timeline)
			return;
		g_assert_cmpuint(timeline->slices.n, ==, files[i].n_slices);
		g_assert_cmpuint(timeline->memory->len, ==, files[i].n_memory);
		g_assert_cmpuint(timeline->samples->len, ==, files[i].n_samples);
		g_assert_cmpuint(timeline->steps->len, ==, 1);
		g_assert_cmpuint(timeline->problems->len, ==, 0);
	}
}

static void test_damaged(void)
{
	static const gchar *const names[] = { "tfprof/dorsal/run_meta", "tfprof/dorsal/graph.pbtxt",
					      "tfprof/dorsal/tfprof_log",
					      "tfprof/resnet_dist/profile_100.gz",
					      "timeline/tf/trace_logreg_memory_All-Series.json" };
	static const guint n_copies[] = { 40, 12, 40, 2, 40 };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = foreign_sample(names[i]);

		if (!path)
			return;
		foreign_damage(path, n_copies[i]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tensorflow_samples/resnet", test_resnet);
	g_test_add_func("/tensorflow_samples/mnist", test_mnist);
	g_test_add_func("/tensorflow_samples/timelines", test_timelines);
	g_test_add_func("/tensorflow_samples/damaged", test_damaged);
	return g_test_run();
}
