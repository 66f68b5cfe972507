/* Every target shows what the timeline holds: each slice on its track, at its depth and time, flows,
 * counters and moments. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "timeline_text.h"
#include "trace_lines.h"

static const gchar two_ranks[] =
	"origin 1700000000123456789\n"
	"rank 0 host=a  thread 10 main\n"
	"  op aten::mm 100..140.000007 seq=3 in=float32[8,16] in=int64 out=float32[8,8]\n"
	"    kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16 text='a \"b\"'\n"
	"    alloc 106 address=0x3000 bytes=64\n"
	"    mark moment 106.5 first=-1 second=2 text=why\n"
	"  op aten::mm 140.000007..150\n"
	"    op empty 150..150\n"
	"  free 151 address=0x3000 bytes=64\n"
	"  annotation \"two | words\" 200..210 id=18446744073709551615\n"
	"  collective gloo:all_reduce 130..190 bytes=4096 group=7 in=float32[1024]\n"
	"  collective gloo:all_reduce 140..180 bytes=4096 group=7\n"
	"  collective gloo:all_reduce 185..230 bytes=4096 group=7\n"
	"  sample loss 201 17\n"
	"  sample loss 199 -3.14159265358979\n"
	"  mark late 400\n"
	"thread 12\n"
	"  op Node 300.25..301 backward seq=3 fwd=1\n"
	"process 33 thread 33 loader\n"
	"  wait batch 1..2\n"
	"  alloc 1 address=1 bytes=10\n"
	"rank 1 host=b pid=1000 end=killed:9  thread 10 main\n"
	"  op aten::mm 100..\n"
	"    op aten::add 110..150\n"
	"  collective gloo:all_reduce 125..190\n";

static void add_flow(TachoTimeline *timeline, guint32 from, guint32 to, TachoFlowKind kind)
{
	TachoFlow flow = { .from = from, .to = to, .kind = kind, .is_exact = 1 };

	g_array_append_val(timeline->flows, flow);
}

static void add_step(TachoTimeline *timeline, guint32 rank_index, guint32 number, gint64 start_ms,
		     gint64 end_ms)
{
	TachoStep step = { rank_index, number, start_ms * 1000000, end_ms * 1000000, TRUE };

	g_array_append_val(timeline->steps, step);
}

/* What correlate would add, by hand. */
static TachoTimeline *new_timeline(void)
{
	TachoTimeline *timeline = timeline_from_text(two_ranks);

	add_flow(timeline, timeline_find(timeline, "aten::mm", 0),
		 timeline_find(timeline, "Node", 0), TACHO_FLOW_FORWARD_BACKWARD);
	add_flow(timeline, timeline_find(timeline, "aten::mm", 0),
		 timeline_find(timeline, "gloo:all_reduce", 0), TACHO_FLOW_QUEUE_COLLECTIVE);
	/* Back in time: rank 1 was first. */
	add_flow(timeline, timeline_find(timeline, "gloo:all_reduce", 0),
		 timeline_find(timeline, "gloo:all_reduce", 3), TACHO_FLOW_COLLECTIVE);
	add_step(timeline, 0, 0, 100, 160);
	add_step(timeline, 0, 1, 160, 401);
	add_step(timeline, 1, 0, 100, 120);
	add_step(timeline, 1, 1, 120, 150);
	return timeline;
}

static gchar *write_temporary(const guint8 *bytes, gsize length)
{
	gchar *path = NULL;
	gint fd = g_file_open_tmp("tacho-test-XXXXXX.json", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, bytes, length), ==, length);
	close(fd);
	return path;
}

static gchar *lines_of(const TachoExportTarget *target, const TachoTimeline *timeline,
		       const TachoExportOptions *options)
{
	gsize length;
	g_autofree guint8 *bytes = export_to_memory(target, timeline, options, &length);
	g_autofree gchar *path = NULL;
	gchar *lines;

	if (strcmp(target->name, "perfetto") == 0)
		return trace_lines_of_perfetto(bytes, length);
	path = write_temporary(bytes, length);
	lines = trace_lines_of_chrome(path);
	g_unlink(path);
	return lines;
}

static void test_all_is_there(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *expected = trace_lines_of_timeline(timeline);
	g_autofree gchar *lines = lines_of(target, timeline, &options);

	g_assert_cmpstr(lines, ==, expected);
}

static void test_same_bytes(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gsize first_length, second_length;
	g_autofree guint8 *first = export_to_memory(target, timeline, &options, &first_length);
	g_autofree guint8 *second = export_to_memory(target, timeline, &options, &second_length);

	g_assert_cmpmem(first, first_length, second, second_length);
}

static void test_scope(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = { .rank = 0, .first_step = 1, .last_step = 1 };
	g_autofree gchar *lines = lines_of(target, timeline, &options);

	g_assert_cmpstr(lines, ==,
			"count|rank 0 (a, pid 1000)|loss|199000000|-3.14159265358979\n"
			"count|rank 0 (a, pid 1000)|loss|201000000|17\n"
			"moment|rank 0 (a, pid 1000)|main|late|400000000\n"
			"slice|rank 0 (a, pid 1000)|collectives|0|collective|gloo:all_reduce|"
			"185000000|230000000\n"
			"slice|rank 0 (a, pid 1000)|main|0|annotation|two | words|200000000|"
			"210000000\n"
			"slice|rank 0 (a, pid 1000)|steps|0|step|step 1|160000000|401000000\n"
			"slice|rank 0 (a, pid 1000)|thread 12|0|op|Node|300250000|301000000");
}

static void expect_not_there(const TachoExportTarget *target, const TachoTimeline *timeline,
			     TachoExportOptions options, const gchar *message)
{
	g_autoptr(GError) error = NULL;
	FILE *out = fopen("/dev/null", "w");

	g_assert_false(target->write(timeline, &options, out, &error));
	g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE);
	g_assert_cmpstr(error->message, ==, message);
	fclose(out);
}

static void test_not_there(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	g_autoptr(TachoTimeline) without_steps = timeline_from_text(two_ranks);

	expect_not_there(target, timeline,
			 (TachoExportOptions){ .rank = 7, .first_step = -1, .last_step = -1 },
			 "the run has no rank 7");
	expect_not_there(target, timeline,
			 (TachoExportOptions){ .rank = -1, .first_step = 2, .last_step = 3 },
			 "the run has no such steps; it has steps 0 to 1");
	expect_not_there(target, without_steps,
			 (TachoExportOptions){ .rank = -1, .first_step = 2, .last_step = 3 },
			 "the run has no training steps; use --steps all");
}

/* Where the disk is full, that is told, whether the last write meets it or an early one. */
static void expect_disk_full(const TachoExportTarget *target, const TachoTimeline *timeline)
{
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autoptr(GError) error = NULL;
	FILE *out = fopen("/dev/full", "w");

	g_assert_nonnull(out);
	g_assert_false(target->write(timeline, &options, out, &error));
	g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO);
	g_assert_cmpstr(error->message, ==, g_strerror(ENOSPC));
	fclose(out);
}

static void test_disk_full(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	g_autoptr(TachoTimeline) large = timeline_from_text("rank 0 thread 10 main\n");

	for (guint i = 0; i < 5000; i++) {
		g_autofree gchar *name = g_strdup_printf("name %u", i);

		tacho_timeline_add_slice(large, TACHO_SLICE_OP, 0,
					 tacho_timeline_intern(large, name, -1), 10 * i, 5, 0, 0);
	}
	g_free(tacho_timeline_finish(large));
	expect_disk_full(target, timeline);
	expect_disk_full(target, large);
}

static void test_empty(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *lines = lines_of(target, timeline, &options);

	g_assert_cmpstr(lines, ==, "");
}

/* Names are whatever the job used. */
static void test_hostile_names(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 10 main\n");
	static const gchar bad[] = "\xff\x01\"\\\xc3\xa9";
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *lines = NULL;

	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0,
				 tacho_timeline_intern(timeline, bad, -1), 0, 5, 0, 0);
	g_free(tacho_timeline_finish(timeline));
	lines = lines_of(target, timeline, &options);
	g_assert_cmpstr(lines, ==,
			"slice|rank 0 (h0, pid 1000)|main|0|op|\xef\xbf\xbd\x01\"\\\xc3\xa9|0|5");
}

static void expect_text(const guint8 *bytes, gsize length, const gchar *text)
{
	g_autofree gchar *copy = g_strndup((const gchar *)bytes, length);

	if (!strstr(copy, text))
		g_error("no %s in %s", text, copy);
}

/* As written: times to the nanosecond, what a double cannot hold as text. */
static void test_chrome_text(void)
{
	g_autoptr(TachoTimeline) timeline = new_timeline();
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gsize length;
	g_autofree guint8 *bytes =
		export_to_memory(tacho_export_find("chrome", NULL), timeline, &options, &length);

	expect_text(bytes, length, "\"origin_unix_ns\":\"1700000000123456789\"");
	expect_text(bytes, length,
		    "\"ts\":100000,\"dur\":40000.007,\"cat\":\"op\",\"name\":\"aten::mm\","
		    "\"args\":{\"inputs\":\"float32[8,16], int64[]\","
		    "\"outputs\":\"float32[8,8]\",\"sequence\":3}}");
	expect_text(bytes, length,
		    "\"args\":{\"bytes\":1536,\"flops\":2048,\"dtype\":\"float32\","
		    "\"dims\":\"8,8,16\",\"detail\":\"a \\\"b\\\"\"}}");
	expect_text(bytes, length, "\"args\":{\"id\":\"18446744073709551615\"}}");
	expect_text(bytes, length, "\"cname\":\"terrible\",\"args\":{\"open\":true}}");
	expect_text(bytes, length, "\"args\":{\"first\":-1,\"second\":2,\"text\":\"why\"}}");
	expect_text(bytes, length, "\"args\":{\"inputs\":\"float32[1024]\",\"bytes\":4096}}");
}

static void expect_folded(const TachoTimeline *timeline, gint64 step, const gchar *expected)
{
	TachoExportOptions options = { .rank = -1, .first_step = step, .last_step = step };
	gsize length;
	g_autofree guint8 *bytes =
		export_to_memory(tacho_export_find("folded", NULL), timeline, &options, &length);
	g_autofree gchar *text = g_strndup((const gchar *)bytes, length);

	g_assert_cmpstr(text ? text : "", ==, expected); /* no byte: NULL */
}

/* If a slice begins in another step, its children in this step stand by themselves. If it goes on into
 * another step, the time of all children belongs to them. */
static void test_folded_text(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 host=a pid=10 thread 10 main\n"
				   "  op outer 0..100\n"
				   "    op inner 10..30\n"
				   "      op leaf;1 12..20\n"
				   "    op inner 40..50\n"
				   "    op inner 55..56\n"
				   "    op late 90..95\n"
				   "  op zero 110..110\n"
				   "thread 11 other\n"
				   "  op outer 1..2\n");
	g_array_index(timeline->tracks, TachoTrack, 1).name =
		tacho_timeline_intern(timeline, "b\nc", -1);
	add_step(timeline, 0, 0, 0, 35);
	add_step(timeline, 0, 1, 35, 60);
	add_step(timeline, 0, 2, 105, 120);

	expect_folded(timeline, -1,
		      "rank 0 (a, pid 10) main;outer 64000000\n"
		      "rank 0 (a, pid 10) main;outer;inner 23000000\n"
		      "rank 0 (a, pid 10) main;outer;inner;leaf:1 8000000\n"
		      "rank 0 (a, pid 10) main;outer;late 5000000\n"
		      "rank 0 (a, pid 10) b c;outer 1000000\n");
	expect_folded(timeline, 0,
		      "rank 0 (a, pid 10) main;outer 64000000\n"
		      "rank 0 (a, pid 10) main;outer;inner 12000000\n"
		      "rank 0 (a, pid 10) main;outer;inner;leaf:1 8000000\n"
		      "rank 0 (a, pid 10) b c;outer 1000000\n");
	expect_folded(timeline, 1, "rank 0 (a, pid 10) main;inner 11000000\n");
	expect_folded(timeline, 2, "");
}

/* A recursion is an arrow of a node to itself; nothing in a name ends its label. */
static void test_dot_text(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\n"
							       "rank 0 thread 10 main\n"
							       "  op outer 0..4000000\n"
							       "    op outer 0..3000000\n"
							       "      op leaf 0..1000000\n"
							       "thread 11\n"
							       "  op leaf 0..500000\n");
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree guint8 *bytes = NULL;
	g_autofree gchar *text = NULL;
	gsize length;

	timeline->slices.name[2] = timeline->slices.name[3] =
		tacho_timeline_intern(timeline, "\"];\n\\n<b>\xff\\", -1);
	bytes = export_to_memory(tacho_export_find("dot", NULL), timeline, &options, &length);
	text = g_strndup((const gchar *)bytes, length);
	g_assert_cmpstr(
		text, ==,
		"digraph tacho {\n"
		"  rankdir=LR;\n"
		"  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
		"  n0 [label=\"outer\\n3.000 ms itself, 2 times\","
		" fillcolor=\"0.000 1.000 1.000\", fontsize=24];\n"
		"  n1 [label=\"\\\"]; \\\\n<b>\xef\xbf\xbd\\\\\\n1.500 ms itself, 2 times\","
		" fillcolor=\"0.000 0.500 1.000\", fontsize=17];\n"
		"  n0 -> n0 [label=\"1\"];\n"
		"  n0 -> n1 [label=\"1\"];\n"
		"}\n");
}

/* A stream whose slices overlap without nesting: none may be lost or bent. */
static void test_overlap(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\n"
							       "rank 0 stream 7 gpu\n"
							       "  kernel a 0..10\n"
							       "  kernel b 5..15\n"
							       "  kernel c 7..9\n"
							       "  kernel d 10..12\n"
							       "  kernel e 12..20\n");
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *lines = lines_of(target, timeline, &options);

	g_assert_cmpstr(lines, ==,
			"slice|rank 0 (h0, pid 1000)|gpu|0|kernel|a|0|10\n"
			"slice|rank 0 (h0, pid 1000)|gpu|0|kernel|b|5|15\n"
			"slice|rank 0 (h0, pid 1000)|gpu|0|kernel|d|10|12\n"
			"slice|rank 0 (h0, pid 1000)|gpu|0|kernel|e|12|20\n"
			"slice|rank 0 (h0, pid 1000)|gpu|1|kernel|c|7|9");
}

/* More bytes given back than handed out: they were in use before the recording. */
static void test_memory_before(gconstpointer target)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\n"
							       "rank 0 thread 10 main\n"
							       "  alloc 5 address=1 bytes=10\n"
							       "  free 6 address=2 bytes=100\n"
							       "  free 7 address=1 bytes=10\n");
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *lines = lines_of(target, timeline, &options);

	g_assert_cmpstr(lines, ==,
			"count|rank 0 (h0, pid 1000)|allocated|5|110\n"
			"count|rank 0 (h0, pid 1000)|allocated|6|10\n"
			"count|rank 0 (h0, pid 1000)|allocated|7|0");
}

static void count_progress(gdouble done, gpointer data)
{
	gdouble *last = data;

	g_assert_cmpfloat(done, >=, *last);
	*last = done;
}

static void test_progress(gconstpointer data)
{
	const TachoExportTarget *target = data;
	g_autoptr(TachoTimeline) timeline = new_timeline();
	gdouble last = 0;
	TachoExportOptions options = { .rank = -1,
				       .first_step = -1,
				       .last_step = -1,
				       .progress = count_progress,
				       .progress_data = &last };
	gsize length;

	g_free(export_to_memory(target, timeline, &options, &length));
	g_assert_cmpfloat(last, ==, 1.0);
}

/* A run without a process, and names that are no text, can be written in every format. */
static void test_nothing(gconstpointer data)
{
	const TachoExportTarget *target = data;
	g_autoptr(TachoTimeline) empty = tacho_timeline_new();
	g_autoptr(TachoTimeline) hostile = timeline_from_text("rank 0 thread 10\nop a 0..10\n");
	TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	gsize length;

	g_free(export_to_memory(target, empty, &options, &length));
	hostile->slices.name[0] = tacho_timeline_intern(hostile, "\xff\n\"\\;\x1b", -1);
	g_free(export_to_memory(target, hostile, &options, &length));
	g_assert_cmpuint(length, >, 0);
}

/* Those that tell export_walk()'s story; the others are read back by tests/cli/export. */
static gboolean is_for_viewers(const TachoExportTarget *target)
{
	return strcmp(target->name, "perfetto") == 0 || strcmp(target->name, "chrome") == 0;
}

/* Profiles for compilers hold what these look up, and refuse a run in which there is nothing of it (test_estimations.c). */
static gboolean is_profile(const TachoExportTarget *target)
{
	return strcmp(target->name, "inductor") == 0 || strcmp(target->name, "pgle") == 0;
}

static void test_find(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_cmpstr(tacho_export_find("chrome", NULL)->ending, ==, "json");
	g_assert_null(tacho_export_find("parquet", &error));
	g_assert_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_UNKNOWN_TARGET);
	g_assert_cmpstr(error->message, ==,
			"tacho cannot export to the format 'parquet'; there are: perfetto, chrome, "
			"html, sqlite, csv, xlsx, folded, speedscope, dot, pprof, inductor, pgle, "
			"ctf");
}

static void add_target_test(const gchar *name, const TachoExportTarget *target,
			    GTestDataFunc function)
{
	g_autofree gchar *path = g_strdup_printf("/export/%s/%s", target->name, name);

	g_test_add_data_func(path, target, function);
}

int main(int argc, char **argv)
{
	guint n_targets;
	const TachoExportTarget *targets = tacho_export_targets(&n_targets);

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/export/find", test_find);
	g_test_add_func("/export/chrome/text", test_chrome_text);
	g_test_add_func("/export/folded/text", test_folded_text);
	g_test_add_func("/export/dot/text", test_dot_text);
	for (guint i = 0; i < n_targets; i++) {
		if (!targets[i].write) /* this build lacks it, or it is a folder */
			continue;
		add_target_test("not-there", &targets[i], test_not_there);
		if (is_profile(&targets[i]))
			continue;
		add_target_test("same-bytes", &targets[i], test_same_bytes);
		add_target_test("disk-full", &targets[i], test_disk_full);
		add_target_test("nothing", &targets[i], test_nothing);
		add_target_test("progress", &targets[i], test_progress);
		if (!is_for_viewers(&targets[i]))
			continue;
		add_target_test("all-is-there", &targets[i], test_all_is_there);
		add_target_test("scope", &targets[i], test_scope);
		add_target_test("empty", &targets[i], test_empty);
		add_target_test("hostile-names", &targets[i], test_hostile_names);
		add_target_test("overlap", &targets[i], test_overlap);
		add_target_test("memory-before", &targets[i], test_memory_before);
	}
	return g_test_run();
}
