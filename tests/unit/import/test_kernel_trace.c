/* What probes/kernel writes, from events made for the test, and what the importer makes of it. */
#include <glib/gstdio.h>
#include <linux/types.h>
#include <string.h>
#include <tacho/import.h>

#include "foreign_traces.h"
#include "kernel/call_names.h"
#include "kernel/kernel_events.h"
#include "kernel/kernel_trace.h"
#include "timeline_text.h"

static void remove_run(const gchar *run)
{
	const gchar *const files[] = { "traces/kernel/kernel/metadata",
				       "traces/kernel/kernel/kernel_0",
				       "traces/kernel/kernel",
				       "traces/kernel/trace.ini",
				       "traces/kernel",
				       "traces",
				       "" };

	for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree gchar *path = g_build_filename(run, files[i], NULL);

		g_remove(path);
	}
	g_assert_false(g_file_test(run, G_FILE_TEST_EXISTS));
}

static struct kernel_off_cpu off_cpu(guint64 out_ns, guint64 wake_ns, guint64 in_ns, gint call,
				     const gchar *other)
{
	struct kernel_off_cpu event = { .event = { in_ns, KERNEL_OFF_CPU, 30, 31, 1 },
					.out_ns = out_ns,
					.wake_ns = wake_ns,
					.call = call,
					.other_pid = 50,
					.other_tid = 50 };

	memcpy(event.other, other,
	       MIN(strlen(other), sizeof(event.other))); /* a full one has no end */
	return event;
}

/* In the order in which rings hand them out, which is not that of time. */
static void test_round_trip(void)
{
	g_autofree gchar *run = g_dir_make_tmp("tacho-kernel-XXXXXX", NULL);
	g_autofree gchar *folder = g_build_filename(run, "traces", "kernel", NULL);
	struct kernel_trace *trace = kernel_trace_open(run);
	struct kernel_off_cpu second =
		off_cpu(5000, 0, 6000, KERNEL_CALL_UNKNOWN, "sixteen-letters!");
	struct kernel_off_cpu first = off_cpu(1000, 3000, 4000, 0, "hog"); /* read, on x86-64 */
	struct kernel_retransmit again = { .event = { 900000000, KERNEL_RETRANSMIT, 30, 0, 0 },
					   .timeout_ticks = 0,
					   .round_trip_us = 100,
					   .is_v6 = 1,
					   .local_port = 1,
					   .peer_port = 2 };
	struct thread_sums sums = { .pid = 30, .tid = 31, .run_ns = 1000000 };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autofree gchar *blocked = g_strdup_printf("blocked in %s", call_name(0));

	g_assert_nonnull(trace);
	again.local[10] = again.local[11] = again.peer[10] = again.peer[11] = 0xff;
	again.local[12] = again.peer[12] = 10;
	again.local[15] = 1, again.peer[15] = 2;
	kernel_trace_add(trace, &second, sizeof(second));
	kernel_trace_add(trace, &first, sizeof(first));
	kernel_trace_add(trace, &first, sizeof(first) - 1); /* too short */
	g_assert_cmpint(kernel_trace_flush(trace, 7000, 0), ==, 0);
	kernel_trace_add(trace, &again, sizeof(again));
	kernel_trace_add_sums(trace, 8000, &sums);
	kernel_trace_add(trace, &first, sizeof(first)); /* too late */
	g_assert_cmpint(kernel_trace_flush(trace, 9000, 4), ==, 0);
	g_assert_cmpint(kernel_trace_close(trace, 4), ==, 0);

	timeline = foreign_open(folder);
	timeline_assert_slice(timeline, blocked, 0, "event", 0, 2000);
	timeline_assert_slice(timeline, "run queue, behind hog", 0, "event", 2000, 1000);
	timeline_assert_slice(timeline, "preempted by sixteen-letters!", 0, "event", 4000, 1000);
	timeline_assert_slice(timeline, "retransmit 10.0.0.1 -> 10.0.0.2", 0, "event",
			      900000000 - 100000 - 1000, 100000);
	g_assert_cmpint(timeline->origin_unix_ns, ==, 1000);
	g_assert_cmpuint(timeline->n_dropped, ==, 5);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_LOST_RECORDS));
	remove_run(run);
}

/* One without events leaves nothing. */
static void test_empty(void)
{
	g_autofree gchar *run = g_dir_make_tmp("tacho-kernel-XXXXXX", NULL);
	struct kernel_trace *trace = kernel_trace_open(run);

	g_assert_nonnull(trace);
	g_assert_cmpint(kernel_trace_flush(trace, 100, 0), ==, 0);
	g_assert_cmpint(kernel_trace_close(trace, 0), ==, 0);
	g_assert_cmpint(g_rmdir(run), ==, 0);
	g_assert_null(kernel_trace_open(run));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#ifdef TACHO_HAVE_BABELTRACE
	g_test_add_func("/kernel-trace/round-trip", test_round_trip);
#endif
	g_test_add_func("/kernel-trace/empty", test_empty);
	return g_test_run();
}
