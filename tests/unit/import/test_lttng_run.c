/* What LTTng wrote of a job that tacho had it record: traces made for the test, read as runs. */
#include <glib/gstdio.h>
#include <string.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "import/ctf/lttng_stream.h"
#include "timeline_text.h"

#define OPEN "18446744073709551615"

/* Who writes, as the agent tells it; the times are nanoseconds of 2023. */
#define PROCESS                                                                                    \
	"1000 7 tacho_record:process trace=x:0x11 pair_ticks=u:1000 pair_mono_ns=u:1000 "          \
	"text='e:/* CTF 1.8 */\\ntrace {\\n\\tuuid = "                                             \
	"\"00010203-0405-0607-0809-0a0b0c0d0e0f\";\\n};\\nenv {\\n\\ttacho_format = 2;\\n"         \
	"\\ttacho_version = \"0\";\\n\\thostname = \"node.7\";\\n\\tboot_id = \"b\";\\n"           \
	"\\tpid = 10;\\n\\tppid = 1;\\n\\trank = 3;\\n\\tlocal_rank = 0;\\n"                       \
	"\\tworld_size = 4;\\n\\tjob = \"\";\\n\\texe = \"/job\";\\n\\tcommand = \"job\";\\n"      \
	"\\tstart_mono_ns = 900;\\n\\tstart_unix_ns = 1700000000000000900;\\n"                     \
	"\\tclock_source = \"monotonic\";\\n\\tmonotonic_ahead_ns = 0;\\n};\\nclock {\\n"          \
	"\\tname = ticks;\\n\\tfreq = 1000000000;\\n\\toffset_s = 1700000000;\\n"                  \
	"\\toffset = 0;\\n\\tabsolute = TRUE;\\n};\\nstream {\\n\\tid = 0;\\n};\\n'\n"             \
	"1001 7 tacho_record:class name=outer kind=annotation trace=x:0x11 class_id=u:1\n"

#define RECORD(stamp, kind, name, stream, position, id, words)                                     \
	stamp " 7 tacho_record:" kind " name=" name " trace=x:0x11 position=u:" position           \
	      " stamp=u:" stamp " stream=u:" stream " tid=u:7 class_id=u:" id " words=w:" words    \
	      "\n"
#define END(at, name, stream, position, duration, words)                                           \
	at " 7 tacho_record:end name=" name " trace=x:0x11 position=u:" position                   \
	   " duration=u:" duration " stream=u:" stream " words=w:" words "\n"

/* A collective ends in another thread, with bytes that were not known before; an end is lost, and so are two events of a core;
 * a record has a place that is taken. */
static const gchar text[] = PROCESS RECORD("1010", "annotation", "outer", "0", "80", "1", OPEN ",5")
	RECORD("1020", "annotation", "inner", "0", "112", "2",
	       OPEN ",0") RECORD("1030", "annotation", "unended", "0", "144", "3", OPEN ",0")
		END("1040", "inner", "0", "112", "20", "") END("1050", "outer", "0", "80", "40", "")
			RECORD("1055", "annotation", "again", "0", "100", "1", OPEN ",0")
				END("1060", "allreduce", "1", "80", "45",
				    "128,0,7") "1070 7 tacho_record:dropped trace=x:0x11 count=u:5 "
					       "stream=u:1 tid=u:7\n"
					       "stream cpu=1 discarded=2\n" RECORD(
						       "1015", "collective", "allreduce", "1", "80",
						       "4", OPEN ",64,0,0");

static gint64 duration_of(const TachoTimeline *timeline, const gchar *name)
{
	return timeline->slices.duration_ns[timeline_find(timeline, name, 0)];
}

static void check(TachoTimeline *timeline)
{
	TachoCollectiveArgs args;

	g_assert_cmpuint(timeline->processes->len, ==, 1);
	g_assert_cmpint(g_array_index(timeline->processes, TachoProcess, 0).rank, ==, 3);
	g_assert_cmpuint(timeline->slices.n, ==, 4);
	g_assert_cmpint(duration_of(timeline, "outer"), ==, 40);
	g_assert_cmpint(duration_of(timeline, "inner"), ==, 20);
	/* with the slice around it */
	g_assert_cmpint(duration_of(timeline, "unended"), ==, 10);
	g_assert_cmpint(duration_of(timeline, "allreduce"), ==, 45);
	g_assert_true(
		tacho_slice_collective(timeline, timeline_find(timeline, "allreduce", 0), &args));
	g_assert_cmpuint(args.bytes, ==, 128);
	/* dropped by the process, discarded by LTTng, out of order */
	g_assert_cmpuint(timeline->n_dropped, ==, 5 + 2 + 1);
}

static void test_trace(void)
{
	gchar *folder = ctf_lines_new(text);
	g_autoptr(TachoTimeline) timeline = foreign_open(folder);

	ctf_lines_remove(folder);
	check(timeline);
}

static gchar *new_run(const gchar *facts)
{
	gchar *run = g_dir_make_tmp("tacho-lttng-XXXXXX", NULL);
	g_autofree gchar *path = g_build_filename(run, "run.ini", NULL);

	g_assert_true(g_file_set_contents(path, facts, -1, NULL));
	return run;
}

static void test_run(void)
{
	gchar *run = new_run("[run]\nversion=0\nengine=lttng\n");
	g_autofree gchar *trace = g_build_filename(run, "lttng", "ust", "uid", NULL);
	g_autofree gchar *facts = g_build_filename(run, "run.ini", NULL);
	g_autofree gchar *process = g_build_filename(run, "node_7-10", "metadata", NULL);
	g_autoptr(TachoTimeline) unread = NULL, read = NULL;
	g_autoptr(GError) error = NULL;

	ctf_lines_write(trace, text);
	unread = foreign_open(run);
	check(unread);
	g_assert_false(g_file_test(process, G_FILE_TEST_EXISTS));
	g_assert_true(tacho_run_settle_lttng(run, &error));
	g_assert_no_error(error);
	g_assert_true(g_file_test(process, G_FILE_TEST_EXISTS));
	g_assert_true(g_file_set_contents(
		facts, "[run]\nversion=0\nengine=lttng\nlttng_is_read=true\n", -1, NULL));
	read = foreign_open(run);
	check(read);
	ctf_lines_remove(run);
}

static void test_elsewhere(void)
{
	gchar *run = new_run("[run]\nversion=0\nengine=lttng\nlttng_url=net://node1\n");
	g_autofree gchar *why = foreign_open_fails(run);
	g_autoptr(GError) error = NULL;

	g_assert_nonnull(strstr(why, "LTTng sent what it recorded to net://node1"));
	g_assert_false(tacho_run_settle_lttng(run, &error));
	g_assert_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT);
	ctf_lines_remove(run);
}

/* A trace of which nothing says who wrote it. */
static void test_nobody(void)
{
	gchar *folder =
		ctf_lines_new(RECORD("1010", "annotation", "outer", "0", "80", "1", OPEN ",5"));
	g_autofree gchar *why = foreign_open_fails(folder);

	g_assert_nonnull(strstr(why, "tells of no process"));
	ctf_lines_remove(folder);
}

static void test_damaged(void)
{
	gchar *folder = ctf_lines_new(text);

	foreign_damage_folder(folder, 60, foreign_use);
	ctf_lines_remove(folder);
}

/* A slice ends whose record could not be written: the disk is full. */
static void test_full(void)
{
	enum { N_RECORDS = 40000 };
	struct lttng_stream *stream = lttng_stream_new("/dev/full", 0, 7);
	const struct packet_header told = { 0 };
	const guint64 words[] = { TRACE_OPEN, 0 }, whole[] = { 5, 0 };
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < N_RECORDS; i++) {
		const struct record_header header = { .class_id = 1, .stamp = 1000 + i };

		g_assert_true(lttng_stream_add(stream, 80 + 32 * (guint64)i, &header,
					       i ? whole : words, 2, TRACE_KIND_ANNOTATION));
	}
	g_assert_true(lttng_stream_end(stream, 80, N_RECORDS, words + 1, 1));
	g_assert_false(lttng_stream_close(stream, &told, &error));
	g_assert_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO);
	g_assert_nonnull(strstr(error->message, "/dev/full: "));
	lttng_stream_free(stream);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#ifndef TACHO_HAVE_BABELTRACE
	return 0; /* there is nothing to test */
#endif
	g_test_add_func("/lttng_run/trace", test_trace);
	g_test_add_func("/lttng_run/run", test_run);
	g_test_add_func("/lttng_run/elsewhere", test_elsewhere);
	g_test_add_func("/lttng_run/nobody", test_nobody);
	g_test_add_func("/lttng_run/damaged", test_damaged);
	g_test_add_func("/lttng_run/full", test_full);
	return g_test_run();
}
