/* What is found in rows of steps made by hand: nothing in healthy ones, however noisy, and each fault where it begins. */
#include <string.h>
#include <tacho/timeline.h>

#include "base/for_each.h"
#include "live/live_internal.h"

#define MS_NS	G_GINT64_CONSTANT(1000000)
#define N_RANKS 4

struct job {
	TachoFollow *follow;
	TachoDetector *detector;
	GRand *random;
	gint64 now_ns;
	guint step;
	guint n_found;
};

/* What a step of a rank is made of, in ms. */
struct parts {
	gdouble compute, idle, loading;
};

static void job_init(struct job *job, guint32 seed)
{
	static const gchar *const path = "nowhere";

	*job = (struct job){ .now_ns = 1700000000 * G_GINT64_CONSTANT(1000000000) };
	job->follow = tacho_follow_new(&path, 1);
	job->detector = tacho_detector_new("it's a run");
	job->random = g_rand_new_with_seed(seed);
}

static void job_release(struct job *job)
{
	tacho_follow_free(job->follow);
	tacho_detector_free(job->detector);
	g_rand_free(job->random);
}

/* A step that all ranks end together: who does less by itself waits. */
static void play_step(struct job *job, const struct parts parts[N_RANKS])
{
	gdouble longest = 0, own[N_RANKS];

	for (guint i = 0; i < N_RANKS; i++) {
		own[i] = parts[i].compute + parts[i].idle + parts[i].loading;
		longest = MAX(longest, own[i]);
	}
	for (guint i = 0; i < N_RANKS; i++) {
		gint64 duration_ns = (gint64)((longest + 2) * 1e6);
		TachoLiveStep row = {
			.rank = (gint32)i,
			.number = job->step,
			.start_unix_ns = job->now_ns,
			.end_unix_ns = job->now_ns + duration_ns,
			.compute_ns = parts[i].compute * 1e6,
			.communication_ns = 2e6,
			.exposed_ns = 2e6,
			.wait_ns = (longest - own[i]) * 1e6,
			.data_wait_ns = parts[i].loading * 1e6,
			.memory_bytes = -1,
			.peak_bytes = -1,
			.is_complete = TRUE,
		};

		follow_add_row(job->follow, &row);
	}
	job->now_ns += (gint64)((longest + 2) * 1e6);
	job->step++;
	job->n_found += tacho_detector_judge(job->detector, job->follow, job->now_ns);
}

/* `n` steps; each part varies by up to `noise` of itself, and one step in fifty takes three times as long. */
static void play(struct job *job, guint n, const struct parts parts[N_RANKS], gdouble noise)
{
	for (guint i = 0; i < n; i++) {
		struct parts now[N_RANKS];
		gdouble outlier = noise > 0 && g_rand_int_range(job->random, 0, 50) == 0 ? 3 : 1;

		for (guint k = 0; k < N_RANKS; k++) {
			gdouble factor = outlier * (1 + noise * g_rand_double(job->random));

			now[k] = (struct parts){ parts[k].compute * factor, parts[k].idle * factor,
						 parts[k].loading * factor };
		}
		play_step(job, now);
	}
}

static const TachoFinding *finding_at(const struct job *job, guint i)
{
	return g_ptr_array_index(tacho_detector_borrow_findings(job->detector), i);
}

static const struct parts HEALTHY[N_RANKS] = {
	{ 20, 2, 1 }, { 20, 2, 1 }, { 20, 2, 1 }, { 20, 2, 1 }
};

static void test_healthy(void)
{
	for (guint32 seed = 0; seed < 20; seed++) {
		struct job job;

		job_init(&job, seed);
		play(&job, 2000, HEALTHY, 0.5);
		for (guint i = 0; i < job.n_found; i++)
			g_test_message("seed %u: %s", seed, finding_at(&job, i)->what);
		g_assert_cmpuint(job.n_found, ==, 0);
		job_release(&job);
	}
}

static void test_slow(void)
{
	static const struct parts SLOW[N_RANKS] = {
		{ 40, 2, 1 }, { 40, 2, 1 }, { 40, 2, 1 }, { 40, 2, 1 }
	};
	struct job job;

	job_init(&job, 1);
	play(&job, 100, HEALTHY, 0.2);
	g_assert_cmpuint(job.n_found, ==, 0);
	play(&job, 12, SLOW, 0.2);
	g_assert_cmpuint(job.n_found, ==, 1);
	g_assert_cmpint(finding_at(&job, 0)->kind, ==, TACHO_FINDING_SLOW);
	g_assert_cmpint(finding_at(&job, 0)->rank, ==, -1);
	g_assert_nonnull(strstr(finding_at(&job, 0)->evidence, "computation"));
	g_assert_cmpstr(finding_at(&job, 0)->command, ==,
			"tacho report 'it'\\''s a run' --view step");
	/* when it is as it was, the finding goes by; and it comes again when it is slow again */
	play(&job, 700, HEALTHY, 0.2);
	g_assert_true(finding_at(&job, 0)->is_over);
	g_assert_cmpuint(job.n_found, ==, 1);
	play(&job, 12, SLOW, 0.2);
	g_assert_cmpuint(job.n_found, ==, 2);
	job_release(&job);
}

static void test_straggler(void)
{
	static const struct parts LATE[N_RANKS] = {
		{ 20, 2, 1 }, { 20, 2, 1 }, { 20, 22, 1 }, { 20, 2, 1 }
	};
	struct job job;

	job_init(&job, 2);
	play(&job, 10, HEALTHY, 0.2);
	play(&job, 30, LATE, 0.2);
	g_assert_cmpuint(job.n_found, >=, 1);
	g_assert_cmpint(finding_at(&job, 0)->kind, ==, TACHO_FINDING_STRAGGLER);
	g_assert_cmpint(finding_at(&job, 0)->rank, ==, 2);
	g_assert_nonnull(strstr(finding_at(&job, 0)->evidence, "idle time"));
	job_release(&job);
}

static void test_loader(void)
{
	static const struct parts STARVED[N_RANKS] = {
		{ 20, 2, 1 }, { 20, 2, 30 }, { 20, 2, 1 }, { 20, 2, 1 }
	};
	struct job job;

	job_init(&job, 3);
	play(&job, 6, HEALTHY, 0.2);
	play(&job, 12, STARVED, 0.2);
	g_assert_cmpuint(job.n_found, ==, 1);
	g_assert_cmpint(finding_at(&job, 0)->kind, ==, TACHO_FINDING_STARVED);
	g_assert_cmpint(finding_at(&job, 0)->rank, ==, 1);
	job_release(&job);
}

/* No step ends any more, and nothing tells why. */
static void test_stall(void)
{
	struct job job;

	job_init(&job, 4);
	play(&job, 30, HEALTHY, 0.2);
	job.now_ns += 25000 * MS_NS;
	g_assert_cmpuint(tacho_detector_judge(job.detector, job.follow, job.now_ns), ==, 0);
	job_release(&job);
}

/* The same, of ranks that run: but not where what has come since was not read yet. */
static void test_unread(void)
{
	struct job job;

	job_init(&job, 5);
	play(&job, 30, HEALTHY, 0.2);
	FOR_EACH(TachoLiveRank, rank, tacho_follow_borrow_ranks(job.follow))
		rank->end = TACHO_END_RUNNING;
	job.now_ns += 100000 * MS_NS;
	follow_set_unread_ns(job.follow, 90000 * MS_NS);
	g_assert_cmpuint(tacho_detector_judge(job.detector, job.follow, job.now_ns), ==, 0);
	follow_set_unread_ns(job.follow, 0);
	g_assert_cmpuint(tacho_detector_judge(job.detector, job.follow, job.now_ns), ==, 1);
	g_assert_cmpint(finding_at(&job, 0)->kind, ==, TACHO_FINDING_STALL);
	job_release(&job);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/detect/healthy", test_healthy);
	g_test_add_func("/detect/slow", test_slow);
	g_test_add_func("/detect/straggler", test_straggler);
	g_test_add_func("/detect/loader", test_loader);
	g_test_add_func("/detect/stall", test_stall);
	g_test_add_func("/detect/unread", test_unread);
	return g_test_run();
}
