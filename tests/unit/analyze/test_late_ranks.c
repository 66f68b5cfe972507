/* Who is late, on timelines of which it is known. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/late_ranks.h"
#include "timeline_text.h"
#include "views_support.h"

#define EXPECT(value, expected) g_assert_cmpfloat_with_epsilon(value, expected, 1e-3)

enum { N_TRIALS = 20, N_STEPS = 12, N_SMALL = 4 };

/* --- jobs by chance ---------------------------------------------------------------------------- */

/* Each rank computes in a step, 20 ms give or take `jitter_ms`, and `late_rank` 10 ms longer; then all reduce. Small
 * collectives follow, to which another rank than the late one comes last, by little. */
struct job {
	guint n_ranks, late_rank; /* n_ranks: nobody */
	gdouble jitter_ms;
	guint32 seed;
	gdouble hiccup_ms; /* what one step of five takes longer on some rank; 0: none does */
};

struct job_text {
	GString *ranks[8];
	GString *names; /* of the collectives, a line each */
	GRand *chance;
	gdouble now_ms;
};

static void begin_text(struct job_text *text, const struct job *job)
{
	*text = (struct job_text){ .names = g_string_new(NULL),
				   .chance = g_rand_new_with_seed(job->seed) };
	for (guint rank = 0; rank < job->n_ranks; rank++) {
		text->ranks[rank] = g_string_new(NULL);
		g_string_printf(text->ranks[rank], "rank %u thread %u main\n", rank, rank + 1);
	}
}

/* A collective to which the ranks come at these times from now on; it ends 1 ms after the last. */
static void write_collective(struct job_text *text, const struct job *job, const gchar *name,
			     const gdouble *begin_ms)
{
	gdouble last_ms = 0;

	for (guint rank = 0; rank < job->n_ranks; rank++)
		last_ms = MAX(last_ms, begin_ms[rank]);
	for (guint rank = 0; rank < job->n_ranks; rank++)
		g_string_append_printf(text->ranks[rank], "collective %s %.3f..%.3f\n", name,
				       text->now_ms + begin_ms[rank], text->now_ms + last_ms + 1);
	g_string_append_printf(text->names, "%s\n", name);
	text->now_ms += last_ms + 1;
}

static void write_step(struct job_text *text, const struct job *job, guint step)
{
	gdouble begin_ms[8];
	gchar name[32];

	for (guint rank = 0; rank < job->n_ranks; rank++)
		begin_ms[rank] = 20 + (rank == job->late_rank ? 10 : 0) +
				 g_rand_double_range(text->chance, 0, job->jitter_ms);
	if (job->hiccup_ms > 0 && g_rand_int_range(text->chance, 0, 5) == 0)
		begin_ms[g_rand_int_range(text->chance, 0, (gint32)job->n_ranks)] += job->hiccup_ms;
	g_snprintf(name, sizeof(name), "large%u", step);
	write_collective(text, job, name, begin_ms);
	for (guint i = 0; i < N_SMALL && job->late_rank < job->n_ranks; i++) {
		for (guint rank = 0; rank < job->n_ranks; rank++)
			begin_ms[rank] = g_rand_double_range(text->chance, 0, 0.05);
		begin_ms[(job->late_rank + 1) % job->n_ranks] = 0.2;
		g_snprintf(name, sizeof(name), "small%u_%u", step, i);
		write_collective(text, job, name, begin_ms);
	}
}

static TachoTimeline *end_text(struct job_text *text, const struct job *job)
{
	g_autofree gchar *names = g_string_free(text->names, FALSE);
	g_auto(GStrv) lines = g_strsplit(names, "\n", -1);
	GString *whole = g_string_new(NULL);
	TachoTimeline *timeline;

	for (guint rank = 0; rank < job->n_ranks; rank++) {
		g_string_append(whole, text->ranks[rank]->str);
		g_string_free(text->ranks[rank], TRUE);
	}
	timeline = timeline_from_text(whole->str);
	g_string_free(whole, TRUE);
	g_rand_free(text->chance);
	for (guint i = 0; *lines[i]; i++)
		add_collective(timeline, lines[i], 1000);
	return timeline;
}

static TachoTimeline *job_timeline(const struct job *job)
{
	gint64 begins_ms[N_STEPS + 1] = { 0 };
	struct job_text text;
	TachoTimeline *timeline;

	begin_text(&text, job);
	for (guint step = 0; step < N_STEPS; step++) {
		write_step(&text, job, step);
		text.now_ms = (gdouble)(begins_ms[step + 1] = (gint64)text.now_ms + 1);
	}
	timeline = end_text(&text, job);
	for (guint rank = 0; rank < job->n_ranks; rank++)
		for (guint step = 0; step < N_STEPS; step++)
			add_step(timeline, rank, step, begins_ms[step], begins_ms[step + 1]);
	return timeline;
}

/* --- what all views say ------------------------------------------------------------------------- */

static gboolean has_note(const TachoTable *table, const gchar *prefix)
{
	for (guint i = 0; i < tacho_table_n_notes(table); i++)
		if (g_str_has_prefix(tacho_table_borrow_note(table, i), prefix))
			return TRUE;
	return FALSE;
}

static void assert_late(const TachoTimeline *timeline, guint late_rank)
{
	g_autofree gchar *sentence = g_strdup_printf("Rank %u is late:", late_rank);
	g_autoptr(TachoTable) straggler = tacho_view_straggler(timeline, NULL);
	g_autoptr(TachoTable) comm = tacho_view_comm(timeline, NULL);
	g_autoptr(TachoTable) advise = tacho_view_advise(timeline, NULL);

	EXPECT(tacho_table_cell_number(straggler, 0, "rank"), late_rank);
	EXPECT(tacho_table_cell_number(straggler, 0, "stands_out"), 1);
	EXPECT(tacho_table_cell_number(straggler, 1, "stands_out"), 0);
	g_assert_true(has_note(straggler, sentence));
	g_assert_true(has_note(comm, sentence));
	for (guint row = 0; row < tacho_table_n_rows(advise); row++)
		if (strcmp(tacho_table_cell_text(advise, row, "checker"), "straggler") == 0)
			EXPECT(tacho_table_cell_number(advise, row, "rank"), late_rank);
	for (guint row = 0; row < tacho_table_n_rows(comm); row++)
		if (g_str_has_prefix(tacho_table_cell_text(comm, row, "name"), "large"))
			EXPECT(tacho_table_cell_number(comm, row, "late_rank"), late_rank);
}

/* Each rank of 2, 4 and 8 is late in turn, and each time it is named, though another comes last more often. */
static void test_each_in_turn(void)
{
	for (guint n_ranks = 2; n_ranks <= 8; n_ranks *= 2)
		for (guint late = 0; late < n_ranks; late++)
			for (guint trial = 0; trial < N_TRIALS; trial++) {
				struct job job = { n_ranks, late, 3, trial * 100 + late, 0 };
				g_autoptr(TachoTimeline) timeline = job_timeline(&job);

				assert_late(timeline, late);
			}
}

/* Where ranks differ by chance alone, nobody is named: but in one trial of twenty at most, which chance makes (LEVEL). */
static void test_by_chance(void)
{
	guint n_named = 0;

	for (guint n_ranks = 2; n_ranks <= 8; n_ranks *= 2)
		for (guint trial = 0; trial < 5 * N_TRIALS; trial++) {
			struct job job = { n_ranks, n_ranks, 5, 7000 + trial, 0 };
			g_autoptr(TachoTimeline) timeline = job_timeline(&job);
			g_autoptr(TachoTable) straggler = tacho_view_straggler(timeline, NULL);
			g_autoptr(TachoTable) comm = tacho_view_comm(timeline, NULL);
			gboolean is_named = tacho_table_cell_number(straggler, 0, "stands_out") > 0;

			n_named += is_named;
			g_assert_cmpint(has_note(comm, "No rank stands out as late."), ==,
					!is_named);
			g_assert_cmpint(has_note(straggler, "No rank stands out as late."), ==,
					!is_named);
		}
	g_test_message("%u of %u named", n_named, 15 * N_TRIALS);
	g_assert_cmpuint(n_named, <=, 15 * N_TRIALS / 20);
}

/* A rank that is late every time is found beside others that are held up long, now and then, by chance. */
static void test_among_hiccups(void)
{
	guint n_right = 0, n_wrong = 0;

	for (guint trial = 0; trial < N_TRIALS; trial++) {
		struct job job = { 4, trial % 4, 3, 300 + trial, 35 };
		g_autoptr(TachoTimeline) timeline = job_timeline(&job);
		g_autoptr(TachoTable) straggler = tacho_view_straggler(timeline, NULL);

		if (!(tacho_table_cell_number(straggler, 0, "stands_out") > 0))
			continue;
		if (tacho_table_cell_number(straggler, 0, "rank") == job.late_rank)
			n_right++;
		else
			n_wrong++;
	}
	g_test_message("%u right, %u wrong", n_right, n_wrong);
	g_assert_cmpuint(n_wrong, ==, 0);
	g_assert_cmpuint(n_right, >=, N_TRIALS / 2);
}

/* --- by hand ------------------------------------------------------------------------------------ */

static struct late_ranks *late_of(const TachoTimeline *timeline)
{
	struct selection selection;
	g_autoptr(GArray) rows = NULL;
	struct late_ranks *late;

	selection_init(&selection, timeline, NULL);
	rows = late_ranks_rows(&selection);
	late = late_ranks_new(&selection, rows);
	selection_release(&selection);
	return late;
}

static gdouble net_ms(const struct late_ranks *late, guint rank)
{
	return late_ranks_at(late, rank)->net_ns / 1e6;
}

static gdouble waited_ms(const struct late_ranks *late, guint rank)
{
	return late_ranks_at(late, rank)->waited_ns / 1e6;
}

/* The example of late_ranks.c. */
/* All that was recorded, of a run that has steps: none of them is chosen, and all of its collectives are. */
static void test_whole(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "collective a 10..60\n"
							       "rank 1 thread 2 main\n"
							       "collective a 20..60\n");
	TachoFilter filter = TACHO_FILTER_INIT;
	g_autoptr(late_ranks) late = NULL;
	g_autoptr(GArray) rows = NULL;
	struct selection selection;

	add_collective(timeline, "a", 8);
	add_step(timeline, 0, 0, 0, 5);
	add_step(timeline, 1, 0, 0, 5);
	filter.is_whole = TRUE;
	selection_init(&selection, timeline, &filter);
	rows = late_ranks_rows(&selection);
	late = late_ranks_new(&selection, rows);
	selection_release(&selection);
	g_assert_cmpuint(late->n_collectives, ==, 1);
	EXPECT(waited_ms(late, 0), 10);
}

static void test_example(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "collective a 10..60\n"
							       "rank 1 thread 2 main\n"
							       "collective a 20..60\n"
							       "rank 2 thread 3 main\n"
							       "collective a 50..60\n");
	g_autoptr(late_ranks) late = NULL;

	add_collective(timeline, "a", 8);
	late = late_of(timeline);
	EXPECT(net_ms(late, 0), -25);
	EXPECT(net_ms(late, 1), -10);
	EXPECT(net_ms(late, 2), 35);
	EXPECT(late_ranks_at(late, 2)->caused_ns / 1e6, 70);
	EXPECT(late_ranks_at(late, 2)->last_ns / 1e6, 35);
	g_assert_cmpuint(late->late, ==, 2);
}

/* Rank 0 is late to its neighbour, which therefore is late to all others, who are more: it is not to blame. */
static void test_held_up(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "collective pair 30..31\n"
							       "rank 1 thread 2 main\n"
							       "collective pair 10..31\n"
							       "collective all 31..32\n"
							       "rank 2 thread 3 main\n"
							       "collective all 11..32\n"
							       "rank 3 thread 4 main\n"
							       "collective all 11..32\n");
	g_autoptr(late_ranks) late = NULL;

	add_collective(timeline, "pair", 8);
	add_collective(timeline, "all", 8);
	late = late_of(timeline);
	EXPECT(net_ms(late, 0), 20);
	EXPECT(net_ms(late, 1), 0);
	EXPECT(late_ranks_at(late, 1)->caused_ns / 1e6, 40);
	g_assert_cmpuint(late->most, ==, 0);
}

/* The root of a broadcast is done before the others come: it has not waited for them. Nobody has. */
static void test_root(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "collective broadcast 0..2\n"
							       "rank 1 thread 2 main\n"
							       "collective broadcast 50..51\n");
	g_autoptr(late_ranks) late = NULL;

	add_collective(timeline, "broadcast", 8);
	late = late_of(timeline);
	EXPECT(waited_ms(late, 0), 2);
	EXPECT(net_ms(late, 1), 2);
}

/* Three collectives at once that wait for the same rank: a moment counts once. */
static void test_at_once(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 thread 1 main\n"
							       "collective a 0..101\n"
							       "collective b 10..102\n"
							       "collective c 20..113\n"
							       "rank 1 thread 2 main\n"
							       "collective a 100..101\n"
							       "collective b 100..102\n"
							       "collective c 110..113\n");
	g_autoptr(late_ranks) late = NULL;

	add_collective(timeline, "c", 8);
	add_collective(timeline, "b", 8);
	add_collective(timeline, "a", 8);
	late = late_of(timeline);
	EXPECT(waited_ms(late, 0), 110);
	EXPECT(net_ms(late, 1), 110);
	EXPECT(late_ranks_at(late, 1)->last_ns / 1e6, 100 + 90 + 90);
}

/* What is no longer than clocks are uncertain is a guess; between clocks that are apart nothing is known. */
static void test_clocks(void)
{
	static const gchar text[] = "rank 0 thread 1 main\n"
				    "collective a 0..11\n"
				    "rank 1 host=h1 thread 2 main\n"
				    "collective a 10..11\n";
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	TachoClock *clock = &g_array_index(timeline->clocks, TachoClock, 1);
	g_autoptr(late_ranks) sure = NULL, unsure = NULL, apart = NULL;

	add_collective(timeline, "a", 8);
	*clock = (TachoClock){ .state = TACHO_CLOCK_ALIGNED, .uncertainty_ns = 9999999 };
	sure = late_of(timeline);
	g_assert_cmpuint(sure->late, ==, 1);
	g_assert_true(sure->is_sure);
	clock->uncertainty_ns = 10000000;
	unsure = late_of(timeline);
	g_assert_cmpuint(unsure->late, ==, 1);
	g_assert_false(unsure->is_sure);
	EXPECT(waited_ms(unsure, 0), 10);
	*clock = (TachoClock){ .state = TACHO_CLOCK_APART, .reference = 1 };
	apart = late_of(timeline);
	g_assert_cmpuint(apart->n_collectives, ==, 0);
	EXPECT(waited_ms(apart, 0), 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/late_ranks/example", test_example);
	g_test_add_func("/late_ranks/whole", test_whole);
	g_test_add_func("/late_ranks/held_up", test_held_up);
	g_test_add_func("/late_ranks/root", test_root);
	g_test_add_func("/late_ranks/at_once", test_at_once);
	g_test_add_func("/late_ranks/clocks", test_clocks);
	g_test_add_func("/late_ranks/each_in_turn", test_each_in_turn);
	g_test_add_func("/late_ranks/by_chance", test_by_chance);
	g_test_add_func("/late_ranks/among_hiccups", test_among_hiccups);
	return g_test_run();
}
