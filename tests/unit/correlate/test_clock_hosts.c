/* Many hosts whose clocks are wrong by seconds and 50 ppm, of which each speaks with its neighbours only, some with none;
 * and some of what they say is false. Wherever times end up, the truth is not farther off than is stated. */
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/timeline.h>

#include "timeline_text.h"

#define US G_GINT64_CONSTANT(1000)
#define MS G_GINT64_CONSTANT(1000000)
#define S  G_GINT64_CONSTANT(1000000000)

enum {
	MAX_HOSTS = 16,
	N_COLLECTIVES = 45, /* of two neighbours */
	N_FALSE = 2,	    /* of these */
};

struct host {
	gint64 ahead_ns;
	gdouble drift;
	guint32 component; /* the first host of those that it is tied to */
	GString *text;
	gint64 first_ns, last_ns; /* true times of its first and last collective; 0: it has none */
};

struct job {
	guint n_hosts;
	GRand *random;
	struct host hosts[MAX_HOSTS];
};

static gint64 own_time(const struct host *host, gint64 time_ns)
{
	return time_ns + host->ahead_ns + (gint64)(host->drift * (gdouble)time_ns);
}

static void job_init(struct job *job, guint n_hosts, guint seed)
{
	*job = (struct job){ .n_hosts = n_hosts, .random = g_rand_new_with_seed(seed) };
	for (guint i = 0; i < n_hosts; i++) {
		struct host *host = &job->hosts[i];

		host->component = i;
		host->ahead_ns = i ? g_rand_int_range(job->random, -2000, 2000) * 5 * MS : 0;
		host->drift = i ? g_rand_double_range(job->random, -50e-6, 50e-6) : 0;
		host->text = g_string_new(NULL);
		g_string_printf(host->text,
				"rank %u host=h%u end=exited:0 thread %u main\nunit ns\n", i, i,
				10 + i);
	}
}

static void say(struct host *host, guint group, gint64 begin_ns, gint64 end_ns)
{
	if (!host->first_ns || begin_ns < host->first_ns)
		host->first_ns = begin_ns;
	host->last_ns = MAX(host->last_ns, begin_ns);
	g_string_append_printf(host->text,
			       "collective gloo:all_reduce %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT
			       " bytes=64 group=%u\n",
			       own_time(host, begin_ns), own_time(host, end_ns), group);
}

/* A collective of two, each of which comes and goes when it does; a false one is over long before the other came. */
static void meet(struct job *job, guint a, guint b, guint group, gint64 time_ns, gboolean is_false)
{
	gint64 begin_a = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 begin_b = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 done_ns = MAX(begin_a, begin_b) + 20 * US;

	if (is_false)
		begin_b += 40 * MS;
	say(&job->hosts[a], group, begin_a, done_ns + g_rand_int_range(job->random, 0, 100 * US));
	say(&job->hosts[b], group, begin_b,
	    MAX(begin_b, done_ns) + g_rand_int_range(job->random, 1, 100 * US));
}

/* Neighbours speak with each other all along the run. */
static void tie(struct job *job, guint a, guint b, guint group)
{
	for (guint i = 0; i < 2; i++) {
		struct host *host = &job->hosts[i ? b : a];

		g_string_append_printf(host->text,
				       "mark process_group %" G_GINT64_FORMAT
				       " first=%u text=\"ranks=%u,%u\"\n",
				       own_time(host, MS), group, a, b);
	}
	for (guint i = 0; i < N_COLLECTIVES; i++)
		meet(job, a, b, group, (i + 1) * 200 * MS + group * 3 * MS,
		     i % 20 == 10 && i / 20 < N_FALSE);
	for (guint i = 0; i < job->n_hosts; i++)
		if (job->hosts[i].component == job->hosts[MAX(a, b)].component)
			job->hosts[i].component = job->hosts[MIN(a, b)].component;
}

static TachoTimeline *job_run(struct job *job)
{
	g_autoptr(GString) text = g_string_new(NULL);
	TachoTimeline *timeline;

	for (guint i = 0; i < job->n_hosts; i++) {
		g_string_append(text, job->hosts[i].text->str);
		g_string_free(job->hosts[i].text, TRUE);
	}
	g_rand_free(job->random);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	return timeline;
}

static gint64 begin_of(const TachoTimeline *timeline, guint rank, gboolean is_last)
{
	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind == TACHO_TRACK_ASYNC && track->process == rank)
			return timeline->slices
				.start_ns[track->first_slice + (is_last ? track->n_slices - 1 : 0)];
	}
	g_assert_not_reached();
}

static const TachoClock *clock_of(const TachoTimeline *timeline, guint rank)
{
	return &g_array_index(timeline->clocks, TachoClock,
			      g_array_index(timeline->processes, TachoProcess, rank).clock);
}

/* Its times are those of its component's first host, within what is stated, and so is its rate. */
static void check_host(const TachoTimeline *timeline, const struct job *job, guint rank)
{
	const struct host *host = &job->hosts[rank], *first = &job->hosts[host->component];
	const TachoClock *clock = clock_of(timeline, rank);

	g_assert_cmpuint(clock->reference, ==,
			 g_array_index(timeline->processes, TachoProcess, host->component).clock);
	if (rank == host->component) {
		g_assert_cmpint(clock->state, ==, rank ? TACHO_CLOCK_APART : TACHO_CLOCK_REFERENCE);
		return;
	}
	g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(clock->uncertainty_ns, <, 20 * MS);
	g_assert_cmpfloat_with_epsilon((1 + clock->drift) * (1 + first->drift), 1 + host->drift,
				       clock->drift_uncertainty + 1e-9);
	for (guint is_last = 0; is_last < 2; is_last++) {
		gint64 true_ns = is_last ? host->last_ns : host->first_ns;
		gint64 error_ns = begin_of(timeline, rank, is_last) + timeline->origin_unix_ns -
				  own_time(first, true_ns);

		g_assert_cmpint(ABS(error_ns), <=, clock->uncertainty_ns + 4);
	}
}

static guint count_apart(const TachoTimeline *timeline)
{
	guint n = 0;

	for (guint i = 0; i < timeline->problems->len; i++)
		n += strstr(g_array_index(timeline->problems, TachoProblem, i).where,
			    "nothing ties its clock") != NULL;
	return n;
}

/* The links that are there: of a ring in the order of the hosts, but each with some chance. */
static void check_job(guint n_hosts, guint seed, gdouble chance)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_components = 0;
	struct job job;

	job_init(&job, n_hosts, seed);
	for (guint i = 0; i + 1 < n_hosts; i++)
		if (g_rand_double(job.random) < chance)
			tie(&job, i, i + 1, i + 1);
	if (n_hosts > 2 && g_rand_double(job.random) < chance)
		tie(&job, 0, n_hosts - 1, n_hosts);
	timeline = job_run(&job);
	for (guint i = 0; i < n_hosts; i++) {
		n_components += job.hosts[i].component == i;
		check_host(timeline, &job, i);
	}
	g_assert_cmpuint(count_apart(timeline), ==, n_components - 1);
}

static void test_rings(void)
{
	for (guint n_hosts = 2; n_hosts <= MAX_HOSTS; n_hosts++)
		for (guint seed = 0; seed < 3; seed++)
			check_job(n_hosts, n_hosts * 100 + seed, 1.1);
}

static void test_missing_links(void)
{
	for (guint n_hosts = 2; n_hosts <= MAX_HOSTS; n_hosts++)
		for (guint seed = 0; seed < 3; seed++)
			check_job(n_hosts, n_hosts * 1000 + seed, 0.7);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-hosts/rings", test_rings);
	g_test_add_func("/clock-hosts/missing-links", test_missing_links);
	return g_test_run();
}
