/* What tells recordings of one job from those of several: by how much two outlines differ, in figures. Times are
 * microseconds. */
#include <tacho/correlate.h>

#include "predict/job_outline.h"
#include "predict/prediction.h"
#include "timeline_text.h"

/* One step of a rank, of so many operations of each name. */
struct ops {
	const gchar *name;
	guint n;
};

static GString *text_of_rank(guint rank)
{
	GString *text = g_string_new("unit us\n");

	g_string_append_printf(text, "rank %u thread %u main\n", rank, 1000 + rank);
	return text;
}

static gchar *step_of(const struct ops *ops)
{
	GString *text = text_of_rank(0);
	guint at = 0;

	g_string_append(text, "  annotation ProfilerStep#0 0..1000\n");
	for (; ops->name; ops++)
		for (guint i = 0; i < ops->n; i++, at += 2)
			g_string_append_printf(text, "    op %s %u..%u\n", ops->name, at, at + 1);
	return g_string_free(text, FALSE);
}

/* Steps `first` to `last` of a job; the caller's. */
struct outlined {
	TachoTimeline *timeline;
	TachoGraph *graph;
	struct job_outline outline;
};

static void outlined_init(struct outlined *job, const gchar *text, gint64 first, gint64 last)
{
	g_autoptr(GError) error = NULL;

	job->timeline = correlated(text);
	job->graph = replay_build_graph(job->timeline, first, last, &error);
	g_assert_no_error(error);
	job_outline_init(&job->outline, job->graph);
}

static void outlined_release(struct outlined *job)
{
	job_outline_release(&job->outline);
	tacho_graph_free(job->graph);
	tacho_timeline_free(job->timeline);
}

/* What is said of the second job, or refused; NULL: nothing. Other than a refusal, there may be notes. */
static void check_steps(const gchar *first, const gchar *other, gint64 first_step, gint64 last_step,
			const gchar *refusal, const gchar *const *notes)
{
	g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GError) error = NULL;
	struct outlined one, two;
	guint n_notes = 0;

	outlined_init(&one, first, first_step, last_step);
	outlined_init(&two, other, first_step, last_step);
	g_assert_true(job_outline_check(&one.outline, &two.outline, told, &error) == !refusal);
	outlined_release(&one);
	outlined_release(&two);
	if (refusal) {
		g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_OTHER_JOB);
		g_assert_cmpstr(error->message, ==, refusal);
		return;
	}
	for (; notes[n_notes]; n_notes++) {
		g_assert_cmpuint(n_notes, <, told->len);
		g_assert_cmpstr(g_ptr_array_index(told, n_notes), ==, notes[n_notes]);
	}
	g_assert_cmpuint(told->len, ==, n_notes);
}

#define CHECK(first, other, refusal, ...)                                                          \
	check_steps(first, other, 0, -1, refusal, (const gchar *const[]){ __VA_ARGS__ NULL })

#define CHECK_OPS(first, other, refusal, ...)                                                      \
	do {                                                                                       \
		g_autofree gchar *one = step_of(first), *two = step_of(other);                     \
                                                                                                   \
		CHECK(one, two, refusal, __VA_ARGS__);                                             \
	} while (0)

#define SHAPES(percent)                                                                            \
	percent " % of its operations have inputs of other shapes, as with another batch size or " \
		"another model"

typedef struct ops ops_of_step[];

/* --- operations --------------------------------------------------------------------------------- */

/* More than a hundredth is noted, more than a quarter refused; what differs in number differs in shaped operations, too. */
static void test_limits(void)
{
	CHECK_OPS(((ops_of_step){ { "a", 5 }, { "b", 5 }, { 0 } }),
		  ((ops_of_step){ { "b", 5 }, { "a", 5 }, { 0 } }), NULL);
	CHECK_OPS(((ops_of_step){ { "a", 99 }, { 0 } }), ((ops_of_step){ { "a", 100 }, { 0 } }),
		  NULL);
	CHECK_OPS(((ops_of_step){ { "a", 98 }, { 0 } }), ((ops_of_step){ { "a", 97 }, { 0 } }),
		  NULL, "1 % of its operations differ: 97 of a a step instead of 98",
		  SHAPES("1"), );
	CHECK_OPS(((ops_of_step){ { "a", 3 }, { 0 } }), ((ops_of_step){ { "a", 4 }, { 0 } }), NULL,
		  "25 % of its operations differ: 4 of a a step instead of 3", SHAPES("25"), );
	CHECK_OPS(((ops_of_step){ { "a", 4 }, { 0 } }), ((ops_of_step){ { "a", 3 }, { 0 } }), NULL,
		  "25 % of its operations differ: 3 of a a step instead of 4", SHAPES("25"), );
	CHECK_OPS(((ops_of_step){ { "a", 5 }, { 0 } }), ((ops_of_step){ { "a", 7 }, { 0 } }),
		  "29 % of its operations differ: 7 of a a step instead of 5");
}

/* The share is of what either has; named is what differs most, and of equals the first by name, whichever job has it. */
static void test_names(void)
{
	/* |10 - 9| + |0 - 1| of 10 + 10 + 1 */
	CHECK_OPS(((ops_of_step){ { "a", 10 }, { "b", 10 }, { 0 } }),
		  ((ops_of_step){ { "a", 10 }, { "b", 9 }, { "c", 1 }, { 0 } }), NULL,
		  "10 % of its operations differ: 9 of b a step instead of 10", SHAPES("10"), );
	CHECK_OPS(((ops_of_step){ { "a", 10 }, { "b", 10 }, { 0 } }),
		  ((ops_of_step){ { "a", 10 }, { "b", 9 }, { "c", 2 }, { 0 } }), NULL,
		  "14 % of its operations differ: 2 of c a step instead of 0", SHAPES("14"), );
	CHECK_OPS(((ops_of_step){ { "base", 40 }, { 0 } }),
		  ((ops_of_step){ { "base", 40 },
				  { "k", 1 },
				  { "m", 1 },
				  { "b", 1 },
				  { "x", 1 },
				  { "e", 1 },
				  { 0 } }),
		  NULL, "11 % of its operations differ: 1 of b a step instead of 0",
		  SHAPES("11"), );
	CHECK_OPS(((ops_of_step){ { "base", 40 },
				  { "k", 1 },
				  { "m", 1 },
				  { "b", 1 },
				  { "x", 1 },
				  { "e", 1 },
				  { 0 } }),
		  ((ops_of_step){ { "base", 40 }, { 0 } }), NULL,
		  "11 % of its operations differ: 0 of b a step instead of 1", SHAPES("11"), );
	CHECK_OPS(((ops_of_step){ { "a", 1 }, { 0 } }), ((ops_of_step){ { "b", 1 }, { 0 } }),
		  "100 % of its operations differ: 0 of a a step instead of 1");
}

/* Only operations count, only those of the main process, and those that begin in steps that are played: from when a step
 * begins until it ends. */
static void test_what_counts(void)
{
	static const gchar plain[] = "unit us\nrank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 100..200\n"
				     "    op a 100..110\n"
				     "  annotation ProfilerStep#1 300..400\n"
				     "    op a 300..310\n"
				     "  annotation ProfilerStep#2 400..500\n"
				     "    op a 400..410\n";
	static const gchar more[] = "unit us\nrank 0 thread 1000 main\n"
				    "    op before 10..20\n"
				    "  annotation ProfilerStep#0 100..200\n"
				    "    op a 100..110\n"
				    "    annotation region 120..130\n"
				    "    op between 200..210\n"
				    "    op between 299..300\n"
				    "  annotation ProfilerStep#1 300..400\n"
				    "    op a 300..310\n"
				    "  annotation ProfilerStep#2 400..500\n"
				    "    op a 400..410\n"
				    "    op behind 500..510\n"
				    "process 77 thread 77 helper\n"
				    "    op other 100..110\n";
	static const gchar third[] = "unit us\nrank 0 thread 1000 main\n"
				     "  annotation ProfilerStep#0 100..200\n"
				     "    op a 100..110\n"
				     "  annotation ProfilerStep#1 300..400\n"
				     "    op a 300..310\n"
				     "  annotation ProfilerStep#2 400..500\n"
				     "    op a 400..410\n"
				     "    op a 420..430\n"
				     "    op a 440..450\n";

	CHECK(plain, more, NULL);
	check_steps(plain, third, 0, 1, NULL, (const gchar *const[]){ NULL });
	/* a step has 3 / 2 of it */
	check_steps(plain, third, 1, 2, "50 % of its operations differ: 2 of a a step instead of 1",
		    NULL);
	check_steps(plain, third, 0, 2,
		    "40 % of its operations differ: 1.667 of a a step instead of 1", NULL);
}

/* Other threads of the process count as well, each from the first step on. */
static void test_threads(void)
{
	static const gchar text[] = "unit us\nrank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 100..200\n"
				    "    op a 100..110\n"
				    "  annotation ProfilerStep#1 200..300\n"
				    "    op a 200..210\n"
				    "thread 1001 second\n"
				    "    op b 120..130\n"
				    "    op b 220..230\n";
	struct outlined job;
	const gdouble *n;

	outlined_init(&job, text, 0, -1);
	n = g_hash_table_lookup(job.outline.ops, "b");
	g_assert_nonnull(n);
	g_assert_cmpfloat(*n, ==, 1);
	g_assert_cmpuint(g_hash_table_size(job.outline.ops), ==, 2);
	g_assert_cmpuint(g_hash_table_size(job.outline.shaped), ==, 2);
	outlined_release(&job);
}

#define LAUNCH "    runtime l 60..61\n  stream 7\n    kernel K 62..63 launch=l\n"

/* What a device did without steps is played as a whole. */
static void test_no_steps(void)
{
	static const gchar one[] = "unit us\nrank 0 thread 1000 main\n"
				   "    op a 0..10\n    op b 20..30\n    op c 40..50\n" LAUNCH;
	static const gchar other[] = "unit us\nrank 0 thread 1000 main\n"
				     "    op a 0..10\n    op b 20..30\n    op d 40..50\n" LAUNCH;

	check_steps(one, one, -1, -1, NULL, (const gchar *const[]){ NULL });
	check_steps(one, other, -1, -1, "50 % of its operations differ: 0 of c a step instead of 1",
		    NULL);
}

/* --- shapes ------------------------------------------------------------------------------------- */

/* Two operations, of which one has these inputs. */
static gchar *step_with(const gchar *inputs)
{
	return g_strdup_printf("unit us\nrank 0 thread 1000 main\n"
			       "  annotation ProfilerStep#0 0..100\n"
			       "    op a 0..10\n    op b 20..30 %s\n",
			       inputs);
}

/* One operation of two is another, so of three that either has two differ; where its tensors are does not matter. */
static void test_shapes(void)
{
	static const gchar *const apart[][2] = {
		{ "in=float32[4,3]@0x10", "in=float32[3,4]@0x10" },
		{ "in=float32[4]@0x10", "in=float32[5]@0x10" },
		{ "in=float32[4]@0x10", "" },
		{ "in=float32[4]@0x10", "in=float32[4,1]@0x10" },
		{ "in=float32[4]@0x10 in=float32[5]@0x20",
		  "in=float32[5]@0x10 in=float32[4]@0x20" },
		{ "in=float32[4]@0x10 in=float32[4]@0x20", "in=float32[4]@0x10" },
	};
	static const gchar *const alike[][2] = {
		{ "in=float32[4,3]@0x10", "in=float32[4,3]@0x90" },
		{ "in=float32[4,3]@0x10", "in=float32[4,3]@0x10 out=float32[7]@0x80" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(apart); i++) {
		g_autofree gchar *one = step_with(apart[i][0]), *two = step_with(apart[i][1]);

		CHECK(one, two, NULL, SHAPES("67"), );
	}
	for (guint i = 0; i < G_N_ELEMENTS(alike); i++) {
		g_autofree gchar *one = step_with(alike[i][0]), *two = step_with(alike[i][1]);

		CHECK(one, two, NULL);
	}
}

/* --- collectives and ranks ---------------------------------------------------------------------- */

/* All-reduces of so many bytes in a step of two ranks. */
static gchar *step_of_bytes(const guint *bytes, guint n)
{
	g_autoptr(GString) text = g_string_new("unit us\n");

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text,
				       "rank %u thread %u main\n"
				       "  annotation ProfilerStep#0 0..1000\n    op a 0..10\n",
				       rank, 1000 + rank);
		for (guint i = 0; i < n; i++)
			g_string_append_printf(
				text, "    collective gloo:all_reduce %u..%u bytes=%u end_tid=9\n",
				20 * i + 20, 20 * i + 30, bytes[i]);
	}
	return g_string_free(g_steal_pointer(&text), FALSE);
}

#define CHECK_BYTES(first, other, refusal, ...)                                                    \
	do {                                                                                       \
		g_autofree gchar *one = step_of_bytes(first, G_N_ELEMENTS(first));                 \
		g_autofree gchar *two = step_of_bytes(other, G_N_ELEMENTS(other));                 \
                                                                                                   \
		CHECK(one, two, refusal, __VA_ARGS__);                                             \
	} while (0)

/* A collective is one, however many ranks have it. */
static void test_collectives(void)
{
	static const guint three[] = { 1000000, 1000000, 1000000 };
	static const guint four[] = { 1000000, 1000000, 1000000, 1000000 };
	static const guint larger[] = { 1000000, 1000000, 2000000 };
	static const guint little[] = { 1000000, 1000000, 1020000 };
	static const guint hardly[] = { 1000000, 1000000, 1030303 };
	static const guint pair[] = { 1000000, 1000000 };

	CHECK_BYTES(three, three, NULL);
	CHECK_BYTES(three, four, NULL,
		    "25 % of its collectives differ: 4 of gloo:all_reduce a step instead of 3",
		    "its collectives move 4 MB a step instead of 3", );
	CHECK_BYTES(three, larger, NULL, "its collectives move 4 MB a step instead of 3", );
	CHECK_BYTES(larger, three, NULL, "its collectives move 3 MB a step instead of 4", );
	CHECK_BYTES(three, little, NULL);
	CHECK_BYTES(three, hardly, NULL);
	CHECK_BYTES(three, pair,
		    "33 % of its collectives differ: 2 of gloo:all_reduce a step instead of 3");
}

/* What an outline has is of a step, whatever the number of steps. */
static void test_bytes_of_step(void)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	struct outlined job;

	for (guint rank = 0; rank < 2; rank++) {
		g_string_append_printf(text, "rank %u thread %u main\n", rank, 1000 + rank);
		for (guint step = 0; step < 4; step++)
			g_string_append_printf(
				text,
				"  annotation ProfilerStep#%u %u..%u\n    op a %u..%u\n"
				"    collective gloo:all_reduce %u..%u bytes=%u end_tid=9\n",
				step, 100 * step, 100 * step + 100, 100 * step, 100 * step + 10,
				100 * step + 10, 100 * step + 30, 1000 * (step + 1));
	}
	outlined_init(&job, text->str, 0, -1);
	g_assert_cmpfloat(job.outline.collective_bytes, ==, (1000 + 2000 + 3000 + 4000) / 4.0);
	outlined_release(&job);
}

static void test_ranks(void)
{
	static const gchar text[] = "unit us\nrank %u thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n    op a 0..10\n"
				    "rank %u thread 1001 main\n"
				    "  annotation ProfilerStep#0 0..100\n    op a 0..10\n";
	g_autofree gchar *here = g_strdup_printf(text, 0, 1);
	g_autofree gchar *there = g_strdup_printf(text, 0, 3);
	g_autofree gchar *alone = g_strdup_printf("unit us\nrank 0 thread 1000 main\n"
						  "  annotation ProfilerStep#0 0..100\n"
						  "    op a 0..10\n");

	CHECK(here, alone, "it has 1 rank instead of 2");
	CHECK(alone, here, "it has 2 ranks instead of 1");
	CHECK(here, there, "it has rank 3 instead of 1");
	CHECK(there, here, "it has rank 1 instead of 3");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/job_outline/limits", test_limits);
	g_test_add_func("/job_outline/names", test_names);
	g_test_add_func("/job_outline/what_counts", test_what_counts);
	g_test_add_func("/job_outline/threads", test_threads);
	g_test_add_func("/job_outline/no_steps", test_no_steps);
	g_test_add_func("/job_outline/shapes", test_shapes);
	g_test_add_func("/job_outline/collectives", test_collectives);
	g_test_add_func("/job_outline/bytes_of_step", test_bytes_of_step);
	g_test_add_func("/job_outline/ranks", test_ranks);
	return g_test_run();
}
