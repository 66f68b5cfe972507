/* What the events of an export to CTF say comes back as it was: read by libbabeltrace2 and our importer, without the image
 * of the run that is beside them (test_round_trip.c). */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <tacho/correlate.h>
#include <tacho/export.h>

#include "base/order.h"
#include "correlate/member_index.h"
#include "foreign_traces.h"
#include "timeline_text.h"
#include "trace/run_image.h"
#include "trace/slice_args.h"
#include "trace_lines.h"

/* Hosts with the same pid, queues that overlap, what began before and what never ended; lost records, hostile names. */
static const gchar everything[] =
	"origin 1700000000123456789\n"
	"world 2\n"
	"rank 0 host=a ppid=7 local=0 world=2 command='python3 train.py' end=exited:0 dropped=12  "
	"thread 10 main\n"
	"  annotation first 0..1\n"
	"  op aten::mm 100..140.000007 seq=3 in=float32[8,16] in=int64 out=float32[8,8]\n"
	"    kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16 text='a \"b\"'\n"
	"    alloc 106 address=0x3000 bytes=64\n"
	"    mark moment 106.5 first=-1 second=2 text=why\n"
	"  op aten::mm 140.000007..150\n"
	"    op empty 150..150\n"
	"      op empty2 150..150\n"
	"  runtime cudaLaunchKernel 151..152\n"
	"  free 151 address=0x3000 bytes=64\n"
	"  alloc 152 address=0xfffffffffffffff0 bytes=9223372036854775807 device=1 driver\n"
	"  annotation \"two | words\" 200..210 id=18446744073709551615\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 in=float32[1024]\n"
	"  collective gloo:all_reduce 140..180 bytes=4096 group=7\n"
	"  message send 212..213 bytes=100 fd=5 local=10.0.0.1:29500 peer=[fe80::1]:29501\n"
	"  message recv 214..215 bytes=7 receive fd=5 local=10.0.0.1:29500 peer=[fe80::1]:29501\n"
	"  sample loss 201 17\n"
	"  sample loss 199 -3.14159265358979\n"
	"  mark step 100 second=60000000 text=whole\n"
	"  mark step 160 first=1 second=240000000 text=whole\n"
	"  mark late 400\n"
	"thread 12\n"
	"  op Node 300.25..301 backward seq=3 fwd=1\n"
	"stream 7 'stream 7' device=1\n"
	"  kernel gemm 155..170 launch=cudaLaunchKernel bytes=8\n"
	"  kernel other 160..175\n"
	"  memcpy 'Memcpy HtoD' 176..177\n"
	"process 33 thread 33 loader\n"
	"  wait batch 1..2 repaired\n"
	"  alloc 1 address=1 bytes=10\n"
	"rank 1 host=b pid=1000 end=killed:9  thread 10 main\n"
	"  op aten::mm 100..\n"
	"    op aten::add 110..150\n"
	"  collective gloo:all_reduce 125..190\n"
	"  mark step 100 second=20000000 text=whole\n"
	"  mark step 120 first=1 second=30000000 text=whole\n";

static TachoTimeline *new_timeline(void)
{
	TachoTimeline *timeline = correlated(everything);

	return timeline;
}

/* --- the folder ----------------------------------------------------------------------------- */

static gchar *make_folder(void)
{
	gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);

	g_assert_nonnull(folder);
	return folder;
}

static void remove_folder(gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
	g_free(folder);
}

static gchar *export_to_folder(const TachoTimeline *timeline, const TachoExportOptions *options)
{
	gchar *folder = make_folder();
	g_autofree gchar *image = g_build_filename(folder, RUN_IMAGE_FILE, NULL);
	g_autoptr(GError) error = NULL;

	g_assert_true(tacho_export_ctf(timeline, options, folder, &error));
	g_assert_no_error(error);
	g_assert_cmpint(g_unlink(image), ==, 0);
	return folder;
}

/* Each file's name, size and bytes. */
static gchar *folder_sum(const gchar *folder)
{
	GString *text = g_string_new(NULL);
	static const gchar *const names[] = { "metadata", "stream_0", "stream_1", "stream_2",
					      "stream_3" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = g_build_filename(folder, names[i], NULL);
		g_autofree gchar *bytes = NULL;
		g_autofree gchar *sum = NULL;
		gsize n;

		if (!g_file_get_contents(path, &bytes, &n, NULL))
			continue;
		sum = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (const guchar *)bytes, n);
		g_string_append_printf(text, "%s %" G_GSIZE_FORMAT " %s\n", names[i], n, sum);
	}
	return g_string_free(text, FALSE);
}

/* --- there and back ------------------------------------------------------------------------- */

static void append_args(GString *line, const struct slice_args *args)
{
	for (guint i = 0; i < args->n; i++) {
		const struct slice_arg *arg = &args->args[i];

		g_string_append_printf(line, " %s=", slice_arg_key_name(arg->key));
		switch (arg->type) {
		case SLICE_ARG_TYPE_TRUE:
			g_string_append(line, "true");
			break;
		case SLICE_ARG_TYPE_INTEGER:
			g_string_append_printf(line, "%" G_GINT64_FORMAT, arg->integer);
			break;
		case SLICE_ARG_TYPE_UNSIGNED:
			g_string_append_printf(line, "%" G_GUINT64_FORMAT, arg->number);
			break;
		case SLICE_ARG_TYPE_STRING:
			g_string_append(line, arg->string);
			break;
		}
	}
}

/* Where each slice is, its flags and all that is known of it; one a line, sorted. */
static gchar *slices_of(const TachoTimeline *timeline)
{
	g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(member_index) members = member_index_new(timeline);
	struct slice_args args;

	slice_args_init(&args);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);
		const TachoProcess *process =
			&g_array_index(timeline->processes, TachoProcess, track->process);
		guint32 row = member_index_row(members, i), launch = timeline->slices.launch[i];
		GString *line = g_string_new(NULL);

		g_string_printf(line, "%s %u rank %d %u %s %u device %d: %s %s %x from %s:",
				tacho_timeline_string(timeline, process->host), process->pid,
				process->rank, track->kind,
				tacho_timeline_string(timeline, track->name), track->tid,
				track->device, tacho_slice_kind_name(timeline->slices.kind[i]),
				tacho_slice_name(timeline, i), timeline->slices.flags[i],
				launch == TACHO_NONE ? "" : tacho_slice_name(timeline, launch));
		slice_args_of_slice(&args, timeline, i,
				    row == TACHO_NONE ? NULL
						      : &g_array_index(timeline->collectives,
								       TachoCollective, row));
		append_args(line, &args);
		g_ptr_array_add(lines, g_string_free(line, FALSE));
	}
	slice_args_release(&args);
	g_ptr_array_sort(lines, order_text);
	g_ptr_array_add(lines, NULL);
	return g_strjoinv("\n", (gchar **)lines->pdata);
}

static gchar *processes_of(const TachoTimeline *timeline)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < timeline->processes->len; i++) {
		const TachoProcess *row = &g_array_index(timeline->processes, TachoProcess, i);

		g_string_append_printf(
			text, "%u %u rank %d of %d, local %d, main %d, '%s' '%s' %d %d\n", row->pid,
			row->ppid, row->rank, row->world_size, row->local_rank, row->is_main != 0,
			tacho_timeline_string(timeline, row->command),
			tacho_timeline_string(timeline, row->job), row->end, row->exit_status);
	}
	return g_string_free(text, FALSE);
}

static void assert_same(const TachoTimeline *timeline, const TachoTimeline *again)
{
	g_autofree gchar *lines = trace_lines_of_timeline(timeline);
	g_autofree gchar *lines_again = trace_lines_of_timeline(again);
	g_autofree gchar *slices = slices_of(timeline), *slices_again = slices_of(again);
	g_autofree gchar *processes = processes_of(timeline);
	g_autofree gchar *processes_again = processes_of(again);

	g_assert_cmpstr(lines_again, ==, lines);
	g_assert_cmpstr(slices_again, ==, slices);
	g_assert_cmpstr(processes_again, ==, processes);
	g_assert_cmpint(again->origin_unix_ns, ==, timeline->origin_unix_ns);
	g_assert_cmpint(again->duration_ns, ==, timeline->duration_ns);
	g_assert_cmpuint(again->memory->len, ==, timeline->memory->len);
	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *a = &g_array_index(timeline->memory, TachoMemoryEvent, i);
		const TachoMemoryEvent *b = &g_array_index(again->memory, TachoMemoryEvent, i);

		g_assert_cmpint(a->time_ns, ==, b->time_ns);
		g_assert_cmpuint(a->address, ==, b->address);
		g_assert_cmpint(a->bytes, ==, b->bytes);
		g_assert_cmpuint(a->device, ==, b->device);
		g_assert_cmpuint(a->layer, ==, b->layer);
	}
}

static TachoTimeline *open_again(const gchar *folder)
{
	TachoTimeline *timeline = foreign_open(folder);

	tacho_correlate(timeline);
	return timeline;
}

static void test_there_and_back(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gchar *folder = export_to_folder(timeline, &options);
	g_autoptr(TachoTimeline) again = open_again(folder);
	const TachoProblem *lost = tacho_timeline_find_problem(again, TACHO_PROBLEM_LOST_RECORDS);

	assert_same(timeline, again);
	g_assert_nonnull(lost);
	g_assert_cmpuint(lost->count, ==, 12);
	g_assert_cmpuint(again->n_dropped, ==, 12);
	remove_folder(folder);
}

/* More than a packet of events, in several streams. */
static void test_packets(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0  thread 10 main\n"
							       "  op first 0..0.000001\n"
							       "thread 11 other\n"
							       "rank 1  thread 20 main\n");
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(TachoTimeline) again = NULL;
	g_autofree gchar *slices = NULL, *slices_again = NULL;
	gchar *folder;

	for (guint i = 0; i < 30000; i++)
		tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, i % 3,
					 tacho_timeline_intern(timeline, i % 7 ? "a" : "b", -1),
					 10 + 10 * (i / 2), 10, 0, 0);
	g_free(tacho_timeline_finish(timeline));
	tacho_correlate(timeline);
	folder = export_to_folder(timeline, &options);
	again = open_again(folder);
	slices = slices_of(timeline);
	slices_again = slices_of(again);
	g_assert_true(strcmp(slices, slices_again) == 0); /* too long to be shown */
	remove_folder(folder);
}

static void test_scope(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = { 0, 1, 1, NULL, NULL, FALSE, NULL, NULL, 0 };
	gchar *folder = export_to_folder(timeline, &options);
	g_autoptr(TachoTimeline) again = open_again(folder);

	/* of rank 0 (and its worker), from 160 to 400 ms */
	g_assert_cmpuint(again->ranks->len, ==, 1);
	g_assert_cmpuint(again->slices.n, ==, 6);
	timeline_find(again, "two | words", 0);
	timeline_find(again, "send", 0);
	timeline_find(again, "recv", 0);
	timeline_find(again, "Node", 0);
	timeline_find(again, "other", 0);
	timeline_find(again, "Memcpy HtoD", 0);
	g_assert_cmpuint(again->steps->len, ==, 1);
	g_assert_cmpuint(g_array_index(again->steps, TachoStep, 0).number, ==,
			 0); /* counted anew */
	g_assert_cmpuint(again->memory->len, ==, 0);
	g_assert_cmpuint(again->samples->len, ==, 2);
	g_assert_cmpfloat(g_array_index(again->samples, TachoSample, 0).value, ==,
			  -3.14159265358979);
	g_assert_cmpfloat(g_array_index(again->samples, TachoSample, 1).value, ==, 17);
	remove_folder(folder);
}

/* Names are no text, times are before the origin of time; a run has nothing. */
static void test_hostile(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 host=h thread 10\nop a 0..10\n");
	g_autoptr(TachoTimeline) empty = tacho_timeline_new(), again = NULL;
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gchar *folder;

	timeline->slices.name[0] = tacho_timeline_intern(timeline, "\xff\n\"\\;\x1b", -1);
	timeline->slices.start_ns[0] = -5;
	timeline->slices.duration_ns[0] = 7;
	timeline->origin_unix_ns = 3;
	g_array_index(timeline->processes, TachoProcess, 0).host =
		tacho_timeline_intern(timeline, "a\"; }; clock { name = \\\n\xc3\xa9", -1);
	folder = export_to_folder(timeline, &options);
	again = open_again(folder);
	g_assert_cmpuint(again->slices.n, ==, 1);
	g_assert_cmpstr(tacho_slice_name(again, 0), ==, "\xef\xbf\xbd\n\"\\;\x1b");
	g_assert_cmpint(again->slices.duration_ns[0], ==, 7);
	g_assert_cmpint(again->origin_unix_ns, ==, -2);
	remove_folder(folder);
	remove_folder(export_to_folder(empty, &options));
}

/* --- failures ------------------------------------------------------------------------------- */

static void test_same_bytes(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gchar *first = export_to_folder(timeline, &options);
	gchar *second = export_to_folder(timeline, &options);
	g_autofree gchar *first_sum = folder_sum(first), *second_sum = folder_sum(second);
	g_autofree gchar *path = g_build_filename(first, "stream_0", NULL);
	struct stat status;

	g_assert_cmpstr(first_sum, ==, second_sum);
	g_assert_cmpint(g_stat(path, &status), ==, 0);
	g_assert_cmpuint(status.st_mode & 0777, ==, 0600);
	remove_folder(first);
	remove_folder(second);
}

static void expect_failure(const TachoExportOptions *options, const gchar *folder, gint code,
			   const gchar *message)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	g_autoptr(GError) error = NULL;

	g_assert_false(tacho_export_ctf(timeline, options, folder, &error));
	g_assert_error(error, TACHO_EXPORT_ERROR, code);
	g_assert_nonnull(strstr(error->message, message));
}

static void test_failures(void)
{
	TachoExportOptions all = TACHO_EXPORT_OPTIONS_INIT, no_rank = all, no_step = all;
	struct rlimit usual, small;
	gchar *folder = make_folder();

	no_rank.rank = 5;
	no_step.first_step = no_step.last_step = 9;
	expect_failure(&no_rank, folder, TACHO_EXPORT_ERROR_NOT_THERE, "no rank 5");
	expect_failure(&no_step, folder, TACHO_EXPORT_ERROR_NOT_THERE, "0 to 1");
	expect_failure(&all, "/nowhere/at/all", TACHO_EXPORT_ERROR_IO, g_strerror(ENOENT));

	/* a file that cannot grow, as on a disk that is full */
	signal(SIGXFSZ, SIG_IGN);
	g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &usual), ==, 0);
	small = usual;
	small.rlim_cur = 1000;
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &small), ==, 0);
	expect_failure(&all, folder, TACHO_EXPORT_ERROR_IO, g_strerror(EFBIG));
	g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &usual), ==, 0);
	remove_folder(folder);
}

static void count_calls(gdouble done, gpointer data)
{
	g_assert_cmpfloat(done, >=, 0);
	g_assert_cmpfloat(done, <=, 1);
	*(gdouble *)data = done;
}

static void test_progress(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	gdouble last = 0;
	TachoExportOptions options = { -1, -1, -1, count_calls, &last, FALSE, NULL, NULL, 0 };

	remove_folder(export_to_folder(timeline, &options));
	g_assert_cmpfloat(last, ==, 1);
}

/* What our importer makes of an export that was damaged: an error, or a timeline. */
static void test_damaged(void)
{
	static const struct {
		const gchar *name;
		guint n_copies;
	} files[] = { { "metadata", 20 }, { "stream_0", 50 }, { "stream_2", 20 } };
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gchar *folder = export_to_folder(timeline, &options);
	GRand *random = g_rand_new_with_seed(4);

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *path = g_build_filename(folder, files[i].name, NULL);
		g_autofree gchar *bytes = NULL;
		gsize n;

		g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
		for (guint round = 0; round < files[i].n_copies; round++) {
			gsize bit = (gsize)g_rand_int_range(random, 0, (gint)n * 8);
			g_autoptr(TachoTimeline) found = NULL;
			const gchar *const paths[] = { folder };

			bytes[bit / 8] ^= (gchar)(1 << bit % 8);
			g_assert_true(g_file_set_contents_full(
				path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
			bytes[bit / 8] ^= (gchar)(1 << bit % 8);
			found = tacho_run_open(paths, 1, NULL, NULL, NULL);
			if (found)
				foreign_use(found);
		}
		g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
	}
	g_rand_free(random);
	remove_folder(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ctf-export/same-bytes", test_same_bytes);
	g_test_add_func("/ctf-export/failures", test_failures);
	g_test_add_func("/ctf-export/progress", test_progress);
#ifdef TACHO_HAVE_BABELTRACE
	g_test_add_func("/ctf-export/there-and-back", test_there_and_back);
	g_test_add_func("/ctf-export/packets", test_packets);
	g_test_add_func("/ctf-export/scope", test_scope);
	g_test_add_func("/ctf-export/hostile", test_hostile);
	g_test_add_func("/ctf-export/damaged", test_damaged);
#endif
	return g_test_run();
}
