/* Timelines of hosts whose clocks are known to be wrong, and by how much. */
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/timeline.h>

#include "timeline_text.h"

#define US	G_GINT64_CONSTANT(1000)
#define MS	G_GINT64_CONSTANT(1000000)
#define S	G_GINT64_CONSTANT(1000000000)
#define N_RANKS 4

struct clock {
	const gchar *host;
	gint64 ahead_ns;
	gdouble drift;
};

/* A job as it was, and the texts of its ranks, each in its own clock's time. */
struct job {
	struct clock clocks[N_RANKS];
	guint n_ranks;
	GRand *random;
	GString *texts[N_RANKS];
	gint64 first_begin_ns[N_RANKS]; /* true time of each rank's first collective */
	gint64 last_begin_ns[N_RANKS];
};

static gint64 own_time(const struct clock *clock, gint64 time_ns)
{
	return time_ns + clock->ahead_ns + (gint64)(clock->drift * (gdouble)time_ns);
}

static void job_init(struct job *job, guint seed, const struct clock *clocks, guint n_ranks)
{
	*job = (struct job){ .n_ranks = n_ranks, .random = g_rand_new_with_seed(seed) };
	for (guint i = 0; i < n_ranks; i++) {
		job->clocks[i] = clocks[i];
		job->texts[i] = g_string_new(NULL);
		g_string_printf(job->texts[i],
				"rank %u host=%s end=exited:0 thread %u main\nunit ns\n", i,
				clocks[i].host, 10 + i);
	}
}

/* A collective of the ranks of `group` (bits), begun by `members` of them around `time_ns`, each in
 * turn last. */
static void add_part(struct job *job, guint group, guint members, gint64 time_ns, const gchar *name)
{
	gint64 begin_ns[N_RANKS], last_ns = 0;

	for (guint i = 0; i < job->n_ranks; i++) {
		begin_ns[i] = time_ns + g_rand_int_range(job->random, 0, 2 * MS);
		if (members & 1u << i)
			last_ns = MAX(last_ns, begin_ns[i]);
	}
	for (guint i = 0; i < job->n_ranks; i++) {
		gint64 end_ns = last_ns + 20 * US + g_rand_int_range(job->random, 0, 100 * US);

		if (!(members & 1u << i))
			continue;
		if (!job->first_begin_ns[i])
			job->first_begin_ns[i] = begin_ns[i];
		job->last_begin_ns[i] = begin_ns[i];
		g_string_append_printf(job->texts[i],
				       "collective %s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT
				       " bytes=64 group=%u\n",
				       name, own_time(&job->clocks[i], begin_ns[i]),
				       own_time(&job->clocks[i], end_ns), group);
	}
}

static void add_collective(struct job *job, guint group, gint64 time_ns, const gchar *name)
{
	add_part(job, group, group, time_ns, name);
}

/* Say which ranks a group has. */
static void add_group(struct job *job, guint members, const gchar *ranks)
{
	for (guint i = 0; i < job->n_ranks; i++)
		if (members & 1u << i)
			g_string_append_printf(job->texts[i],
					       "mark process_group %" G_GINT64_FORMAT
					       " first=%u text=\"ranks=%s\"\n",
					       own_time(&job->clocks[i], MS), members, ranks);
}

static TachoTimeline *job_run(struct job *job)
{
	g_autoptr(GString) text = g_string_new(NULL);
	TachoTimeline *timeline;

	for (guint i = 0; i < job->n_ranks; i++) {
		g_string_append(text, job->texts[i]->str);
		g_string_free(job->texts[i], TRUE);
	}
	g_rand_free(job->random);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	return timeline;
}

static const TachoClock *clock_at(const TachoTimeline *timeline, guint index)
{
	return &g_array_index(timeline->clocks, TachoClock, index);
}

static guint count_doubts(const TachoTimeline *timeline)
{
	guint n_doubts = 0;

	for (guint i = 0; i < timeline->problems->len; i++)
		n_doubts += g_array_index(timeline->problems, TachoProblem, i).kind ==
			    TACHO_PROBLEM_CLOCK_DOUBT;
	return n_doubts;
}

static const gchar *doubt(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->problems->len; i++)
		if (g_array_index(timeline->problems, TachoProblem, i).kind ==
		    TACHO_PROBLEM_CLOCK_DOUBT)
			return g_array_index(timeline->problems, TachoProblem, i).where;
	return NULL;
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

/* Times of `rank`, against those of rank `against`, are as they truly were. */
static void assert_true(const TachoTimeline *timeline, const struct job *job, guint rank,
			guint against)
{
	guint32 clock = g_array_index(timeline->processes, TachoProcess, rank).clock;
	gint64 most_ns = clock_at(timeline, clock)->uncertainty_ns + 4;

	for (guint is_last = 0; is_last < 2; is_last++) {
		gint64 begin_ns = is_last ? job->last_begin_ns[rank] : job->first_begin_ns[rank];
		gint64 error_ns = begin_of(timeline, rank, is_last) -
				  begin_of(timeline, against, FALSE) - begin_ns +
				  job->first_begin_ns[against];

		g_assert_cmpint(ABS(error_ns), <=, most_ns);
	}
}

static const struct clock TWO_HOSTS[] = { { "a", 0, 0 }, { "b", 5 * S, 50e-6 } };

static void test_two_hosts(void)
{
	for (guint seed = 0; seed < 50; seed++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		const TachoClock *clock;
		struct clock clocks[2];
		gint64 ahead_ns;
		struct job job;

		memcpy(clocks, TWO_HOSTS, sizeof(clocks));
		if (seed % 2)
			clocks[1].ahead_ns =
				-clocks[1].ahead_ns; /* it tells the first of all times */
		if (seed % 3 == 0)
			clocks[1].drift = 0;
		job_init(&job, seed, clocks, 2);
		for (guint i = 1; i <= 40; i++)
			add_collective(&job, 3, i * 250 * MS, "gloo:all_reduce");
		timeline = job_run(&job);
		clock = clock_at(timeline, 1);
		g_assert_cmpint(clock_at(timeline, 0)->state, ==, TACHO_CLOCK_REFERENCE);
		g_assert_cmpint(clock->state, ==, TACHO_CLOCK_ALIGNED);
		g_assert_cmpint(clock->evidence, ==, TACHO_CLOCK_BY_COLLECTIVES);
		g_assert_cmpuint(clock->n_bounds, ==, 80);
		g_assert_cmpint(clock->uncertainty_ns, <, 400 * US);
		g_assert_cmpfloat_with_epsilon(clock->drift, clocks[1].drift,
					       clock->drift_uncertainty + 1e-9);
		/* At the new origin: rank 0's time was what it says there. */
		ahead_ns =
			own_time(&clocks[1], timeline->origin_unix_ns) - timeline->origin_unix_ns;
		g_assert_cmpint(ABS(clock->offset_ns - ahead_ns), <=, clock->uncertainty_ns + 4);
		assert_true(timeline, &job, 1, 0);
		g_assert_cmpuint(count_doubts(timeline), ==, 0);
		g_assert_cmpint(g_array_index(timeline->processes, TachoProcess, 0).start_ns, ==,
				MAX(0, begin_of(timeline, 0, FALSE)));
	}
}

/* a - b - c: c has nothing to do with a. Ranks 0 and 3 are on one host. */
static void test_chain(void)
{
	static const struct clock CLOCKS[] = {
		{ "a", 0, 0 }, { "b", -2 * S, 30e-6 }, { "c", 9 * S, -40e-6 }, { "a", 0, 0 }
	};
	for (guint seed = 0; seed < 30; seed++) {
		g_autoptr(TachoTimeline) timeline = NULL;
		struct job job;

		job_init(&job, seed, CLOCKS, 4);
		add_group(&job, 3, "0-1");
		add_group(&job, 6, "1-2");
		for (guint i = 1; i <= 50; i++) {
			add_collective(&job, 3, i * 200 * MS, "gloo:all_reduce");
			add_collective(&job, 6, i * 200 * MS + 50 * MS, "gloo:barrier");
			add_collective(&job, 8, i * 200 * MS, "gloo:all_reduce");
		}
		timeline = job_run(&job);
		g_assert_cmpuint(timeline->clocks->len, ==, 3);
		for (guint i = 1; i < 3; i++) {
			g_assert_cmpint(clock_at(timeline, i)->state, ==, TACHO_CLOCK_ALIGNED);
			g_assert_cmpuint(clock_at(timeline, i)->reference, ==, 0);
		}
		assert_true(timeline, &job, 1, 0);
		assert_true(timeline, &job, 2, 0);
		assert_true(timeline, &job, 2, 1);
		assert_true(timeline, &job, 3,
			    0); /* to the nanosecond: its clock is the reference */
		g_assert_cmpint(clock_at(timeline, 2)->uncertainty_ns, >=,
				clock_at(timeline, 1)->uncertainty_ns);
	}
}

/* a - b and c - d. */
static void test_two_components(void)
{
	static const struct clock CLOCKS[] = {
		{ "a", 0, 0 }, { "b", S, 0 }, { "c", 2 * S, 0 }, { "d", 3 * S, 50e-6 }
	};
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 1, CLOCKS, 4);
	add_group(&job, 3, "0-1");
	add_group(&job, 12, "2-3");
	for (guint i = 1; i <= 50; i++) {
		add_collective(&job, 3, i * 200 * MS, "gloo:all_reduce");
		add_collective(&job, 12, i * 200 * MS, "gloo:all_reduce");
	}
	timeline = job_run(&job);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpint(clock_at(timeline, 2)->state, ==, TACHO_CLOCK_APART);
	g_assert_cmpint(clock_at(timeline, 3)->state, ==, TACHO_CLOCK_ALIGNED);
	g_assert_cmpuint(clock_at(timeline, 3)->reference, ==, 2);
	assert_true(timeline, &job, 1, 0);
	assert_true(timeline, &job, 3, 2);
	g_assert_cmpuint(count_doubts(timeline), ==, 1);
	g_assert_cmpstr(doubt(timeline), ==,
			"host c (rank 2): nothing relates its clock to that of host a (rank 0); "
			"the same holds for host d (rank 3), whose clocks are aligned with it");
}

/* Messages there and back, some of several calls: a receive ended after the send of its bytes began. */
static void test_messages(void)
{
	const struct clock clock = { "b", 5 * S, 50e-6 };
	g_autoptr(GString) text = g_string_new("rank 0 host=a thread 1 main\nunit ns\n");
	g_autoptr(GString) theirs = g_string_new("rank 1 host=b thread 2 main\n");
	g_autoptr(GRand) random = g_rand_new_with_seed(1);
	g_autoptr(TachoTimeline) timeline = NULL;
	gint64 error_ns;

	for (guint i = 1; i <= 100; i++) {
		gint64 begin_ns = i * 50 * MS, delay_ns = g_rand_int_range(random, 5000, 90000);
		gboolean is_back = i % 2;

		g_string_append_printf(is_back ? theirs : text,
				       "message send %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT
				       " bytes=%u local=10.0.0.%s\n",
				       is_back ? own_time(&clock, begin_ns) : begin_ns,
				       (is_back ? own_time(&clock, begin_ns) : begin_ns) + 900,
				       100 + i,
				       is_back ? "2:9 peer=10.0.0.1:7" : "1:7 peer=10.0.0.2:9");
		g_string_append_printf(is_back ? text : theirs,
				       "message recv %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT
				       " receive bytes=%u local=10.0.0.%s\n",
				       (is_back ? begin_ns : own_time(&clock, begin_ns)) + 10,
				       (is_back ? begin_ns : own_time(&clock, begin_ns)) + delay_ns,
				       100 + i,
				       is_back ? "1:7 peer=10.0.0.2:9" : "2:9 peer=10.0.0.1:7");
	}
	g_string_append(text, theirs->str);
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->evidence, ==, TACHO_CLOCK_BY_MESSAGES);
	g_assert_cmpuint(clock_at(timeline, 1)->n_bounds, ==, 100);
	g_assert_cmpint(clock_at(timeline, 1)->uncertainty_ns, <, 100 * US);
	error_ns = clock_at(timeline, 1)->offset_ns -
		   (own_time(&clock, timeline->origin_unix_ns) - timeline->origin_unix_ns);
	g_assert_cmpint(ABS(error_ns), <=, clock_at(timeline, 1)->uncertainty_ns);
}

/* Nobody knows the root of a broadcast, and an all-to-all may be empty: nothing moves. */
static void test_no_evidence(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 host=a thread 1 main\n"
				   "collective gloo:broadcast 10..20\n"
				   "collective gloo:all_to_all 30..40\n"
				   "rank 1 host=b thread 2 main\n"
				   "collective gloo:broadcast 5010..5020\n"
				   "collective gloo:all_to_all 5030..5040\n");

	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_APART);
	g_assert_cmpint(begin_of(timeline, 1, FALSE), ==, 5010 * MS);
	g_assert_cmpuint(count_doubts(timeline), ==, 2); /* and that the all-to-all cannot be */
}

/* Messages one way only: the clock may be anywhere on one side of the bound. */
static void test_one_way(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(
		"rank 0 host=a thread 1 main\n"
		"message send 10..11 bytes=9 local=10.0.0.1:7 peer=10.0.0.2:9\n"
		"message send 20..21 bytes=9 local=10.0.0.1:7 peer=10.0.0.2:9\n"
		"rank 1 host=b thread 2 main\n"
		"message recv 5010..5012 receive bytes=9 local=10.0.0.2:9 peer=10.0.0.1:7\n"
		"message recv 5020..5022 receive bytes=9 local=10.0.0.2:9 peer=10.0.0.1:7\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->flows->len, ==, 2);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_APART);
	g_assert_cmpint(timeline->slices.start_ns[timeline_find(timeline, "recv", 0)], ==,
			5010 * MS);
	g_assert_cmpuint(count_doubts(timeline), ==, 1);
}

/* Hosts that have nothing to do with each other. */
static void test_nothing_in_common(void)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text("rank 0 host=a thread 1 main\n"
							       "op aten::mm 10..20\n"
							       "rank 1 host=b thread 2 main\n"
							       "op aten::mm 5010..5020\n");

	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_APART);
	g_assert_cmpint(timeline->slices.start_ns[1], ==, 5010 * MS);
	g_assert_cmpuint(count_doubts(timeline), ==, 1);
}

/* With one clock, no time changes, however impossible it is. */
static void test_one_host(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 thread 1 main\n"
				   "collective gloo:all_reduce 10..20\n"
				   "rank 1 thread 2 main\n"
				   "collective gloo:all_reduce 30..40\n");

	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->clocks->len, ==, 1);
	g_assert_cmpint(begin_of(timeline, 0, FALSE), ==, 10 * MS);
	g_assert_cmpint(begin_of(timeline, 1, FALSE), ==, 30 * MS);
}

/* Rank 1 was killed half way, and everything is alike: after the alignment by order the rest is
 * matched by time. */
static void test_gaps(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 3, TWO_HOSTS, 2);
	for (guint i = 1; i <= 40; i++)
		add_part(&job, 3, i <= 20 ? 3 : 1, i * 250 * MS, "gloo:all_reduce");
	timeline = job_run(&job);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_ALIGNED);
	assert_true(timeline, &job, 1, 0);
	g_assert_cmpuint(timeline->collectives->len, ==, 40);
	for (guint i = 0; i < 40; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, i < 20 ? 2 : 1);
	g_assert_nonnull(strstr(doubt(timeline), "by their order"));
}

/* What has gaps is matched by time once something sure has aligned the clocks. */
static void test_gaps_beside_sure(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	struct job job;

	job_init(&job, 4, TWO_HOSTS, 2);
	for (guint i = 1; i <= 3; i++)
		add_collective(&job, 3, i * 20 * MS, "gloo:barrier");
	for (guint i = 1; i <= 40; i++)
		add_part(&job, 3, i == 3 ? 1 : 3, i * 250 * MS, "gloo:all_reduce");
	timeline = job_run(&job);
	assert_true(timeline, &job, 1, 0);
	g_assert_cmpint(clock_at(timeline, 1)->evidence, ==, TACHO_CLOCK_BY_COLLECTIVES);
	g_assert_cmpint(clock_at(timeline, 1)->uncertainty_ns, <, 300 * US);
	g_assert_cmpuint(count_doubts(timeline), ==, 0);
}

/* All-reduces in which rank 1 is always last by far: nobody can know how long they took. */
static void test_wide(void)
{
	g_autoptr(TachoTimeline) timeline =
		timeline_from_text("rank 0 host=a thread 1 main\n"
				   "collective gloo:all_reduce 10..20\n"
				   "collective gloo:all_reduce 30..40\n"
				   "rank 1 host=b thread 2 main\n"
				   "collective gloo:all_reduce 19..20\n"
				   "collective gloo:all_reduce 39..40\n");

	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->inner_uncertainty_ns, >, 5 * MS);
	g_assert_cmpuint(count_doubts(timeline), ==, 1);
	g_assert_nonnull(strstr(doubt(timeline), "host b (rank 1): its times are accurate to"));
}

/* A timeline's slices are in its order and nested, memory events in their slices, and no time is
 * beyond what a time may be. */
static void assert_in_order(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++) {
		guint32 parent = slices->parent[i];

		g_assert_cmpint(slices->start_ns[i], >=, -TACHO_MAX_TIME_NS);
		g_assert_cmpint(slices->duration_ns[i], >=, 0);
		g_assert_cmpint(slices->start_ns[i], <=,
				TACHO_MAX_TIME_NS - slices->duration_ns[i]);
		if (i > 0 && slices->track[i] == slices->track[i - 1])
			g_assert_cmpint(slices->start_ns[i], >=, slices->start_ns[i - 1]);
		if (parent == TACHO_NONE)
			continue;
		g_assert_cmpint(slices->start_ns[i], >=, slices->start_ns[parent]);
		g_assert_cmpint(tacho_slice_end_ns(timeline, i), <=,
				tacho_slice_end_ns(timeline, parent));
	}
	for (guint i = 1; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *events = (const TachoMemoryEvent *)timeline->memory->data;

		if (events[i].track == events[i - 1].track)
			g_assert_cmpint(events[i].time_ns, >=, events[i - 1].time_ns);
	}
}

/* Each sibling begins after the one before it has begun, and not before that one has ended. */
static void assert_apart(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 1; i < slices->n; i++) {
		if (slices->parent[i] == TACHO_NONE || slices->parent[i] != slices->parent[i - 1])
			continue;
		g_assert_cmpint(slices->start_ns[i], >, slices->start_ns[i - 1]);
		g_assert_cmpint(slices->start_ns[i], >=, tacho_slice_end_ns(timeline, i - 1));
	}
}

/* Everything of a process moves, and stays nested and in order: consecutive nanoseconds, at a clock
 * that runs fast enough to bring some of them together. */
static void test_all_moves(void)
{
	g_autoptr(GString) text = g_string_new("rank 0 host=a thread 1 main\nunit ns\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	const TachoProcess *process;

	for (guint i = 0; i < 3; i++)
		g_string_append_printf(text, "collective gloo:barrier %u..%u\n", i * 1000000,
				       i * 1000000 + 1000);
	g_string_append(text, "rank 1 host=b thread 2 main\n");
	for (guint i = 0; i < 3; i++) /* 100 ppm fast, a second ahead */
		g_string_append_printf(text, "collective gloo:barrier %u..%u\n",
				       1000000000 + i * 1000100, 1000001000 + i * 1000100);
	g_string_append(text, "thread 3\nop outer 1000000000..1000060003\n");
	for (guint i = 0; i < 30000; i++)
		g_string_append_printf(text, "op inner %u..%u\n", 1000000001 + 2 * i,
				       1000000003 + 2 * i);
	g_string_append(text, "alloc 1000030000 address=1 bytes=8\nmark m 1000040000\n"
			      "sample c 1000050000 7\n");
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	g_assert_cmpint(clock_at(timeline, 1)->state, ==, TACHO_CLOCK_ALIGNED);
	assert_in_order(timeline);
	assert_apart(timeline);
	process = &g_array_index(timeline->processes, TachoProcess, 1);
	g_assert_cmpint(process->start_ns, <, 2000);
	g_assert_cmpint(process->end_ns, <, 2100000);
	g_assert_cmpint(g_array_index(timeline->memory, TachoMemoryEvent, 0).time_ns, <, 40000);
	g_assert_cmpint(g_array_index(timeline->marks, TachoMark, 0).time_ns, <, 50000);
	g_assert_cmpint(g_array_index(timeline->samples, TachoSample, 0).time_ns, <, 60000);
	g_assert_cmpint(timeline->duration_ns, <, 2100000);
}

static gint64 absurd_time(GRand *random)
{
	static const gint64 TIMES_NS[] = { 0,
					   1,
					   -1,
					   5 * S,
					   TACHO_MAX_TIME_NS / 2,
					   -TACHO_MAX_TIME_NS / 2,
					   TACHO_MAX_TIME_NS - 1,
					   1 - TACHO_MAX_TIME_NS,
					   TACHO_MAX_TIME_NS,
					   -TACHO_MAX_TIME_NS };

	gint64 time_ns = TIMES_NS[g_rand_int_range(random, 0, G_N_ELEMENTS(TIMES_NS))];

	if (g_rand_boolean(random))
		time_ns += g_rand_int_range(random, -1000, 1000);
	return CLAMP(time_ns, -TACHO_MAX_TIME_NS, TACHO_MAX_TIME_NS);
}

static void add_absurd_rank(GString *text, GRand *random, guint rank)
{
	static const gchar *const THINGS[] = { "collective gloo:all_reduce",
					       "collective barrier",
					       "op inner",
					       "message send",
					       "collective nccl:send",
					       "collective nccl:recv",
					       "collective SendRecv" };
	static const gchar *const MOMENTS[] = { "mark m %" G_GINT64_FORMAT "\n",
						"sample c %" G_GINT64_FORMAT " 7\n",
						"alloc %" G_GINT64_FORMAT " address=1 bytes=8\n" };

	g_string_append_printf(text, "rank %u host=h%u thread %u\n", rank, rank, rank + 1);
	for (guint i = 0; i < 70; i++) {
		gint64 one_ns = absurd_time(random), other_ns = absurd_time(random);
		guint thing = i % G_N_ELEMENTS(THINGS);

		g_string_append_printf(text, "%s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT,
				       THINGS[thing], MIN(one_ns, other_ns), MAX(one_ns, other_ns));
		if (thing == 4 || thing == 5)
			g_string_append_printf(text, " peer=%u", (rank + (thing == 4 ? 1 : 2)) % 3);
		g_string_append_printf(
			text, thing != 3 ? "\n"
			      : rank % 2 ? " receive bytes=9 local=1.1.1.1:1 peer=1.1.1.2:2\n"
					 : " bytes=9 local=1.1.1.2:2 peer=1.1.1.1:1\n");
		g_string_append_printf(text, MOMENTS[i % 3], absurd_time(random));
	}
}

/* As broken files have them, to the ends of what a time may be: nothing overflows, which
 * the undefined behaviour sanitizer sees, and what comes out is in order. */
static void test_absurd_times(void)
{
	guint n_aligned = 0;

	for (guint seed = 0; seed < 200; seed++) {
		g_autoptr(GRand) random = g_rand_new_with_seed(seed);
		g_autoptr(GString) text = g_string_new("unit ns\n");
		g_autoptr(TachoTimeline) timeline = NULL;

		for (guint rank = 0; rank < 3; rank++)
			add_absurd_rank(text, random, rank);
		timeline = timeline_from_text(text->str);
		tacho_correlate(timeline);
		assert_in_order(timeline);
		n_aligned += clock_at(timeline, 1)->state == TACHO_CLOCK_ALIGNED;
	}
	g_assert_cmpuint(n_aligned, >, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/clock-alignment/two-hosts", test_two_hosts);
	g_test_add_func("/clock-alignment/chain", test_chain);
	g_test_add_func("/clock-alignment/two-components", test_two_components);
	g_test_add_func("/clock-alignment/messages", test_messages);
	g_test_add_func("/clock-alignment/no-evidence", test_no_evidence);
	g_test_add_func("/clock-alignment/one-way", test_one_way);
	g_test_add_func("/clock-alignment/nothing-in-common", test_nothing_in_common);
	g_test_add_func("/clock-alignment/one-host", test_one_host);
	g_test_add_func("/clock-alignment/gaps", test_gaps);
	g_test_add_func("/clock-alignment/gaps-beside-sure", test_gaps_beside_sure);
	g_test_add_func("/clock-alignment/wide", test_wide);
	g_test_add_func("/clock-alignment/all-moves", test_all_moves);
	g_test_add_func("/clock-alignment/absurd-times", test_absurd_times);
	return g_test_run();
}
