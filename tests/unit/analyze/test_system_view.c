/* The kernel's part in a step: the system view, the accounts of the step view, advice. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "timeline_text.h"
#include "trace/kernel_event.h"
#include "views_support.h"

#define MS G_GINT64_CONSTANT(1000000)

static guint32 add_track(TachoTimeline *timeline, TachoTrackKind kind, guint32 tid,
			 const gchar *name)
{
	TachoTrack track = { .kind = kind,
			     .tid = tid,
			     .name = tacho_timeline_intern(timeline, name, -1) };

	g_array_append_val(timeline->tracks, track);
	return timeline->tracks->len - 1;
}

static void add_event(TachoTimeline *timeline, guint32 track, enum kernel_event_kind kind,
		      const gchar *detail, gint64 begin_ms, gint64 end_ms)
{
	tacho_timeline_add_slice(timeline, TACHO_SLICE_EVENT, track,
				 kernel_event_name(timeline, kind, detail, FALSE), begin_ms * MS,
				 (end_ms - begin_ms) * MS, 0, 0);
}

/* Two steps of 100 ms. In the first it computes 0..40, has a collective that nobody waits for 60..80, and idles; a hog takes the core of one
 * thread 30..50, and of another 45..55. Something is sent once more 50..70. In the second step nothing of that is. */
static TachoTimeline *make(void)
{
	TachoTimeline *timeline = timeline_from_text("rank 0 thread 10 main\n"
						     "  op aten::mm 0..40\n"
						     "  collective sum 60..80 bytes=64\n"
						     "  op aten::mm 100..200\n");
	guint32 main_thread = add_track(timeline, TACHO_TRACK_ASYNC, 10, "kernel, thread 10");
	guint32 other = add_track(timeline, TACHO_TRACK_ASYNC, 11, "kernel, thread 11");
	guint32 process = add_track(timeline, TACHO_TRACK_ASYNC, 0, "kernel, process");
	guint32 faults =
		add_track(timeline, TACHO_TRACK_COUNTER, 10, "minor page faults, thread 10");
	TachoSample samples[] = { { .time_ns = 0, .value = 5, .track = faults },
				  { .time_ns = 100 * MS, .value = 15, .track = faults },
				  { .time_ns = 200 * MS, .value = 75, .track = faults } };

	add_event(timeline, main_thread, KERNEL_EVENT_PREEMPTED, "hog", 30, 50);
	add_event(timeline, other, KERNEL_EVENT_PREEMPTED, "hog", 45, 55);
	add_event(timeline, other, KERNEL_EVENT_BLOCKED, "futex", 0, 45);
	add_event(timeline, process, KERNEL_EVENT_RETRANSMIT, "a -> b", 50, 70);
	g_array_append_vals(timeline->samples, samples, G_N_ELEMENTS(samples));
	g_free(tacho_timeline_finish(timeline));
	add_step(timeline, 0, 0, 0, 100);
	add_step(timeline, 0, 1, 100, 200);
	add_collective(timeline, "sum", 64);
	return timeline;
}

static void test_accounts(void)
{
	g_autoptr(TachoTimeline) timeline = make();
	g_autoptr(TachoTable) table = tacho_view_step(timeline, NULL);

	g_assert_cmpstr(tacho_table_cell_text(table, 0, "system"), ==,
			"idle: preempted by hog 15.00 ms; computing: preempted by hog 10.00 ms; "
			"waiting: retransmit a -> b 10.00 ms");
	g_assert_null(tacho_table_cell_text(table, 1, "system"));
}

static gint find_row(const TachoTable *table, const gchar *kind, gint thread)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, "kind"), kind) == 0 &&
		    (thread < 0 || (gint)tacho_table_cell_number(table, row, "tid") == thread))
			return (gint)row;
	return -1;
}

static void expect(const TachoTable *table, const gchar *kind, gint thread, const gchar *key,
		   gdouble value)
{
	gint row = find_row(table, kind, thread);

	g_assert_cmpint(row, >=, 0);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, (guint)row, key), value,
				       1e-9);
}

static void test_view(void)
{
	g_autoptr(TachoTimeline) timeline = make();
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) first = NULL;
	g_autoptr(TachoTable) both = NULL;

	filter.first_step = filter.last_step = 0;
	first = tacho_view_system(timeline, &filter);
	expect(first, "preempted", 10, "total_ms", 20);
	expect(first, "preempted", 11, "total_ms", 10);
	expect(first, "blocked", 11, "max_us", 45000);
	expect(first, "retransmit", -1, "count", 1);
	expect(first, "minor page faults", 10, "count", 10);
	filter.last_step = 1;
	both = tacho_view_system(timeline, &filter);
	expect(both, "preempted", 10, "ms_per_step", 10);
	expect(both, "minor page faults", 10, "count", 70);
	g_assert_cmpuint(tacho_table_n_rows(both), ==, 5);
}

/* The advice that is worth it is given, with the rank and who it was; without events of the kernel none is. */
static void test_advice(void)
{
	g_autoptr(TachoTimeline) timeline = make();
	g_autoptr(TachoTimeline) without = timeline_from_text("rank 0 thread 10 main\n"
							      "  op aten::mm 0..40\n");
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(TachoTable) table = NULL;
	g_autoptr(TachoTable) nothing = NULL;
	guint n_found = 0;

	filter.first_step = filter.last_step = 0;
	table = tacho_view_advise(timeline, &filter);
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		const gchar *checker = tacho_table_cell_text(table, row, "checker");
		const gchar *where = tacho_table_cell_text(table, row, "where");

		if (strcmp(checker, "preemption") == 0) {
			n_found++;
			g_assert_cmpstr(where, ==, "preempted by hog");
			g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, "value"),
						       25, 1e-9);
		} else if (strcmp(checker, "retransmits") == 0) {
			n_found++;
			g_assert_cmpstr(where, ==, "retransmit a -> b");
			g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, "value"),
						       10, 1e-9);
		}
	}
	g_assert_cmpuint(n_found, ==, 2);
	add_step(without, 0, 0, 0, 100);
	nothing = tacho_view_advise(without, NULL);
	for (guint row = 0; row < tacho_table_n_rows(nothing); row++)
		g_assert_cmpstr(tacho_table_cell_text(nothing, row, "checker"), !=, "preemption");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/system/accounts", test_accounts);
	g_test_add_func("/system/view", test_view);
	g_test_add_func("/system/advice", test_advice);
	return g_test_run();
}
