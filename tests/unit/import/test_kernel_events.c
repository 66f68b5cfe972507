/* What the kernel did with threads: as LTTng's kernel tracer tells it, and as tacho's own recorder does. */
#include <string.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "timeline_text.h"
#include "trace/kernel_event.h"

static TachoTimeline *open_lines(const gchar *text)
{
	gchar *folder = ctf_lines_new(text);
	TachoTimeline *timeline = foreign_open(folder);

	ctf_lines_remove(folder);
	return timeline;
}

static const TachoTrack *track_of(const TachoTimeline *timeline, const gchar *name)
{
	return tacho_timeline_track(timeline,
				    timeline->slices.track[timeline_find(timeline, name, 0)]);
}

static guint count(const TachoTimeline *timeline, enum kernel_event_kind kind)
{
	guint n = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		n += kernel_event_of(timeline, i) == kind;
	return n;
}

#define SWITCH(prev, prev_tid, state, next, next_tid)                                              \
	" 0 sched_switch prev_comm=" prev " prev_tid=i:" #prev_tid " prev_state=i:" #state         \
	" next_comm=" next " next_tid=i:" #next_tid "\n"

/* A thread is preempted, and then waits in a call, is woken, and gets a core behind another thread of its process. */
static void test_lttng(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"env domain kernel\n"
		"context\n"
		"stream cpu=1\n"
		"10 0 lttng_statedump_process_state tid=i:31 pid=i:30 name=train\n"
		"11 0 lttng_statedump_process_state tid=i:32 pid=i:30 name=loader\n"
		"12 0 lttng_statedump_process_state tid=i:50 pid=i:50 name=hog\n"
		"100" SWITCH("swapper", 0, 0, "train", 31) "300" SWITCH(
			"train", 31, 0, "hog",
			50) "500" SWITCH("hog", 50, 1024, "train",
					 31) "600 0 syscall_entry_futex uaddr=x:1\n"
					     "650" SWITCH(
						     "train", 31, 1, "loader",
						     32) "700 0 sched_waking comm=train tid=i:31\n"
							 "701 0 sched_wakeup comm=train tid=i:31\n"
							 "750" SWITCH(
								 "loader", 32, 2, "train",
								 31) "800 0 syscall_exit_futex "
								     "ret=i:0\n"
								     "810 0 block_rq_issue "
								     "dev=u:266338304 sector=u:64 "
								     "rwbs=u:1 tid=i:31\n"
								     "860 0 block_rq_complete "
								     "dev=u:266338304 sector=u:64\n"
								     "870 0 "
								     "mm_vmscan_direct_reclaim_"
								     "begin order=i:0\n"
								     "880 0 "
								     "mm_vmscan_direct_reclaim_end "
								     "nr_reclaimed=u:3\n");
	const TachoTrack *track = track_of(timeline, "preempted by hog");

	timeline_assert_slice(timeline, "preempted by hog", 0, "event", 290, 200);
	timeline_assert_slice(timeline, "blocked in futex", 0, "event", 640, 50);
	timeline_assert_slice(timeline, "run queue, behind own loader", 0, "event", 690, 50);
	timeline_assert_slice(timeline, "block write 254:0", 0, "event", 800, 50);
	timeline_assert_slice(timeline, "memory reclaim", 0, "event", 860, 10);
	g_assert_cmpint(track->kind, ==, TACHO_TRACK_ASYNC);
	g_assert_cmpuint(track->tid, ==, 31);
	g_assert_cmpuint(tacho_track_process(timeline, track)->pid, ==, 30);
	g_assert_cmpstr(tacho_timeline_string(timeline, track->name), ==, "kernel, thread 31");
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_PREEMPTED), ==, 1);
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_RUN_QUEUE), ==, 1);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Without events of wake-ups all of an absence counts as blocked; threads of unknown processes have no absences. */
static void test_lttng_little(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"env domain kernel\n"
		"context\n"
		"stream cpu=0\n"
		"10 0 lttng_statedump_process_state tid=i:31 pid=i:30 name=train\n"
		"100" SWITCH("train", 31, 1, "other", 77) "200" SWITCH(
			"other", 77, 0, "train", 31) "300" SWITCH("train", 31, 1, "other", 77));

	timeline_assert_slice(timeline, "blocked", 0, "event", 90, 100);
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_BLOCKED), ==, 1);
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_PREEMPTED), ==, 0);
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_RUN_QUEUE), ==, 0);
}

#define OFF_CPU(out, wake, call, other, other_pid, faults)                                         \
	" 31 tacho_kernel:off_cpu out=u:" #out " wake=u:" #wake " call='" call "' other='" other   \
	"' other_pid=u:" #other_pid " minor_faults=u:" #faults " major_faults=u:1\n"

static void test_recorder(void)
{
	g_autoptr(TachoTimeline) timeline = open_lines(
		"env domain kernel\n"
		"pid 30\n"
		"100" OFF_CPU(40, 0, "", "hog", 50, 7) "200" OFF_CPU(
			110, 180, "futex", "python3", 30,
			9) "300" OFF_CPU(210, 300, "page fault", "", 0,
					 9) "400 31 tacho_kernel:reclaim begin=u:350 pages=u:3\n"
					    "500 31 tacho_kernel:block_io queued=u:450 "
					    "issued=u:460 operation=read device=8:0\n"
					    "900 0 tacho_kernel:retransmit waited=u:200 "
					    "link='10.0.0.1 -> 10.0.0.2'\n"
					    "950 31 tacho_kernel:retransmit waited=u:2000 "
					    "link='fe80::1 -> fe80::2'\n");
	guint n;

	timeline_assert_slice(timeline, "preempted by hog", 0, "event", 40, 60);
	timeline_assert_slice(timeline, "blocked in futex", 0, "event", 110, 70);
	timeline_assert_slice(timeline, "run queue, behind own python3", 0, "event", 180, 20);
	timeline_assert_slice(timeline, "page fault", 0, "event", 210, 90);
	timeline_assert_slice(timeline, "memory reclaim", 0, "event", 350, 50);
	timeline_assert_slice(timeline, "block read 8:0", 0, "event", 450, 50);
	timeline_assert_slice(timeline, "retransmit 10.0.0.1 -> 10.0.0.2", 0, "event", 700, 200);
	timeline_assert_slice(timeline, "retransmit fe80::1 -> fe80::2", 0, "event", 0, 950);
	g_assert_cmpuint(track_of(timeline, "retransmit 10.0.0.1 -> 10.0.0.2")->tid, ==, 0);
	g_assert_cmpuint(count(timeline, KERNEL_EVENT_RUN_QUEUE), ==, 1);
	for (guint i = n = 0; i < timeline->tracks->len; i++)
		n += kernel_counter_of(timeline, tacho_timeline_track(timeline, i)->name) ==
		     KERNEL_COUNTER_MINOR_FAULTS;
	g_assert_cmpuint(n, ==, 1);
}

static void test_names(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	guint32 name = kernel_event_name(timeline, KERNEL_EVENT_PREEMPTED, "a b", TRUE);

	g_assert_cmpstr(tacho_timeline_string(timeline, name), ==, "preempted by own a b");
	g_assert_true(kernel_event_is_own(timeline, name, KERNEL_EVENT_PREEMPTED));
	g_assert_cmpstr(kernel_event_detail(timeline, name, KERNEL_EVENT_PREEMPTED), ==, "own a b");
	name = kernel_event_name(timeline, KERNEL_EVENT_BLOCKED, "", FALSE);
	g_assert_cmpstr(tacho_timeline_string(timeline, name), ==, "blocked");
	g_assert_cmpstr(kernel_event_detail(timeline, name, KERNEL_EVENT_BLOCKED), ==, "");
	g_assert_false(kernel_events_are_in(timeline));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel-events/names", test_names);
#ifdef TACHO_HAVE_BABELTRACE
	g_test_add_func("/kernel-events/lttng", test_lttng);
	g_test_add_func("/kernel-events/lttng-little", test_lttng_little);
	g_test_add_func("/kernel-events/recorder", test_recorder);
#endif
	return g_test_run();
}
