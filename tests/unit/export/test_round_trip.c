/* A run that was exported comes back as it was: every view of it says the same, and exported again it is the same, byte for
 * byte. The many samples of others are compared by `make round-trip`. */
#include <glib/gstdio.h>
#include <string.h>

#include <tacho/analyze.h>
#include <tacho/correlate.h>
#include <tacho/export.h>
#include <tacho/import.h>
#include <tacho/info.h>

#include "base/order.h"
#include "foreign_traces.h"
#include "timeline_text.h"
#include "trace/slice_args.h"
#include "trace/told_meaning.h"
#include "trace_lines.h"

/* Two ranks of hosts of which one's clock is ahead; every kind of slice, track, arrow and problem. */
static const gchar everything[] =
	"origin 1700000000123456789\n"
	"world 3\n"
	"rank 0 host=a ppid=7 local=0 world=3 command='python3 train.py' end=exited:0 dropped=12 "
	"cost_ns=99  thread 10 main parent=9\n"
	"  annotation ProfilerStep#0 0..100\n"
	"  op aten::mm 10..40.000007 seq=3 in=float32[8,16]@0x1000+64 in=int64 "
	"out=float32[8,8]@0x2000\n"
	"    kernel sgemm 15..30 flops=2048 bytes=1536 dims=8x8x16 text='a \"b\"'\n"
	"    alloc 16 address=0x3000 bytes=64\n"
	"    mark moment 16.5 first=-1 second=2 text=why\n"
	"  runtime cudaLaunchKernel 51..52\n"
	"  free 51 address=0x3000 bytes=64\n"
	"  alloc 52 address=0xfffffffffffffff0 bytes=9223372036854775807 device=1\n"
	"  annotation \"two | words\" 53..54 id=18446744073709551615\n"
	"  op later 58..59\n" /* tables keep the order in which they came where they are equal */
	"  op sooner 56..57\n"
	"  annotation ProfilerStep#1 100..200\n"
	"  op aten::mm 110..140 seq=4 in=float32[8,16]\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 in=float32[1024]\n"
	"  collective gloo:all_reduce 140..180 bytes=4096 group=7\n"
	"  message send 182..183 bytes=100 fd=5 local=10.0.0.1:29500 peer=10.0.0.2:29501\n"
	"  message recv 184..185 bytes=7 receive fd=5 local=10.0.0.1:29500 peer=10.0.0.2:29501\n"
	"  sample loss 101 17\n"
	"  sample loss 99 -3.14159265358979\n"
	"  mark late 400\n"
	"device 1 'Tesla V100-SXM2-16GB'\n"
	"device 0 'Tesla V100-SXM2-32GB'\n"
	"thread 12\n"
	"  op Node 150.25..151 backward seq=3 fwd=1\n"
	"stream 7 'stream 7' device=1\n"
	"  annotation first 154..180\n"
	"    kernel gemm 155..170 launch=cudaLaunchKernel bytes=8\n"
	"    kernel other 160..175\n"
	"  memcpy 'Memcpy HtoD' 186..187\n"
	"process 33 thread 33 loader\n"
	"  wait batch 1..2 repaired\n"
	"  alloc 1 address=1 bytes=10\n"
	"rank 1 host=b pid=1000 end=killed:9  thread 10 main\n"
	"  annotation ProfilerStep#0 0..100\n"
	"  op aten::mm 10..\n"
	"    op aten::add 20..50\n"
	"  annotation ProfilerStep#1 100..200\n"
	"  collective gloo:all_reduce 125..190 bytes=4096 group=7\n"
	"  collective gloo:all_reduce 145..180 bytes=4096 group=7\n"
	"  message recv 182..184 bytes=100 receive fd=6 local=10.0.0.2:29501 peer=10.0.0.1:29500\n"
	"problem lost_records 3 'somewhere at byte 7'\n";

static TachoTimeline *new_timeline(void)
{
	TachoTimeline *timeline = correlated(everything);

	return timeline;
}

static TachoTimeline *open_runs(const gchar *const *paths, guint n)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_run_open(paths, n, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	return timeline;
}

/* --- exports on disk ------------------------------------------------------------------------ */

static const gchar *const formats[] = { "chrome", "perfetto", "ctf" };

/* An export in a folder of its own, to be ended with remove_export(). */
static gchar *export_to(const gchar *format, const TachoTimeline *timeline,
			const TachoExportOptions *options)
{
	const TachoExportTarget *target = tacho_export_find(format, NULL);
	g_autofree guint8 *bytes = NULL;
	g_autofree gchar *name = g_strdup_printf("run.%s", target->ending);
	g_autoptr(GError) error = NULL;
	gchar *path;
	gsize n;

	if (target->write) {
		bytes = export_to_memory(target, timeline, options, &n);
		return foreign_write(name, (const gchar *)bytes, n);
	}
	path = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_assert_true(target->write_folder(timeline, options, path, &error));
	g_assert_no_error(error);
	return path;
}

static void remove_export(gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	if (!entries) {
		foreign_remove(path);
		return;
	}
	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *file = g_build_filename(path, name, NULL);

		g_unlink(file);
	}
	g_rmdir(path);
	g_free(path);
}

/* Names, sizes and sums of what an export wrote. */
static gchar *sum_of(const gchar *path)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	GString *text = g_string_new(NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries)))
		g_ptr_array_add(names, g_build_filename(path, name, NULL));
	if (!entries)
		g_ptr_array_add(names, g_strdup(path));
	g_ptr_array_sort(names, order_text);
	for (guint i = 0; i < names->len; i++) {
		g_autofree gchar *bytes = NULL, *base = g_path_get_basename(names->pdata[i]);
		g_autofree gchar *sum = NULL;
		gsize n;

		g_assert_true(g_file_get_contents(names->pdata[i], &bytes, &n, NULL));
		sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
		g_string_append_printf(text, "%s %" G_GSIZE_FORMAT " %s\n", base, n, sum);
	}
	return g_string_free(text, FALSE);
}

/* --- what is said of a run ------------------------------------------------------------------ */

static const struct {
	const gchar *name;
	TachoTable *(*view)(const TachoTimeline *timeline, const TachoFilter *filter);
} views[] = {
#define VIEW(name, parts, text) { #name, tacho_view_##name },
	TACHO_VIEWS(VIEW)
#undef VIEW
};

static gchar *view_text(guint view, const TachoTimeline *timeline, gint32 rank)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	filter.rank = rank;
	table = views[view].view(timeline, &filter);
	tacho_table_print_json(table, out);
	g_assert_cmpint(fclose(out), ==, 0);
	return text;
}

/* Without the paths. */
static gchar *info_text(const TachoTimeline *timeline)
{
	g_autoptr(TachoInfo) info = tacho_info_new(timeline);
	g_autoptr(GRegex) paths = g_regex_new("\"path\":\"[^\"]*\"", 0, 0, NULL);
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	gchar *plain;

	tacho_info_print_json(info, out);
	g_assert_cmpint(fclose(out), ==, 0);
	plain = g_regex_replace_literal(paths, text, -1, 0, "", 0, NULL);
	free(text);
	return plain;
}

static void assert_same_views(const TachoTimeline *timeline, gint32 rank, const TachoTimeline *back)
{
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autofree gchar *expected = view_text(i, timeline, rank);
		g_autofree gchar *found = view_text(i, back, rank);

		if (strcmp(expected, found) != 0)
			g_test_message("view %s differs", views[i].name);
		g_assert_cmpstr(found, ==, expected);
	}
}

static void assert_same(const TachoTimeline *timeline, const TachoTimeline *back)
{
	g_autofree gchar *expected = info_text(timeline), *found = info_text(back);
	g_autofree gchar *lines = trace_lines_of_timeline(timeline);
	g_autofree gchar *lines_back = trace_lines_of_timeline(back);

	g_assert_cmpstr(found, ==, expected);
	g_assert_cmpstr(lines_back, ==, lines);
	g_assert_cmpuint(tacho_trust_score(back), ==, tacho_trust_score(timeline));
	assert_same_views(timeline, -1, back);
}

/* --- there and back ------------------------------------------------------------------------- */

/* Through every format, the timeline being as it was after each. */
static void go_there_and_back(const TachoTimeline *timeline)
{
	static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;

	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		gchar *path = export_to(formats[i], timeline, &all), *again;
		g_autoptr(TachoTimeline) back = open_runs((const gchar *const *)&path, 1);
		g_autofree gchar *sum = sum_of(path), *sum_again = NULL;

		g_test_message("%s", formats[i]);
		g_assert_cmpuint(back->slices.n, ==, timeline->slices.n);
		assert_same(timeline, back);
		again = export_to(formats[i], back, &all);
		sum_again = sum_of(again);
		g_assert_cmpstr(sum_again, ==, sum);
		remove_export(again);
		remove_export(path);
	}
}

static void test_everything(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();

	g_assert_cmpuint(timeline->collectives->len, >, 0);
	g_assert_cmpuint(timeline->messages->len, >, 0);
	g_assert_cmpuint(timeline->steps->len, >, 0);
	g_assert_cmpuint(timeline->flows->len, >, 3);
	go_there_and_back(timeline);
}

/* A job that was profiled twice: the numbers of its steps go back. */
static void test_steps_again(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 10 main\n"
				   "  annotation ProfilerStep#4 0..10\n    op a 1..9\n"
				   "  annotation ProfilerStep#5 10..20\n    op a 11..19\n"
				   "  annotation ProfilerStep#0 30..40\n    op a 31..39\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, 3);
	go_there_and_back(timeline);
}

/* More than fit a block, of several tables. */
static void test_many(void)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread 1 main\n", rank);
		for (guint i = 0; i < 20000; i++)
			g_string_append_printf(text, "op op%u %u..%u in=float32[%u,2]\n", i % 777,
					       2 * i, 2 * i + 1, i);
	}
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	go_there_and_back(timeline);
}

/* What each of tests/data holds, and some of others'. */
static void test_samples(void)
{
	static const gchar *const ours[] = {
		"byteprofile_ring", "byteprofile_tree", "byteps_servers",
		"chrome",	    "devices",		"dpro",
		"execution_trace",  "horovod",		"kineto",
		"kineto_gloo",	    "memory",		"nccl",
		"nccl_tests",	    "onednn",		"rocm",
		"rocm_csv",	    "tensorflow",	"two_ranks",
		"xplane",
	};
	static const gchar *const theirs[] = {
		"timeline/horovod",
		"nccl/nccl_profiler",

		"ctf/tracecompass/mpi_ssend_irecv",
		"timeline/tf/mnist_timeline.ctf.json",
	};

	for (guint i = 0; i < G_N_ELEMENTS(ours); i++) {
		g_autofree gchar *folder = g_build_filename(TACHO_TEST_DATA, ours[i], NULL);
		g_autoptr(TachoTimeline) timeline = NULL;

		timeline = open_runs((const gchar *[]){ folder }, 1);
		g_test_message("%s", ours[i]);
		go_there_and_back(timeline);
	}
	for (guint i = 0; i < G_N_ELEMENTS(theirs); i++) {
		g_autofree gchar *path = foreign_sample(theirs[i]);
		g_autoptr(TachoTimeline) timeline = NULL;

		if (!path)
			return;
		timeline = open_runs((const gchar *[]){ path }, 1);
		g_test_message("%s", theirs[i]);
		go_there_and_back(timeline);
	}
}

/* --- parts ---------------------------------------------------------------------------------- */

/* The views of a rank are those of the export of that rank, but for what others' slices say in them. */
static void test_one_rank(void)
{
	static const gchar *const own[] = { "step",   "op",	"kernel", "scope",  "code",
					    "memory", "device", "idle",	  "launch", NULL };
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;

	options.rank = 1;
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		gchar *path = export_to(formats[i], timeline, &options);
		g_autoptr(TachoTimeline) back = open_runs((const gchar *const *)&path, 1);

		g_assert_cmpuint(back->ranks->len, ==, 1);
		g_assert_cmpint(g_array_index(back->ranks, TachoRank, 0).rank, ==, 1);
		g_assert_cmpint(back->expected_ranks, ==, 3);
		g_assert_cmpuint(back->collectives->len, ==, 2);
		g_assert_cmpuint(g_array_index(back->collectives, TachoCollective, 0).n_expected,
				 ==, 3);
		for (guint view = 0; view < G_N_ELEMENTS(views); view++) {
			g_autofree gchar *expected = NULL, *found = NULL;

			if (!g_strv_contains(own, views[view].name))
				continue;
			expected = view_text(view, timeline, 1);
			found = view_text(view, back, 1);
			g_assert_cmpstr(found, ==, expected);
		}
		remove_export(path);
	}
}

/* A step: what begins in it, and nothing else. */
static void test_one_step(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;

	options.first_step = options.last_step = 1;
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		gchar *path = export_to(formats[i], timeline, &options);
		g_autoptr(TachoTimeline) back = open_runs((const gchar *const *)&path, 1);

		g_assert_cmpuint(back->ranks->len, ==, 2);
		g_assert_cmpuint(back->steps->len, ==, 2);
		g_assert_cmpuint(g_array_index(back->steps, TachoStep, 0).number, ==, 1);
		g_assert_cmpuint(back->collectives->len, ==, timeline->collectives->len);
		g_assert_cmpuint(back->memory->len, ==, 0);
		timeline_find(back, "gemm", 0);
		for (guint32 slice = 0; slice < back->slices.n; slice++)
			g_assert_cmpint(back->slices.start_ns[slice], >=, 100000000);
		remove_export(path);
	}
}

/* Slices of both by the same name, in their order, have the same args. */
static void assert_same_args(const TachoTimeline *timeline, const TachoTimeline *back)
{
	static const gchar *const names[] = { "aten::mm",    "sgemm", "gemm",
					      "two | words", "send",  "gloo:all_reduce" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		struct slice_args left, right;
		guint32 slice = timeline_find(timeline, names[i], 0);
		guint32 other = timeline_find(back, names[i], 0);

		slice_args_init(&left);
		slice_args_init(&right);
		slice_args_of_slice(&left, timeline, slice, NULL);
		slice_args_of_slice(&right, back, other, NULL);
		g_assert_cmpuint(left.n, ==, right.n);
		for (guint k = 0; k < left.n; k++) {
			g_assert_cmpint(left.args[k].key, ==, right.args[k].key);
			if (left.args[k].type == SLICE_ARG_TYPE_UNSIGNED)
				g_assert_cmpuint(left.args[k].number, ==, right.args[k].number);
			else if (left.args[k].type == SLICE_ARG_TYPE_STRING)
				g_assert_cmpstr(left.args[k].string, ==, right.args[k].string);
		}
		slice_args_release(&left);
		slice_args_release(&right);
	}
}

/* Exports of the ranks, read together, are the run; clocks are aligned anew, which may move times by a
 * nanosecond. */
static void test_ranks_together(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;

	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		gchar *paths[2];
		g_autoptr(TachoTimeline) back = NULL;

		for (options.rank = 0; options.rank < 2; options.rank++)
			paths[options.rank] = export_to(formats[i], timeline, &options);
		back = open_runs((const gchar *const *)paths, 2);
		g_assert_cmpuint(back->slices.n, ==, timeline->slices.n);
		g_assert_cmpuint(back->steps->len, ==, timeline->steps->len);
		g_assert_cmpuint(back->collectives->len, ==, timeline->collectives->len);
		g_assert_cmpuint(back->messages->len, ==, timeline->messages->len);
		g_assert_cmpuint(back->flows->len, ==, timeline->flows->len);
		assert_same_args(timeline, back);
		remove_export(paths[0]);
		remove_export(paths[1]);
	}
}

static void assert_told(const TachoTimeline *timeline)
{
	guint32 told = timeline_find(timeline, "later", 0),
		other = timeline_find(timeline, "sooner", 0);

	g_assert_cmpint(call_kind_of(timeline, told), ==, CALL_EVENT_SYNC);
	g_assert_cmpint(region_kind_of(timeline, told), ==, REGION_OTHER);
	g_assert_cmpint(call_kind_of(timeline, other), ==, CALL_OTHER);
}

/* What an importer said that a name means is said again. */
static void test_told_meanings(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;

	tell_call(timeline, timeline->slices.name[timeline_find(timeline, "later", 0)],
		  CALL_EVENT_SYNC);
	go_there_and_back(timeline);
	for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
		g_autoptr(TachoTimeline) alone = NULL, together = NULL;
		gchar *paths[2];

		for (options.rank = 0; options.rank < 2; options.rank++)
			paths[options.rank] = export_to(formats[i], timeline, &options);
		alone = open_runs((const gchar *const *)paths, 1);
		assert_told(alone);
		together = open_runs((const gchar *const *)paths, 2);
		assert_told(together);
		remove_export(paths[0]);
		remove_export(paths[1]);
	}
}

/* --- what is not as it was written ---------------------------------------------------------- */

static void replace(gchar *bytes, const gchar *word, const gchar *with)
{
	gchar *found = strstr(bytes, word);

	g_assert_nonnull(found);
	memcpy(found, with, strlen(with));
}

/* Somebody has renamed an operation in what viewers show: that is what is believed. */
static void test_changed(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline(), back = NULL;
	static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	gchar *path = export_to("chrome", timeline, &all);
	g_autofree gchar *bytes = NULL;
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	replace(bytes, "aten::add", "aten::sub");
	g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
	back = open_runs((const gchar *const *)&path, 1);
	g_assert_nonnull(tacho_timeline_find_problem(back, TACHO_PROBLEM_CHANGED_EXPORT));
	timeline_find(back, "aten::sub", 0);
	g_assert_cmpuint(tacho_trust_score(back), <, 90);
	remove_export(path);
}

/* An export of a tacho that wrote no image. */
static void test_older(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline(), back = NULL;
	static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	gchar *path = export_to("chrome", timeline, &all);
	g_autofree gchar *bytes = NULL;
	gchar *image;

	g_assert_true(g_file_get_contents(path, &bytes, NULL, NULL));
	image = strstr(bytes, ",\n\t\"tachoRun\"");
	g_assert_nonnull(image);
	strcpy(image, "}\n");
	g_assert_true(g_file_set_contents(path, bytes, -1, NULL));
	back = open_runs((const gchar *const *)&path, 1);
	g_assert_null(tacho_timeline_find_problem(back, TACHO_PROBLEM_CHANGED_EXPORT));
	timeline_find(back, "aten::add", 0);
	remove_export(path);
}

/* Whoever follows launches must come to an end: an image in which work launches itself is refused. */
static void test_launch_cycle(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline(), back = NULL;
	static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	guint32 work = timeline_find(timeline, "gemm", 0);
	gchar *path;

	timeline->slices.launch[work] = work;
	path = export_to("perfetto", timeline, &all);
	back = open_runs((const gchar *const *)&path, 1);
	g_assert_nonnull(tacho_timeline_find_problem(back, TACHO_PROBLEM_CHANGED_EXPORT));
	remove_export(path);
}

static void test_damaged(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	static const TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT;
	gchar *path = export_to("chrome", timeline, &all);

	foreign_damage(path, 200);
	remove_export(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/round_trip/everything", test_everything);
	g_test_add_func("/round_trip/steps_again", test_steps_again);
	g_test_add_func("/round_trip/many", test_many);
	g_test_add_func("/round_trip/samples", test_samples);
	g_test_add_func("/round_trip/one_rank", test_one_rank);
	g_test_add_func("/round_trip/one_step", test_one_step);
	g_test_add_func("/round_trip/ranks_together", test_ranks_together);
	g_test_add_func("/round_trip/told_meanings", test_told_meanings);
	g_test_add_func("/round_trip/changed", test_changed);
	g_test_add_func("/round_trip/older", test_older);
	g_test_add_func("/round_trip/launch_cycle", test_launch_cycle);
	g_test_add_func("/round_trip/damaged", test_damaged);
	return g_test_run();
}
