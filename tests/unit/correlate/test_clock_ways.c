/* Clocks of several hosts in closed form: what they are ahead and how sure that is, over which way, and what is told of it.
 *
 * Two hosts meet: both begin a collective at one moment, and both end it so many microseconds later. So neither clock can be
 * farther from the truth than that; nobody can know more, and the middle is the truth. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>

#include "timeline_text.h"

#define US G_GINT64_CONSTANT(1000)

enum { MAX_HOSTS = 12, S = 1000000 /* us */ };

/* To the nanosecond that bounds are cut off to, and what each of two clocks adds for it. */
#define ROUNDING_NS 10

struct job {
	guint n_hosts;
	GString *text[MAX_HOSTS];
	gint64 ahead_us[MAX_HOSTS];
	guint n_groups;
};

static void job_init(struct job *job, guint n_hosts)
{
	*job = (struct job){ .n_hosts = n_hosts };
	for (guint i = 0; i < n_hosts; i++) {
		job->ahead_us[i] = i ? 3 * S * (i % 2 ? 1 : -1) * (gint64)i : 0;
		job->text[i] = g_string_new(NULL);
		g_string_printf(job->text[i],
				"rank %u host=h%u end=exited:0 thread %u main\nunit us\n", i, i,
				10 + i);
	}
}

static void tell(struct job *job, guint host, const gchar *what, gint64 begin_us, gint64 end_us,
		 const gchar *more)
{
	g_string_append_printf(job->text[host],
			       "%s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT " %s\n", what,
			       begin_us + job->ahead_us[host], end_us + job->ahead_us[host], more);
}

/* Two hosts meet three times, from `from_us` to `to_us`. */
static void meet(struct job *job, guint a, guint b, gint64 from_us, gint64 to_us, gint64 width_us)
{
	guint group = ++job->n_groups;

	for (guint i = 0; i < 2; i++) {
		guint host = i ? b : a;
		g_autofree gchar *more = g_strdup_printf("group=%u", group);

		g_string_append_printf(job->text[host],
				       "mark process_group %" G_GINT64_FORMAT
				       " first=%u text='ranks=%u,%u'\n",
				       from_us + job->ahead_us[host], group, a, b);
		for (guint k = 0; k < 3; k++) {
			gint64 at_us = from_us + (to_us - from_us) / 2 * k;

			tell(job, host, "collective barrier", at_us, at_us + width_us, more);
		}
	}
}

static TachoTimeline *job_run(struct job *job)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < job->n_hosts; i++) {
		g_string_append(text, job->text[i]->str);
		g_string_free(job->text[i], TRUE);
	}
	return correlated(text->str);
}

static const TachoClock *clock_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->clocks, TachoClock, index);
}

static void assert_near(gint64 ns, gint64 expected_us)
{
	g_test_message("%" G_GINT64_FORMAT " ns, %" G_GINT64_FORMAT " us expected", ns,
		       expected_us);
	g_assert_cmpint(ABS(ns - expected_us * US), <=, ROUNDING_NS);
}

static void check_clock(const TachoTimeline *timeline, const struct job *job, guint host,
			gint64 inner_us, gint64 whole_us)
{
	const TachoClock *clock = clock_at(timeline, host);

	g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpuint(clock->reference, ==, 0);
	g_assert_cmpuint(clock->n_bounds, ==, 6);
	g_assert_cmpuint(clock->n_contradicted, ==, 0);
	assert_near(clock->offset_ns, job->ahead_us[host]);
	assert_near(clock->inner_uncertainty_ns, inner_us);
	assert_near(clock->uncertainty_ns, whole_us);
	g_assert_cmpfloat_with_epsilon(clock->drift, 0, 1e-10);
}

/* How much the problems of clocks say that contain the words. */
static guint n_doubts(const TachoTimeline *timeline, const gchar *words)
{
	guint n = 0;

	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		n += problem->kind == TACHO_PROBLEM_CLOCK_DOUBT &&
		     strstr(problem->where, words) != NULL;
	}
	return n;
}

/* --- ways --------------------------------------------------------------------------------------- */

/* What is unsure of a clock adds up on its way: 20 us and 30 us. */
static void test_chain(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 3);
	meet(&job, 0, 1, 1 * S, 11 * S, 20);
	meet(&job, 1, 2, 1 * S, 11 * S, 30);
	timeline = job_run(&job);
	check_clock(timeline, &job, 1, 20, 20);
	check_clock(timeline, &job, 2, 50, 50);
	g_assert_cmpfloat_with_epsilon(clock_at(timeline, 1)->drift_uncertainty, 2 * 20e-6 / 10,
				       1e-9);
	g_assert_cmpfloat_with_epsilon(clock_at(timeline, 2)->drift_uncertainty,
				       2 * 20e-6 / 10 + 2 * 30e-6 / 10, 1e-9);
	g_assert_cmpint(clock_at(timeline, 0)->state, ==, TACHO_CLOCK_REFERENCE);
}

/* Of two ways the surer one: at once, if that is better than 20 us and 30 us. */
static void test_surer_way(void)
{
	static const struct {
		gint64 direct_us, expected_us;
	} cases[] = { { 60, 50 }, { 51, 50 }, { 40, 40 }, { 10, 10 } };

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
		for (guint order = 0; order < 2; order++) {
			g_autoptr(TachoTimeline) timeline = NULL;
			struct job job;

			job_init(&job, 3);
			if (order)
				meet(&job, 0, 2, 1 * S, 11 * S, cases[i].direct_us);
			meet(&job, 0, 1, 1 * S, 11 * S, 20);
			meet(&job, 1, 2, 1 * S, 11 * S, 30);
			if (!order)
				meet(&job, 0, 2, 1 * S, 11 * S, cases[i].direct_us);
			timeline = job_run(&job);
			check_clock(timeline, &job, 2, cases[i].expected_us, cases[i].expected_us);
			check_clock(timeline, &job, 1, MIN(20, cases[i].direct_us + 30),
				    MIN(20, cases[i].direct_us + 30));
		}
}

/* From one to the next, each with the next only, and the way of the last leads over all. */
static void test_long_chain(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 6);
	for (guint i = 0; i + 1 < job.n_hosts; i++)
		meet(&job, i, i + 1, 1 * S, 11 * S, 10 + i);
	timeline = job_run(&job);
	for (guint i = 1; i < job.n_hosts; i++) {
		const TachoClock *clock = clock_at(timeline, i);
		gint64 expected_us = 0;

		for (guint k = 0; k < i; k++)
			expected_us += 10 + k;
		g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
		g_assert_cmpint(ABS(clock->offset_ns - job.ahead_us[i] * US), <=, ROUNDING_NS * i);
		g_assert_cmpint(ABS(clock->uncertainty_ns - expected_us * US), <=, ROUNDING_NS * i);
	}
}

/* Sends that a rank is only assumed to wait with, for a microsecond: what is sure goes first, though it is less exact. */
static void send_to(struct job *job, guint from, guint to, gint64 at_us)
{
	g_autofree gchar *to_whom = g_strdup_printf("group=99 peer=%u", to);
	g_autofree gchar *from_whom = g_strdup_printf("group=99 peer=%u", from);

	tell(job, from, "collective gloo:send", at_us, at_us + 1, to_whom);
	tell(job, to, "collective gloo:recv", at_us, at_us + 1, from_whom);
}

/* A group of all. */
static void tell_world(struct job *job)
{
	for (guint i = 0; i < job->n_hosts; i++)
		g_string_append_printf(job->text[i],
				       "mark process_group %" G_GINT64_FORMAT
				       " first=99 text='ranks=0-%u'\n",
				       S + job->ahead_us[i], job->n_hosts - 1);
}

static void test_sure_way(void)
{
	for (guint has_sure = 0; has_sure < 2; has_sure++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		const TachoClock *clock;
		struct job job;

		job_init(&job, 3);
		meet(&job, 0, 1, 1 * S, 11 * S, 20);
		if (has_sure)
			meet(&job, 1, 2, 1 * S, 11 * S, 30);
		tell_world(&job);
		send_to(&job, 0, 2, 2 * S);
		send_to(&job, 0, 2, 10 * S);
		timeline = job_run(&job);
		clock = clock_at(timeline, 2);
		if (has_sure) {
			g_assert_cmpint(clock->evidence, ==, TACHO_CLOCK_BY_COLLECTIVES);
			assert_near(clock->inner_uncertainty_ns, 50);
			g_assert_cmpuint(n_doubts(timeline, "assumption"), ==, 0);
		} else {
			g_assert_cmpint(clock->evidence, ==,
					TACHO_CLOCK_BY_SENDS | TACHO_CLOCK_ASSUMED);
			assert_near(clock->inner_uncertainty_ns, 1);
			g_assert_cmpuint(n_doubts(timeline,
						  "host h2 (rank 2): its clock was aligned "
						  "on the assumption"),
					 ==, 1);
		}
	}
}

/* --- beyond what is known ----------------------------------------------------------------------- */

/* Host 1 met host 0 from 1 s to 11 s, and then was no more; host 2 met it from 6 s to 11 s, and goes on until 31 s. Its clock
 * may run off the other's by 2 * 30 us in 5 s, and that one's by 2 * 20 us in 10 s. */
static void test_beyond(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 3);
	meet(&job, 0, 1, 1 * S, 11 * S, 20);
	meet(&job, 1, 2, 6 * S, 11 * S, 30);
	tell(&job, 2, "op late", 31 * S - 10, 31 * S, "");
	timeline = job_run(&job);
	assert_near(clock_at(timeline, 2)->inner_uncertainty_ns, 20 + 30);
	g_assert_cmpint(ABS(clock_at(timeline, 2)->uncertainty_ns - (20 + 80 + 30 + 240) * US), <=,
			US);
	g_assert_cmpfloat_with_epsilon(clock_at(timeline, 2)->drift_uncertainty,
				       2 * 20e-6 / 10 + 2 * 30e-6 / 5, 1e-9);
}

/* The same where host 2 is the middle one: seen from it, what ties it to host 1 is known over host 1's life, and that begins
 * 5 s before they met. */
static void test_beyond_backward(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 3);
	meet(&job, 0, 2, 1 * S, 11 * S, 20);
	meet(&job, 1, 2, 6 * S, 11 * S, 30);
	tell(&job, 1, "op late", 31 * S - 10, 31 * S, "");
	timeline = job_run(&job);
	assert_near(clock_at(timeline, 1)->offset_ns, job.ahead_us[1]);
	assert_near(clock_at(timeline, 1)->inner_uncertainty_ns, 20 + 30);
	g_assert_cmpint(ABS(clock_at(timeline, 1)->uncertainty_ns - (20 + 80 + 30 + 60 + 240) * US),
			<=, US);
	assert_near(clock_at(timeline, 2)->uncertainty_ns, 20);
}

/* --- evidence ----------------------------------------------------------------------------------- */

/* Two ranks a host: no one ends before the last has begun. Of host 0 that is at 12, and the first ends at 28; of host 1 at 14
 * and 29. So its clock is from 14 to -17 off, wherever that is. */
static void test_several_ranks(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\n"
			   "rank 0 host=a thread 1\ncollective barrier 10..30\n"
			   "rank 1 host=a thread 2\ncollective barrier 12..28\n"
			   "rank 2 host=b thread 3\ncollective barrier 1011..1031\n"
			   "rank 3 host=b thread 4\ncollective barrier 1014..1029\n");
	const TachoClock *clock = clock_at(timeline, 1);

	g_assert_cmpuint(timeline->clocks->len, ==, 2);
	g_assert_cmpuint(clock->n_bounds, ==, 2);
	g_assert_cmpint(ABS(clock->offset_ns - 1001500), <=, ROUNDING_NS);
	g_assert_cmpint(ABS(clock->inner_uncertainty_ns - 15500), <=, ROUNDING_NS);
}

/* What was mended says nothing, and what was still open had only begun; each collective bounds each other clock twice. */
static void test_what_counts(void)
{
	g_autoptr(TachoTimeline) timeline =
		correlated("unit us\n"
			   "rank 0 host=a end=killed:9 thread 1\n"
			   "collective barrier 10..30\ncollective barrier 110..130\n"
			   "collective barrier 210..230\ncollective barrier 310..330\n"
			   "rank 1 host=b end=killed:9 thread 2\n"
			   "collective barrier 1010..1030\ncollective barrier 1110..1130 repaired\n"
			   "collective barrier 1210..1230\ncollective barrier 1310..\n"
			   "rank 2 host=c end=killed:9 thread 3\n"
			   "collective barrier 2010..2030\ncollective barrier 2110..2130\n"
			   "collective barrier 2210..2230\ncollective barrier 2310..2330\n");

	g_assert_cmpuint(clock_at(timeline, 1)->n_bounds, ==, 2 + 0 + 2 + 1);
	g_assert_cmpuint(clock_at(timeline, 2)->n_bounds, ==, 4 * 2);
	assert_near(clock_at(timeline, 1)->offset_ns, 1000);
	assert_near(clock_at(timeline, 2)->offset_ns, 2000);
}

/* Of an all-to-all on devices it is assumed that all send to all. */
static void test_all_to_all(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(
		"unit us\n"
		"rank 0 host=a thread 1\nop a 0..1\nstream 7\n"
		"collective nccl:all_to_all 10..30\ncollective nccl:all_to_all 110..130\n"
		"rank 1 host=b thread 2\nop a 1000..1001\nstream 7\n"
		"collective nccl:all_to_all 1010..1030\ncollective nccl:all_to_all 1110..1130\n");
	const TachoClock *clock = clock_at(timeline, 1);

	g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(clock->evidence, ==, TACHO_CLOCK_BY_COLLECTIVES | TACHO_CLOCK_ASSUMED);
	g_assert_cmpuint(clock->n_bounds, ==, 4);
	assert_near(clock->offset_ns, 1000);
}

/* --- what is told ------------------------------------------------------------------------------- */

/* Meetings of 20 us and of 100 us. Where most take no longer than the clock is unsure of, their times tell nothing; those of
 * ranks of one host need not be on one clock. */
static guint n_too_short(guint n_short, guint n_long)
{
	g_autoptr(GString) text = g_string_new("unit us\n");
	g_autoptr(TachoTimeline) timeline = NULL;

	for (guint rank = 0; rank < 3; rank++) {
		guint ahead_us = rank == 2 ? 5000 : 0;

		g_string_append_printf(text,
				       "rank %u host=%s thread %u main\n"
				       "mark process_group %u first=1 text='ranks=0-2'\n"
				       "mark process_group %u first=2 text='ranks=0-1'\n",
				       rank, rank == 2 ? "b" : "a", 10 + rank, ahead_us + 1,
				       ahead_us + 2);
		for (guint i = 0; i < n_short + n_long; i++)
			g_string_append_printf(text, "collective barrier %u..%u group=1\n",
					       1000 * (i + 1) + ahead_us,
					       1000 * (i + 1) + ahead_us +
						       (i > 0 && i <= n_long ? 100 : 20));
		for (guint i = 0; i < 20 && rank < 2; i++)
			g_string_append_printf(text, "collective barrier %u..%u group=2\n",
					       1000 * (i + 1) + 500, 1000 * (i + 1) + 501);
	}
	timeline = correlated(text->str);
	assert_near(clock_at(timeline, 1)->inner_uncertainty_ns, 20);
	return n_doubts(timeline,
			"host b (rank 2): its times are accurate to 20.0 us only, and half of "
			"its collectives take less than 20.0 us to transfer");
}

static void test_accuracy(void)
{
	g_assert_cmpuint(n_too_short(5, 4), ==, 1);
	g_assert_cmpuint(n_too_short(5, 6), ==, 0);
}

/* Hosts 1 to 11 meet host 1, but nobody host 0: one problem, which names eight of those ten. */
static void test_company(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 12);
	tell(&job, 0, "op alone", 1 * S, 2 * S, "");
	for (guint i = 2; i < job.n_hosts; i++)
		meet(&job, 1, i, 1 * S, 11 * S, 20);
	timeline = job_run(&job);
	g_assert_cmpuint(n_doubts(timeline, "nothing relates"), ==, 1);
	g_assert_cmpuint(n_doubts(timeline, "host h1 (rank 1): nothing relates its clock to that "
					    "of host h0 (rank 0); the same "
					    "holds for host h2 (rank 2), host h3 (rank 3), host h4 "
					    "(rank 4), host h5 (rank 5), "
					    "host h6 (rank 6), host h7 (rank 7), host h8 (rank 8), "
					    "host h9 (rank 9) and 2 more, "
					    "whose clocks are aligned with it"),
			 ==, 1);
	for (guint i = 2; i < job.n_hosts; i++)
		g_assert_cmpuint(clock_at(timeline, i)->reference, ==, 1);
}

/* Up to eight ranks of a host are named. */
static void test_many_ranks(void)
{
	for (guint n_more = 0; n_more <= 2; n_more += 2) {
		g_autoptr(GString) text = g_string_new("rank 99 host=a thread 1\nop a 0..1\n");
		g_autoptr(TachoTimeline) timeline = NULL;

		for (guint rank = 0; rank < 8 + n_more; rank++)
			g_string_append_printf(text, "rank %u host=b thread %u\nop a 0..1\n", rank,
					       2 + rank);
		timeline = correlated(text->str);
		g_assert_cmpuint(
			n_doubts(timeline, n_more ? "(rank 0, 1, 2, 3, 4, 5, 6, 7 and 2 more)"
						  : "(rank 0, 1, 2, 3, 4, 5, 6, 7)"),
			==, 1);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock_ways/chain", test_chain);
	g_test_add_func("/clock_ways/surer_way", test_surer_way);
	g_test_add_func("/clock_ways/long_chain", test_long_chain);
	g_test_add_func("/clock_ways/sure_way", test_sure_way);
	g_test_add_func("/clock_ways/beyond", test_beyond);
	g_test_add_func("/clock_ways/beyond_backward", test_beyond_backward);
	g_test_add_func("/clock_ways/several_ranks", test_several_ranks);
	g_test_add_func("/clock_ways/what_counts", test_what_counts);
	g_test_add_func("/clock_ways/all_to_all", test_all_to_all);
	g_test_add_func("/clock_ways/accuracy", test_accuracy);
	g_test_add_func("/clock_ways/company", test_company);
	g_test_add_func("/clock_ways/many_ranks", test_many_ranks);
	return g_test_run();
}
