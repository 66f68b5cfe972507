/* Batches of sends and receives whose calls are told: each is paired with its own other end. */
#include <string.h>

#include <tacho/correlate.h>

#include "exchange_jobs.h"
#include "timeline_text.h"

static const gint64 compute_us[] = { 500, 700, 300, 900, 400, 600, 800, 350 };

static guint count_problems(const TachoTimeline *timeline, TachoProblemKind kind)
{
	guint n = 0;

	for (guint i = 0; i < timeline->problems->len; i++)
		if (g_array_index(timeline->problems, TachoProblem, i).kind == kind)
			n += (guint)g_array_index(timeline->problems, TachoProblem, i).count;
	return n;
}

static gint64 begin_us(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.start_ns[slice] / 1000;
}

/* The row of the pair; -1: there is none. */
static gint find_row(const TachoTimeline *timeline, guint sender, gint64 sent_us, guint receiver,
		     gint64 received_us)
{
	for (guint i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);
		const guint32 *members =
			&g_array_index(timeline->members, guint32, row->first_member);

		g_assert_cmpuint(row->n_members, ==, 2);
		g_assert_cmpuint(row->bytes, ==, 4096);
		if (tacho_slice_process(timeline, members[0])->rank == (gint32)sender &&
		    tacho_slice_process(timeline, members[1])->rank == (gint32)receiver &&
		    begin_us(timeline, members[0]) == sent_us &&
		    begin_us(timeline, members[1]) == received_us)
			return (gint)i;
	}
	return -1;
}

/* Every send that is received is a row, and there are no others. Ends the job. */
static void check_rows(struct exchange *job)
{
	g_autofree gchar *text = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint n_expected = 0;

	exchange_play(job);
	text = exchange_text(job);
	timeline = timeline_from_text(text);
	tacho_correlate(timeline);
	for (guint rank = 0; rank < job->n_ranks; rank++)
		for (guint i = 0; i < job->items[rank]->len; i++)
			for (guint peer = 0; peer < job->n_ranks; peer++) {
				gint64 received_us = exchange_received_us(job, rank, i, peer);

				if (received_us < 0)
					continue;
				n_expected++;
				g_assert_cmpint(find_row(timeline, rank,
							 exchange_item_at(job, rank, i)->begin_us,
							 peer, received_us),
						>=, 0);
			}
	g_assert_cmpuint(n_expected, >, 0);
	g_assert_cmpuint(timeline->collectives->len, ==, n_expected);
	g_assert_cmpuint(count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==, 0);
	exchange_release(job);
}

static void test_rings(void)
{
	for (guint n_ranks = 2; n_ranks <= 8; n_ranks++) {
		struct exchange job;

		exchange_ring(&job, n_ranks, 5, compute_us);
		check_rows(&job);
		if (n_ranks > 2) {
			exchange_both_ways(&job, n_ranks, 5, compute_us);
			check_rows(&job);
		}
	}
}

static void test_pipelines(void)
{
	struct exchange job;

	exchange_two_stages(&job, 6, compute_us);
	check_rows(&job);
	for (guint n_ranks = 2; n_ranks <= 8; n_ranks++) {
		exchange_pipeline(&job, n_ranks, 6, compute_us);
		check_rows(&job);
	}
}

/* The last send of rank 0 has nobody to receive it: that one is a problem, with its reason, and all others are pairs. */
static void test_lacking_peer(void)
{
	struct exchange job;
	g_autofree gchar *text = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	exchange_ring(&job, 4, 4, compute_us);
	exchange_compute(&job, 0, 100);
	exchange_batch(&job, 0, 2, -1);
	for (guint rank = 1; rank < 4; rank++)
		exchange_compute(&job, rank, 3000);
	exchange_play(&job);
	text = exchange_text(&job);
	timeline = timeline_from_text(text);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 4 * 4);
	g_assert_cmpuint(count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==, 1);
	for (guint i = 0; i < timeline->problems->len; i++)
		g_assert_nonnull(strstr(g_array_index(timeline->problems, TachoProblem, i).where,
					"rank 0: ncclDevKernel_SendRecv"));
	exchange_release(&job);
}

/* One rank tells no calls: what the others tell is of no use, and nothing is paired that nobody knows. */
static void test_untold(void)
{
	struct exchange job;
	g_autofree gchar *text = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;

	exchange_ring(&job, 4, 6, compute_us);
	job.n_told = 3;
	exchange_play(&job);
	text = exchange_text(&job);
	timeline = timeline_from_text(text);
	tacho_correlate(timeline);
	g_assert_cmpuint(count_problems(timeline, TACHO_PROBLEM_UNMATCHED_COLLECTIVE), ==, 0);
	for (guint i = 0; i < timeline->collectives->len; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, 2);
	exchange_release(&job);
}

/* A call in which its own kernel was launched is none of the batch behind it; several calls one way are one pair. */
static void test_calls(void)
{
	static const gchar text[] = "unit us\nworld 2\n"
				    "rank 0 thread 10 main\n"
				    " op record_param_comms 0..2 send bytes=10 peer=1\n"
				    "  runtime l0 1..2\n"
				    " op record_param_comms 3..4 send bytes=20 peer=1\n"
				    " op record_param_comms 4..5 send bytes=30 peer=1\n"
				    " op record_param_comms 5..6 recv bytes=5 peer=1\n"
				    " runtime l1 7..8\n"
				    " stream 7\n"
				    "  collective send 10..20 bytes=10 peer=1 launch=l0\n"
				    "  collective ncclDevKernel_SendRecv 30..40 launch=l1\n"
				    "rank 1 thread 11 main\n"
				    " op record_param_comms 0..2 recv bytes=10 peer=0\n"
				    "  runtime l0 1..2\n"
				    " op record_param_comms 3..4 recv bytes=20 peer=0\n"
				    " op record_param_comms 4..5 recv bytes=30 peer=0\n"
				    " op record_param_comms 5..6 send bytes=5 peer=0\n"
				    " runtime l1 7..8\n"
				    " stream 7\n"
				    "  collective recv 11..20 bytes=10 peer=0 launch=l0\n"
				    "  collective ncclDevKernel_SendRecv 31..40 launch=l1\n";
	static const struct {
		gint64 begin_us;
		gint32 sender;
		guint64 bytes;
	} expected[] = { { 10, 0, 10 }, { 30, 0, 50 }, { 31, 1, 5 } };
	g_autoptr(TachoTimeline) timeline = correlated(text);

	g_assert_cmpuint(timeline->collectives->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);
		guint32 send = g_array_index(timeline->members, guint32, row->first_member);

		g_assert_cmpint(begin_us(timeline, send), ==, expected[i].begin_us);
		g_assert_cmpint(tacho_slice_process(timeline, send)->rank, ==, expected[i].sender);
		g_assert_cmpuint(row->bytes, ==, expected[i].bytes);
	}
}

/* A call that is over when the next launch begins is not around it. Each thread's calls are its own: here the second one's batch
 * has none of the first's. */
static void test_bounds_of_calls(void)
{
	static const gchar text[] = "unit us\nworld 2\n"
				    "rank 0 thread 10 main\n"
				    " op record_param_comms 3..4 send bytes=20 peer=1\n"
				    " op record_param_comms 4..7 recv bytes=5 peer=1\n"
				    " runtime l1 7..8\n"
				    " op record_param_comms 9..10 send bytes=700 peer=1\n"
				    " thread 12 other\n"
				    " op record_param_comms 50..51 send bytes=30 peer=1\n"
				    " runtime l2 52..53\n"
				    " stream 7\n"
				    "  collective ncclDevKernel_SendRecv 30..40 launch=l1\n"
				    "  collective ncclDevKernel_SendRecv 60..70 launch=l2\n"
				    "rank 1 thread 11 main\n"
				    " op record_param_comms 3..4 recv bytes=20 peer=0\n"
				    " op record_param_comms 4..7 send bytes=5 peer=0\n"
				    " runtime l1 7..8\n"
				    " op record_param_comms 50..51 recv bytes=30 peer=0\n"
				    " runtime l2 52..53\n"
				    " stream 7\n"
				    "  collective ncclDevKernel_SendRecv 31..40 launch=l1\n"
				    "  collective ncclDevKernel_SendRecv 61..70 launch=l2\n";
	static const struct {
		gint64 begin_us;
		guint64 bytes;
	} expected[] = { { 30, 20 }, { 60, 30 }, { 31, 5 } };
	g_autoptr(TachoTimeline) timeline = correlated(text);

	g_assert_cmpuint(timeline->collectives->len, ==, G_N_ELEMENTS(expected));
	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		const TachoCollective *row =
			&g_array_index(timeline->collectives, TachoCollective, i);

		g_assert_cmpint(begin_us(timeline, g_array_index(timeline->members, guint32,
								 row->first_member)),
				==, expected[i].begin_us);
		g_assert_cmpuint(row->bytes, ==, expected[i].bytes);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/batch-ops/rings", test_rings);
	g_test_add_func("/batch-ops/pipelines", test_pipelines);
	g_test_add_func("/batch-ops/lacking-peer", test_lacking_peer);
	g_test_add_func("/batch-ops/untold", test_untold);
	g_test_add_func("/batch-ops/calls", test_calls);
	g_test_add_func("/batch-ops/bounds-of-calls", test_bounds_of_calls);
	return g_test_run();
}
