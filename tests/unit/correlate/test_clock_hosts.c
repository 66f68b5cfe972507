/* Many hosts whose clocks are wrong by seconds and up to 100 ppm, of which each speaks with its neighbours only, some with
 * none; and some of what they say is false. Wherever times end up, the truth is not farther off than is stated. */
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
	N_SENDS = 40,	    /* of two neighbours, one way and the other in turns */
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
	guint n_bounds; /* of each two that are tied; 0: it depends */
	GRand *random;
	struct host hosts[MAX_HOSTS];
};

static gint64 own_time(const struct host *host, gint64 time_ns)
{
	return time_ns + host->ahead_ns + (gint64)(host->drift * (gdouble)time_ns);
}

static void job_init(struct job *job, guint n_hosts, guint seed, gdouble max_drift)
{
	*job = (struct job){ .n_hosts = n_hosts, .random = g_rand_new_with_seed(seed) };
	for (guint i = 0; i < n_hosts; i++) {
		struct host *host = &job->hosts[i];

		host->component = i;
		host->ahead_ns = i ? g_rand_int_range(job->random, -2000, 2000) * 5 * MS : 0;
		host->drift = i ? g_rand_double_range(job->random, -max_drift, max_drift) : 0;
		host->text = g_string_new(NULL);
		g_string_printf(host->text,
				"rank %u host=h%u end=exited:0 thread %u main\nunit ns\n", i, i,
				10 + i);
	}
}

static void say(struct host *host, const gchar *what, gint64 begin_ns, gint64 end_ns,
		const gchar *more)
{
	if (!host->first_ns || begin_ns < host->first_ns)
		host->first_ns = begin_ns;
	host->last_ns = MAX(host->last_ns, begin_ns);
	g_string_append_printf(host->text,
			       "collective %s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT
			       " bytes=64 %s\n",
			       what, own_time(host, begin_ns), own_time(host, end_ns), more);
}

/* A collective of two, each of which comes and goes when it does; a false one is over long before the other came. */
static void meet(struct job *job, guint a, guint b, guint group, gint64 time_ns, gboolean is_false)
{
	gint64 begin_a = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 begin_b = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 done_ns = MAX(begin_a, begin_b) + 20 * US;
	g_autofree gchar *more = g_strdup_printf("group=%u", group);

	if (is_false)
		begin_b += 40 * MS;
	say(&job->hosts[a], "gloo:all_reduce", begin_a,
	    done_ns + g_rand_int_range(job->random, 0, 100 * US), more);
	say(&job->hosts[b], "gloo:all_reduce", begin_b,
	    MAX(begin_b, done_ns) + g_rand_int_range(job->random, 1, 100 * US), more);
}

static void join(struct job *job, guint a, guint b)
{
	guint32 one = job->hosts[a].component, other = job->hosts[b].component;

	for (guint i = 0; i < job->n_hosts; i++)
		if (job->hosts[i].component == one || job->hosts[i].component == other)
			job->hosts[i].component = MIN(one, other);
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
	join(job, a, b);
}

/* `from` sends to `to`, and need not wait for it; a false one is over long before its send began. */
static void send(struct job *job, guint from, guint to, gint64 time_ns, gboolean is_false)
{
	gint64 sent_ns = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 posted_ns = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
	gint64 moved_ns = sent_ns + g_rand_int_range(job->random, 5 * US, 100 * US);
	gint64 come_ns = MAX(moved_ns, posted_ns);
	g_autofree gchar *to_whom = g_strdup_printf("peer=%u", to);
	g_autofree gchar *from_whom = g_strdup_printf("peer=%u", from);

	if (is_false) {
		posted_ns -= 40 * MS;
		come_ns = posted_ns + MS;
	}
	say(&job->hosts[from], "gloo:send", sent_ns, sent_ns + 4 * US, to_whom);
	say(&job->hosts[to], "gloo:recv", posted_ns, come_ns + 2 * US, from_whom);
}

/* Neighbours send to each other for a part of the run. */
static void tie_by_sends(struct job *job, guint a, guint b, guint number)
{
	gint64 from_ns = g_rand_int_range(job->random, 1, 3000) * MS;
	gint64 every_ns = g_rand_int_range(job->random, 80, 150) * MS;

	for (guint i = 0; i < N_SENDS; i++)
		send(job, i % 2 ? b : a, i % 2 ? a : b, from_ns + i * every_ns + number * 3 * MS,
		     i % 20 == 10 + number % 2);
	join(job, a, b);
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
	if (job->n_bounds)
		g_assert_cmpuint(clock->n_bounds, ==, job->n_bounds); /* each once */
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
			    "nothing relates its clock") != NULL;
	return n;
}

static void check_all(struct job *job)
{
	g_autoptr(TachoTimeline) timeline = job_run(job);
	guint n_components = 0;

	for (guint i = 0; i < job->n_hosts; i++) {
		n_components += job->hosts[i].component == i;
		check_host(timeline, job, i);
	}
	g_assert_cmpuint(count_apart(timeline), ==, n_components - 1);
}

typedef void (*Tie)(struct job *job, guint a, guint b, guint number);

/* The links that are there: of a ring in the order of the hosts, but each with some chance. */
static void tie_ring(struct job *job, Tie tie_two, gdouble chance)
{
	for (guint i = 0; i + 1 < job->n_hosts; i++)
		if (g_rand_double(job->random) < chance)
			tie_two(job, i, i + 1, i + 1);
	if (job->n_hosts > 2 && g_rand_double(job->random) < chance)
		tie_two(job, 0, job->n_hosts - 1, job->n_hosts);
}

static void check_collectives(guint n_hosts, guint seed, gdouble chance)
{
	struct job job;

	job_init(&job, n_hosts, seed, 50e-6);
	job.n_bounds = 2 * N_COLLECTIVES;
	tie_ring(&job, tie, chance);
	check_all(&job);
}

static void test_rings(void)
{
	for (guint n_hosts = 2; n_hosts <= MAX_HOSTS; n_hosts++)
		for (guint seed = 0; seed < 3; seed++)
			check_collectives(n_hosts, n_hosts * 100 + seed, 1.1);
}

static void test_missing_links(void)
{
	for (guint n_hosts = 2; n_hosts <= MAX_HOSTS; n_hosts++)
		for (guint seed = 0; seed < 3; seed++)
			check_collectives(n_hosts, n_hosts * 1000 + seed, 0.7);
}

enum shape { CHAIN, RING, TREE, N_SHAPES };

/* Hosts that send and receive, and have no collective. */
static void check_sends(guint n_hosts, guint seed, enum shape shape, gdouble chance)
{
	struct job job;

	job_init(&job, n_hosts, seed, 100e-6);
	job.n_bounds = N_SENDS;
	if (shape == RING)
		tie_ring(&job, tie_by_sends, chance);
	for (guint i = 1; shape != RING && i < n_hosts; i++)
		if (g_rand_double(job.random) < chance)
			tie_by_sends(&job, shape == TREE ? (i - 1) / 2 : i - 1, i, i);
	check_all(&job);
}

static void test_sends(void)
{
	for (guint n_hosts = 2; n_hosts <= MAX_HOSTS; n_hosts++)
		for (guint shape = 0; shape < N_SHAPES; shape++)
			for (guint seed = 0; seed < 3; seed++)
				check_sends(n_hosts, n_hosts * 1000 + shape * 100 + seed, shape,
					    seed < 2 ? 1.1 : 0.7);
}

/* Sends of one way only, which wait for their receives: what is assumed of them is needed, and told. */
static void test_one_way(void)
{
	struct job job;
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoClock *clock;

	job_init(&job, 2, 7, 100e-6);
	for (guint i = 1; i <= N_SENDS; i++) {
		gint64 sent_ns = i * 100 * MS + g_rand_int_range(job.random, 0, 2 * MS);
		gint64 posted_ns = i * 100 * MS + g_rand_int_range(job.random, 0, 2 * MS);
		gint64 end_ns = MAX(sent_ns, posted_ns) + 50 * US;

		say(&job.hosts[0], "gloo:send", sent_ns, end_ns, "peer=1");
		say(&job.hosts[1], "gloo:recv", posted_ns, end_ns + 9 * US, "peer=0");
	}
	join(&job, 0, 1);
	job.n_bounds = 2 * N_SENDS;
	timeline = job_run(&job);
	check_host(timeline, &job, 1);
	clock = clock_of(timeline, 1);
	g_assert_cmpint(clock->evidence, ==, TACHO_CLOCK_BY_SENDS | TACHO_CLOCK_ASSUMED);
	g_assert_cmpint(clock->inner_uncertainty_ns, <, 200 * US);
	g_assert_nonnull(strstr(g_array_index(timeline->problems, TachoProblem, 0).where,
				"assumption that sends waited for their receives"));
}

/* A send was lost of one of the two ways: paired by order first, by time then. */
static void test_lost_send(void)
{
	for (guint lost = 0; lost < N_SENDS; lost += 7) {
		g_autoptr(TachoTimeline) timeline = NULL;
		struct job job;

		job_init(&job, 2, lost, 100e-6);
		for (guint i = 0; i < N_SENDS; i++) {
			gsize n_said = job.hosts[i % 2].text->len;

			send(&job, i % 2, !(i % 2), (i + 1) * 100 * MS, FALSE);
			if (i == lost)
				g_string_truncate(job.hosts[i % 2].text, n_said);
		}
		join(&job, 0, 1);
		job.n_bounds = N_SENDS - 1;
		timeline = job_run(&job);
		check_host(timeline, &job, 1);
		g_assert_cmpuint(timeline->collectives->len, ==, N_SENDS - 1);
	}
}

/* Each sends to the next only, and the last to the first: no two bound each other from both sides, but all of them do. */
static void check_one_way_ring(guint n_hosts, guint seed, gboolean has_false)
{
	struct job job;
	g_autoptr(TachoTimeline) timeline = NULL;

	job_init(&job, n_hosts, seed, 100e-6);
	for (guint host = 0; host < n_hosts; host++) {
		guint next = (host + 1) % n_hosts;

		for (guint i = 0; i < 4 * N_SENDS; i++)
			send(&job, host, next, (i + 1) * 100 * MS + host * 3 * MS,
			     has_false && i % 20 == 10 + host % 2);
		join(&job, host, next);
	}
	timeline = job_run(&job);
	for (guint host = 0; host < n_hosts; host++) {
		const TachoClock *clock = clock_of(timeline, host);

		check_host(timeline, &job, host);
		if (host == 0)
			continue;
		g_assert_cmpint(clock->evidence, ==, TACHO_CLOCK_BY_SENDS);
		g_assert_cmpint(clock->inner_uncertainty_ns, <, n_hosts * 200 * US);
		if (has_false)
			g_assert_cmpuint(clock->n_contradicted, ==, 4 * N_SENDS / 20);
		else
			g_assert_cmpuint(clock->n_contradicted, ==, 0);
	}
}

static void test_one_way_rings(void)
{
	for (guint n_hosts = 3; n_hosts <= 8; n_hosts++)
		for (guint seed = 0; seed < 4; seed++)
			check_one_way_ring(n_hosts, n_hosts * 10 + seed, seed % 2);
}

/* Without the last that sends to the first, nothing holds them from the other side but what is assumed. */
static void test_one_way_chain(void)
{
	struct job job;
	g_autoptr(TachoTimeline) timeline = NULL;

	job_init(&job, 4, 5, 100e-6);
	for (guint host = 0; host < 3; host++)
		for (guint i = 0; i < N_SENDS; i++)
			send(&job, host, host + 1, (i + 1) * 100 * MS + host * 3 * MS, FALSE);
	timeline = job_run(&job);
	for (guint host = 1; host < 4; host++)
		g_assert_cmpint(clock_of(timeline, host)->evidence, ==,
				TACHO_CLOCK_BY_SENDS | TACHO_CLOCK_ASSUMED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-hosts/rings", test_rings);
	g_test_add_func("/clock-hosts/missing-links", test_missing_links);
	g_test_add_func("/clock-hosts/sends", test_sends);
	g_test_add_func("/clock-hosts/one-way", test_one_way);
	g_test_add_func("/clock-hosts/one-way-rings", test_one_way_rings);
	g_test_add_func("/clock-hosts/one-way-chain", test_one_way_chain);
	g_test_add_func("/clock-hosts/lost-send", test_lost_send);
	return g_test_run();
}
