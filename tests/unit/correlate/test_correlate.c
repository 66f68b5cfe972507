/* The stage as a whole: random timelines do it no harm, equal ones give equal results, and a
 * million slices take about a second (which is printed, not judged). */
#include <string.h>

#include <tacho/correlate.h>

static const gchar *const NAMES[] = {
	"aten::mm",
	"aten::add_",
	"MmBackward0",
	"autograd::engine::evaluate_function: MmBackward0",
	"Optimizer.step#SGD.step",
	"ProfilerStep#3",
	"gloo:all_reduce",
	"gloo:broadcast",
	"gloo:send",
	"c10d::allreduce_",
	"torch::autograd::AccumulateGrad",
	"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
	"DataLoader",
	"",
};

static guint32 random_name(TachoTimeline *timeline, GRand *random)
{
	const gchar *name = NAMES[g_rand_int_range(random, 0, G_N_ELEMENTS(NAMES))];

	return tacho_timeline_intern(timeline, name, -1);
}

static guint64 random_bytes(GRand *random)
{
	static const guint64 SIZES[] = { 0, 1, 48, 52, 100, G_MAXINT64, G_MAXUINT64 };

	return SIZES[g_rand_int_range(random, 0, G_N_ELEMENTS(SIZES))];
}

static TachoTensor random_tensor(GRand *random)
{
	return (TachoTensor){
		.storage = (guint64)g_rand_int_range(random, 0, 4),
		.offset_bytes = random_bytes(random),
		.dtype = "float32",
		.dtype_bytes = 4,
		.device = "cpu",
		.n_dims = 1,
		.shape = { (gint64)random_bytes(random) },
	};
}

static guint64 random_message(TachoTimeline *timeline, GRand *random)
{
	TachoMessageArgs message = {
		.bytes = random_bytes(random),
		.is_receive = g_rand_int_range(random, 0, 2),
		.local = { .port = (guint16)g_rand_int_range(random, 1, 3) },
		.peer = { .port = (guint16)g_rand_int_range(random, 1, 3) },
	};

	return tacho_timeline_keep_message(timeline, &message);
}

static guint64 random_source(TachoTimeline *timeline, TachoSliceKind kind, GRand *random)
{
	const TachoOpArgs op = {
		.sequence = g_rand_int_range(random, -1, 40),
		.forward_thread = g_rand_int_range(random, 0, 4),
		.n_inputs = 1,
		.n_outputs = 1,
	};
	const TachoCollectiveArgs collective = {
		.bytes = g_rand_int_range(random, 0, 3),
		.group = g_rand_int_range(random, 0, 3),
		.end_tid = g_rand_int_range(random, 0, 4),
		.n_inputs = 1,
	};
	const TachoTensor tensors[] = { random_tensor(random), random_tensor(random) };

	if (kind == TACHO_SLICE_OP)
		return tacho_timeline_keep_op(timeline, &op, tensors);
	if (kind == TACHO_SLICE_COLLECTIVE)
		return tacho_timeline_keep_collective(timeline, &collective, tensors);
	if (kind == TACHO_SLICE_MESSAGE)
		return random_message(timeline, random);
	return 0;
}

static gint64 random_time(GRand *random)
{
	static const gint64 ODD[] = { 0, -1, 1, G_MAXINT64, G_MININT64, G_MAXINT64 / 2 };

	if (g_rand_int_range(random, 0, 200) == 0)
		return ODD[g_rand_int_range(random, 0, G_N_ELEMENTS(ODD))];
	return g_rand_int_range(random, 0, 5000);
}

static void add_random_process(TachoTimeline *timeline, GRand *random, gint32 rank)
{
	TachoProcess process = {
		.host = tacho_timeline_intern(timeline, rank % 3 ? "a" : "b", -1),
		.pid = 100 + rank,
		.rank = rank,
		.rank_index = timeline->ranks->len,
		.is_main = g_rand_int_range(random, 0, 8) != 0,
		.end = g_rand_int_range(random, 0, TACHO_END_UNKNOWN + 1),
	};
	TachoRank row = { .rank = rank, .main_process = timeline->processes->len };

	g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->ranks, row);
}

static void add_random_track(TachoTimeline *timeline, GRand *random)
{
	TachoTrack track = {
		.kind = g_rand_int_range(random, 0, TACHO_TRACK_COUNTER),
		.process = g_rand_int_range(random, 0, timeline->processes->len),
		.tid = g_rand_int_range(random, 0, 6),
		.parent_tid = g_rand_int_range(random, 0, 6),
	};

	g_array_append_val(timeline->tracks, track);
}

static void add_random_mark(TachoTimeline *timeline, GRand *random)
{
	static const gchar *const MARKS[] = { "step", "autograd_thread", "process_group" };
	static const gchar *const TEXTS[] = { "", "ranks=0,1 tids=1,2", "ranks=9-0,-, tids=x",
					      "ranks=0-99999999999999999999" };
	const gchar *name = MARKS[g_rand_int_range(random, 0, G_N_ELEMENTS(MARKS))];
	const gchar *text = TEXTS[g_rand_int_range(random, 0, G_N_ELEMENTS(TEXTS))];
	TachoMark mark = {
		.time_ns = random_time(random),
		.first = random_time(random),
		.track = g_rand_int_range(random, 0, timeline->tracks->len),
		.name = tacho_timeline_intern(timeline, name, -1),
		.text = tacho_timeline_intern(timeline, text, -1),
	};

	g_array_append_val(timeline->marks, mark);
}

static TachoTimeline *random_timeline(guint32 seed, guint n_slices)
{
	g_autoptr(GRand) random = g_rand_new_with_seed(seed);
	TachoTimeline *timeline = tacho_timeline_new();
	gint n_processes = g_rand_int_range(random, 1, 5);

	for (gint i = 0; i < n_processes; i++)
		add_random_process(timeline, random, i);
	for (gint i = 0; i < 3 * n_processes; i++)
		add_random_track(timeline, random);
	for (guint i = 0; i < n_slices; i++) {
		TachoSliceKind kind = g_rand_int_range(random, 0, TACHO_N_SLICE_KINDS);

		tacho_timeline_add_slice(
			timeline, kind, g_rand_int_range(random, 0, timeline->tracks->len),
			random_name(timeline, random), random_time(random), random_time(random),
			g_rand_int_range(random, 0, TACHO_SLICE_REPAIRED),
			random_source(timeline, kind, random));
	}
	for (gint i = g_rand_int_range(random, 0, 10); i > 0; i--)
		add_random_mark(timeline, random);
	g_free(tacho_timeline_finish(timeline));
	return timeline;
}

static void assert_sound_messages(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint i = 0; i < timeline->messages->len; i++) {
		const TachoMessage *message = &g_array_index(timeline->messages, TachoMessage, i);

		g_assert_cmpuint(slices->kind[message->slice], ==, TACHO_SLICE_MESSAGE);
		g_assert_true(tacho_slice_borrow_message(timeline, message->slice) == message);
		if (message->collective == TACHO_NONE)
			continue;
		g_assert_cmpuint(slices->kind[message->collective], ==, TACHO_SLICE_COLLECTIVE);
		g_assert_true(tacho_slice_process(timeline, message->collective) ==
			      tacho_slice_process(timeline, message->slice));
	}
}

static void assert_sound_buckets(const TachoTimeline *timeline)
{
	guint32 n_gradients = 0;

	for (guint i = 0; i < timeline->buckets->len; i++) {
		const TachoBucket *bucket = &g_array_index(timeline->buckets, TachoBucket, i);

		g_assert_cmpuint(timeline->slices.kind[bucket->slice], ==, TACHO_SLICE_COLLECTIVE);
		g_assert_cmpuint(bucket->first_gradient, ==, n_gradients);
		g_assert_cmpint(bucket->ready_ns, <=, bucket->queued_ns);
		n_gradients += bucket->n_gradients;
	}
	g_assert_cmpuint(timeline->gradients->len, ==, n_gradients);
}

/* What every result must hold, whatever went in. */
static void assert_sound(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		g_assert_cmpuint(flow->from, <, timeline->slices.n);
		g_assert_cmpuint(flow->to, <, timeline->slices.n);
		g_assert_cmpuint(flow->from, !=, flow->to);
	}
	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		g_assert_cmpuint(step->rank_index, <, timeline->ranks->len);
		g_assert_cmpint(step->end_ns, >=, step->start_ns);
	}
	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *collective =
			&g_array_index(timeline->collectives, TachoCollective, i);

		g_assert_cmpuint(collective->n_members, >, 0);
		g_assert_cmpuint(collective->first_member + collective->n_members, <=,
				 timeline->members->len);
	}
	for (guint i = 0; i < timeline->members->len; i++)
		g_assert_cmpuint(
			timeline->slices.kind[g_array_index(timeline->members, guint32, i)], ==,
			TACHO_SLICE_COLLECTIVE);
	assert_sound_messages(timeline);
	assert_sound_buckets(timeline);
	g_assert_cmpuint(tacho_trust_score(timeline), <=, 100);
}

static void assert_equal_tables(GArray *a, GArray *b)
{
	g_assert_cmpmem(a->data, a->len * g_array_get_element_size(a), b->data,
			b->len * g_array_get_element_size(b));
}

/* Field by field: what lies between the fields means nothing. */
static void assert_equal_steps(const GArray *a, const GArray *b)
{
	g_assert_cmpuint(a->len, ==, b->len);
	for (guint i = 0; i < a->len; i++) {
		const TachoStep *left = &g_array_index(a, TachoStep, i);
		const TachoStep *right = &g_array_index(b, TachoStep, i);

		g_assert_cmpuint(left->rank_index, ==, right->rank_index);
		g_assert_cmpuint(left->number, ==, right->number);
		g_assert_cmpint(left->start_ns, ==, right->start_ns);
		g_assert_cmpint(left->end_ns, ==, right->end_ns);
		g_assert_cmpint(left->is_complete, ==, right->is_complete);
	}
}

static void test_random(void)
{
	for (guint32 seed = 0; seed < 400; seed++) {
		guint n_slices = seed % 7 * 97 + seed % 3;
		g_autoptr(TachoTimeline) one = random_timeline(seed, n_slices);
		g_autoptr(TachoTimeline) other = random_timeline(seed, n_slices);

		tacho_correlate(one);
		tacho_correlate(other);
		assert_sound(one);
		assert_equal_steps(one->steps, other->steps);
		assert_equal_tables(one->collectives, other->collectives);
		assert_equal_tables(one->members, other->members);
		g_assert_cmpuint(one->flows->len, ==, other->flows->len);
		g_assert_cmpuint(one->buckets->len, ==, other->buckets->len);
	}
}

static void test_empty(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();

	g_free(tacho_timeline_finish(timeline));
	tacho_correlate(timeline);
	assert_sound(timeline);
	g_assert_cmpint(tacho_step_source(timeline), ==, TACHO_STEPS_NONE);
}

static void add_slice(TachoTimeline *timeline, TachoSliceKind kind, guint32 track,
		      const gchar *name, gint64 *now_ns, gint64 duration_ns, guint8 flags,
		      guint64 source)
{
	tacho_timeline_add_slice(timeline, kind, track, tacho_timeline_intern(timeline, name, -1),
				 *now_ns, duration_ns, flags, source);
	*now_ns += duration_ns;
}

/* One step of one rank: 100 ops with a kernel each, 100 nodes, 10 collectives, an optimizer. */
static void add_step_of_rank(TachoTimeline *timeline, guint32 thread, guint32 async, gint64 now_ns,
			     gint64 *sequence)
{
	TachoOpArgs args = { 0 };
	TachoCollectiveArgs collective = { .bytes = 4096 };

	for (gint i = 0; i < 100; i++) {
		gint64 begin_ns = now_ns;

		args.sequence = *sequence + i;
		add_slice(timeline, TACHO_SLICE_KERNEL, thread, "sgemm", &begin_ns, 500, 0, 0);
		add_slice(timeline, TACHO_SLICE_OP, thread, "aten::mm", &now_ns, 1000, 0,
			  tacho_timeline_keep_op(timeline, &args, NULL));
	}
	args.forward_thread = 1;
	for (gint i = 99; i >= 0; i--) {
		args.sequence = *sequence + i;
		add_slice(timeline, TACHO_SLICE_OP, thread, "MmBackward0", &now_ns, 1000,
			  TACHO_SLICE_BACKWARD, tacho_timeline_keep_op(timeline, &args, NULL));
		if (i % 10 == 0) {
			gint64 begin_ns = now_ns - 500;

			add_slice(timeline, TACHO_SLICE_COLLECTIVE, async, "gloo:all_reduce",
				  &begin_ns, 5000, 0,
				  tacho_timeline_keep_collective(timeline, &collective, NULL));
		}
	}
	*sequence += 100;
	add_slice(timeline, TACHO_SLICE_ANNOTATION, thread, "Optimizer.step#SGD.step", &now_ns,
		  1000, 0, 0);
}

static void test_a_million(void)
{
	enum { N_RANKS = 4, N_STEPS = 820 };
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	gint64 began_us;

	for (guint32 rank = 0; rank < N_RANKS; rank++) {
		TachoProcess process = { .pid = rank,
					 .rank = rank,
					 .rank_index = rank,
					 .is_main = TRUE,
					 .end = TACHO_END_EXITED };
		TachoRank row = { .rank = rank, .main_process = rank };
		TachoTrack thread = { .process = rank, .tid = rank };
		TachoTrack async = { .kind = TACHO_TRACK_ASYNC, .process = rank, .tid = rank };
		gint64 sequence = 0;

		g_array_append_val(timeline->processes, process);
		g_array_append_val(timeline->ranks, row);
		g_array_append_val(timeline->tracks, thread);
		g_array_append_val(timeline->tracks, async);
		for (gint step = 0; step < N_STEPS; step++)
			add_step_of_rank(timeline, 2 * rank, 2 * rank + 1,
					 1000 * rank + (gint64)step * 300000, &sequence);
	}
	g_free(tacho_timeline_finish(timeline));

	began_us = g_get_monotonic_time();
	tacho_correlate(timeline);
	g_test_message("%u slices in %.3f s", timeline->slices.n,
		       (gdouble)(g_get_monotonic_time() - began_us) / 1e6);

	assert_sound(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, N_RANKS * N_STEPS);
	g_assert_cmpuint(timeline->collectives->len, ==, 10 * N_STEPS);
	/* every node and the others of every collective, and what queued the collectives */
	g_assert_cmpuint(timeline->flows->len, ==,
			 N_RANKS * N_STEPS * 100 + 10 * N_STEPS * (N_RANKS - 1) +
				 10 * N_STEPS * N_RANKS);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/correlate/random", test_random);
	g_test_add_func("/correlate/empty", test_empty);
	g_test_add_func("/correlate/a_million", test_a_million);
	return g_test_run();
}
