/* The timeline's own promises: order, nesting, strings, kept arguments. */
#include <tacho/timeline.h>

#include "timeline_text.h"
#include "trace/source.h"
#include "trace/string_table.h"

static void test_strings(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	guint32 first = tacho_timeline_intern(timeline, "aten::add", -1);
	const gchar *text = tacho_timeline_string(timeline, first);
	guint32 found;

	g_assert_cmpuint(tacho_timeline_intern(timeline, "", -1), ==, 0);
	g_assert_cmpuint(tacho_timeline_intern(timeline, "aten::add_", 9), ==, first);
	g_assert_cmpuint(tacho_timeline_intern(timeline, "aten::add\0tail", 14), ==, first);
	for (guint i = 0; i < 100000; i++) {
		g_autofree gchar *name = g_strdup_printf("name %u", i);

		g_assert_cmpuint(tacho_timeline_intern(timeline, name, -1), ==, first + 1 + i);
	}
	g_assert_true(tacho_timeline_string(timeline, first) == text);
	g_assert_cmpstr(tacho_timeline_string(timeline, first + 77), ==, "name 76");
	g_assert_cmpstr(tacho_timeline_string(timeline, TACHO_NONE), ==, "");
	g_assert_true(string_table_find(timeline->strings, "name 77", -1, &found));
	g_assert_cmpuint(found, ==, first + 78);
	g_assert_true(string_table_find(timeline->strings, "", -1, &found));
	g_assert_cmpuint(found, ==, 0);
	g_assert_false(string_table_find(timeline->strings, "name 77", 5, &found));
}

static void add_thread(TachoTimeline *timeline, TachoTrackKind kind)
{
	TachoProcess process = { 0 };
	TachoTrack track = { .kind = kind };

	if (!timeline->processes->len)
		g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->tracks, track);
}

static void test_order(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autofree guint32 *moved = NULL;
	TachoSlices *slices = &timeline->slices;
	static const struct {
		guint32 track;
		gint64 start_ns, duration_ns;
		guint32 expected_row;
	} rows[] = {
		{ 1, 5, 10, 4 }, { 0, 20, 5, 2 }, { 0, 0, 10, 1 },
		{ 0, 0, 30, 0 }, { 1, 5, 10, 5 }, { 0, 22, 1, 3 },
	};

	add_thread(timeline, TACHO_TRACK_THREAD);
	add_thread(timeline, TACHO_TRACK_THREAD);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
		tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, rows[i].track, i,
					 rows[i].start_ns, rows[i].duration_ns, 0, 0);
	moved = tacho_timeline_finish(timeline);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_assert_cmpuint(moved[i], ==, rows[i].expected_row);
		g_assert_cmpuint(slices->name[moved[i]], ==, i);
		g_assert_cmpint(slices->start_ns[moved[i]], ==, rows[i].start_ns);
	}
	g_assert_cmpuint(slices->parent[0], ==, TACHO_NONE);
	g_assert_cmpuint(slices->parent[1], ==, 0);
	g_assert_cmpuint(slices->parent[2], ==, 0);
	g_assert_cmpuint(slices->parent[3], ==, 2);
	g_assert_cmpuint(slices->depth[3], ==, 2);
	g_assert_cmpuint(slices->parent[4], ==, TACHO_NONE);
	g_assert_cmpuint(slices->parent[5], ==, 4);
	g_assert_cmpuint(tacho_timeline_track(timeline, 1)->first_slice, ==, 4);
	g_assert_cmpuint(tacho_timeline_track(timeline, 1)->n_slices, ==, 2);
	g_assert_cmpuint(timeline->n_events, ==, 6);
	g_assert_cmpint(timeline->duration_ns, ==, 30);
}

/* Random rows against a quadratic search for the innermost container; none is cut. */
static void test_random_nesting(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	const TachoSlices *slices = &timeline->slices;
	g_autoptr(GRand) random = g_rand_new_with_seed(7);

	for (guint track = 0; track < 4; track++)
		add_thread(timeline, TACHO_TRACK_THREAD);
	for (guint i = 0; i < 2000; i++)
		tacho_timeline_add_slice(
			timeline, TACHO_SLICE_OP, (guint32)g_rand_int_range(random, 0, 4), 0,
			g_rand_int_range(random, 0, 5000), g_rand_int_range(random, 0, 60), 0, 0);
	g_free(tacho_timeline_finish(timeline));
	for (guint32 row = 0; row < slices->n; row++) {
		guint32 parent = TACHO_NONE;

		for (guint32 other =
			     tacho_timeline_track(timeline, slices->track[row])->first_slice;
		     other < row; other++) {
			g_assert_cmpint(slices->start_ns[other], <=, slices->start_ns[row]);
			if (tacho_slice_end_ns(timeline, other) > slices->start_ns[row] &&
			    tacho_slice_end_ns(timeline, other) >=
				    tacho_slice_end_ns(timeline, row))
				parent = other;
		}
		g_assert_cmpuint(slices->parent[row], ==, parent);
		g_assert_cmpuint(slices->depth[row], ==,
				 parent == TACHO_NONE ? 0 : slices->depth[parent] + 1);
		g_assert_cmpint(slices->flags[row], ==, 0);
	}
}

static void test_overlap(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\n"
							       "rank 3 thread 10 main\n"
							       "op outer 0..100\n"
							       "op late 90..120\n"
							       "op after 110..130\n"
							       "collective a 0..50\n"
							       "collective b 10..70\n"
							       "stream 7\n"
							       "kernel k 0..50\n"
							       "kernel l 40..60\n"
							       "kernel m 42..45\n");
	guint32 late = timeline_find(timeline, "late", 0), b = timeline_find(timeline, "b", 0);
	const TachoProblem *problem;

	g_assert_cmpint(timeline->slices.duration_ns[late], ==, 30);
	g_assert_cmpuint(timeline->slices.flags[late], ==, 0);
	g_assert_cmpuint(timeline->slices.parent[late], ==, TACHO_NONE);
	g_assert_cmpuint(timeline->slices.parent[timeline_find(timeline, "after", 0)], ==,
			 TACHO_NONE);
	g_assert_cmpuint(timeline->slices.parent[b], ==, TACHO_NONE);
	g_assert_cmpint(timeline->slices.duration_ns[b], ==, 60);
	g_assert_cmpint(tacho_timeline_track(timeline, timeline->slices.track[b])->kind, ==,
			TACHO_TRACK_ASYNC);
	g_assert_cmpint(timeline->slices.duration_ns[timeline_find(timeline, "l", 0)], ==, 20);
	g_assert_cmpuint(timeline->slices.parent[timeline_find(timeline, "m", 0)], ==,
			 timeline_find(timeline, "l", 0));
	g_assert_cmpuint(timeline->problems->len, ==, 1);
	problem = &g_array_index(timeline->problems, TachoProblem, 0);
	g_assert_cmpint(problem->kind, ==, TACHO_PROBLEM_OVERLAP);
	g_assert_cmpuint(problem->count, ==, 2); /* late, after */
	g_assert_nonnull(strstr(problem->where, "rank 3"));
}

/* A region that begins in a function and ends behind it lies beside the function, in what is around both. */
static void test_region_beside(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("unit ns\n"
							       "rank 0 thread 10 main\n"
							       "function loop 0..100\n"
							       "function enter 10..20\n"
							       "annotation region 15..80\n"
							       "op work 30..60\n"
							       "function exit 75..90\n"
							       "op inside 77..79\n"
							       "op next 85..88\n");
	const TachoSlices *slices = &timeline->slices;
	guint32 loop = timeline_find(timeline, "loop", 0),
		region = timeline_find(timeline, "region", 0),
		leave = timeline_find(timeline, "exit", 0);

	g_assert_cmpint(slices->duration_ns[region], ==, 65);
	g_assert_cmpint(slices->duration_ns[leave], ==, 15);
	g_assert_cmpuint(slices->parent[region], ==, loop);
	g_assert_cmpuint(slices->parent[leave], ==, loop);
	g_assert_cmpuint(slices->parent[timeline_find(timeline, "work", 0)], ==, region);
	g_assert_cmpuint(slices->parent[timeline_find(timeline, "inside", 0)], ==, leave);
	g_assert_cmpuint(slices->parent[timeline_find(timeline, "next", 0)], ==, leave);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

/* Nobody saw the end of an open slice: it is over with what it began in. */
static void test_open_within(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	add_thread(timeline, TACHO_TRACK_THREAD);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 0, 100, 0, 0);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_ANNOTATION, 0, 0, 50, 950, TACHO_SLICE_OPEN,
				 0);
	g_free(tacho_timeline_finish(timeline));
	g_assert_cmpint(timeline->slices.duration_ns[1], ==, 50);
	g_assert_cmpuint(timeline->slices.flags[1], ==, TACHO_SLICE_REPAIRED);
	g_assert_cmpuint(
		tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_BEGIN)->count, ==, 1);
}

static void test_impossible_times(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	add_thread(timeline, TACHO_TRACK_THREAD);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 10, -5, 0, 0);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 20, G_MAXINT64, 0, 0);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, G_MININT64, 5, 0, 0);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, G_MAXINT64 - 1, 5, 0, 0);
	tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 30, 5, 0, 0);
	g_free(tacho_timeline_finish(timeline));
	g_assert_cmpint(timeline->slices.start_ns[0], ==, -TACHO_MAX_TIME_NS);
	g_assert_cmpint(timeline->slices.duration_ns[0], ==, 5);
	g_assert_cmpint(timeline->slices.duration_ns[1], ==, 0);
	g_assert_cmpint(timeline->slices.duration_ns[2], ==, 0);
	g_assert_cmpint(timeline->slices.start_ns[3], ==, 30);
	g_assert_cmpint(timeline->slices.flags[3] & TACHO_SLICE_REPAIRED, ==, 0);
	g_assert_cmpint(timeline->slices.start_ns[4], ==, TACHO_MAX_TIME_NS);
	g_assert_cmpint(tacho_slice_end_ns(timeline, 4), ==, TACHO_MAX_TIME_NS);
	g_assert_cmpuint(g_array_index(timeline->problems, TachoProblem, 0).count, ==, 4);
}

/* A launch is followed to where sorting puts both rows. */
static void test_launch(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	g_autofree guint32 *moved = NULL;
	guint32 kernel, launch, other;

	add_thread(timeline, TACHO_TRACK_THREAD);
	add_thread(timeline, TACHO_TRACK_STREAM);
	kernel = tacho_timeline_add_slice(timeline, TACHO_SLICE_KERNEL, 1, 0, 50, 5, 0, 0);
	launch = tacho_timeline_add_slice(timeline, TACHO_SLICE_RUNTIME, 0, 0, 40, 5, 0, 0);
	other = tacho_timeline_add_slice(timeline, TACHO_SLICE_RUNTIME, 0, 0, 10, 5, 0, 0);
	tacho_timeline_set_launch(timeline, kernel, launch);
	moved = tacho_timeline_finish(timeline);
	g_assert_cmpuint(moved[other], ==, 0);
	g_assert_cmpuint(timeline->slices.launch[moved[kernel]], ==, moved[launch]);
	g_assert_cmpuint(timeline->slices.launch[moved[launch]], ==, TACHO_NONE);
}

/* A call that ends later by no more than times were rounded to lies within, and it is told. */
static void test_resolution(void)
{
	for (gint64 resolution_ns = 0; resolution_ns <= 1000; resolution_ns += 1000) {
		g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
		g_autofree guint32 *moved = NULL;

		timeline->resolution_ns = resolution_ns;
		add_thread(timeline, TACHO_TRACK_THREAD);
		tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 0, 5000, 0, 0);
		tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, 3000, 3000, 0, 0);
		moved = tacho_timeline_finish(timeline);
		g_assert_cmpint(timeline->slices.duration_ns[1], ==, resolution_ns ? 2000 : 3000);
		g_assert_cmpuint(timeline->slices.parent[1], ==, resolution_ns ? 0 : TACHO_NONE);
		g_assert_cmpuint(timeline->problems->len, ==, 1);
		g_assert_cmpuint(tacho_timeline_find_problem(
					 timeline, resolution_ns ? TACHO_PROBLEM_ROUNDED_END
								 : TACHO_PROBLEM_OVERLAP)
					 ->count,
				 ==, 1);
		g_assert_cmpuint(timeline->slices.flags[1], ==, 0);
	}
}

static guint n_readers_freed;

static gboolean read_foreign_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *args)
{
	(void)reader;
	*args = (TachoOpArgs){ .sequence = (gint64)place };
	return TRUE;
}

static gchar *read_foreign_args(struct foreign_reader *reader, guint64 place)
{
	(void)reader;
	return g_strdup_printf("{\"place\":%" G_GUINT64_FORMAT "}", place);
}

static void free_reader(struct foreign_reader *reader)
{
	(void)reader;
	n_readers_freed++;
}

static void test_foreign_reader(void)
{
	static struct foreign_reader first = { .free = free_reader }, second = {
		.op = read_foreign_op,
		.args_json = read_foreign_args,
		.free = free_reader,
	};
	TachoTimeline *timeline = tacho_timeline_new();
	g_autofree guint32 *moved = NULL;
	g_autofree gchar *args_json = NULL;
	guint64 handles[2];
	TachoKernelArgs kernel;
	TachoOpArgs op;

	handles[0] =
		tacho_source_foreign_handle(tacho_source_take_foreign(timeline->source, &first), 7);
	handles[1] = tacho_source_foreign_handle(
		tacho_source_take_foreign(timeline->source, &second), SOURCE_MAX_PLACE - 1);
	g_assert_cmpuint(tacho_source_foreign_handle(0, SOURCE_MAX_PLACE), ==, 0);
	add_thread(timeline, TACHO_TRACK_THREAD);
	for (guint i = 0; i < 2; i++)
		tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, 0, 0, i, 1, 0, handles[i]);
	moved = tacho_timeline_finish(timeline);
	g_assert_null(tacho_slice_args_json(timeline, 0));
	g_assert_false(tacho_slice_op(timeline, 0, &op));
	g_assert_true(tacho_slice_op(timeline, 1, &op));
	g_assert_cmpint(op.sequence, ==, (gint64)SOURCE_MAX_PLACE - 1);
	g_assert_false(tacho_slice_kernel(timeline, 1, &kernel));
	args_json = tacho_slice_args_json(timeline, 1);
	g_assert_cmpstr(args_json, ==, "{\"place\":281474976710655}");
	tacho_timeline_free(timeline);
	g_assert_cmpuint(n_readers_freed, ==, 2);
}

static void test_no_slices(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	add_thread(timeline, TACHO_TRACK_THREAD);
	g_free(tacho_timeline_finish(timeline));
	g_assert_cmpuint(tacho_timeline_track(timeline, 0)->n_slices, ==, 0);
	tacho_timeline_free(NULL);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/timeline/strings", test_strings);
	g_test_add_func("/timeline/order", test_order);
	g_test_add_func("/timeline/random-nesting", test_random_nesting);
	g_test_add_func("/timeline/overlap", test_overlap);
	g_test_add_func("/timeline/region-beside", test_region_beside);
	g_test_add_func("/timeline/open-within", test_open_within);
	g_test_add_func("/timeline/impossible-times", test_impossible_times);
	g_test_add_func("/timeline/launch", test_launch);
	g_test_add_func("/timeline/resolution", test_resolution);
	g_test_add_func("/timeline/foreign-reader", test_foreign_reader);
	g_test_add_func("/timeline/no-slices", test_no_slices);
	return g_test_run();
}
