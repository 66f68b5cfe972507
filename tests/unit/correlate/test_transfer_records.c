/* Records of sends and receives, as the MPI probe writes them: tags tell them apart, and what failed has no part in it. */
#include <tacho/correlate.h>

#include "base/for_each.h"
#include "run_builder.h"

struct rank {
	struct run_builder *run;
	guint32 transfer, collective;
};

static struct rank begin_rank(const gchar *folder, gint number)
{
	const struct run_builder_process process = { .pid = 30 + (guint32)number,
						     .rank = number,
						     .world_size = 2 };
	struct rank rank = { .run = run_builder_new(folder, &process) };
	guint32 mark = run_builder_class(rank.run, TRACE_KIND_MARK, "process_group");

	rank.transfer =
		run_builder_class(rank.run, TRACE_KIND_TRANSFER, number ? "MPI_Recv" : "MPI_Send");
	rank.collective = run_builder_class(rank.run, TRACE_KIND_COLLECTIVE, "MPI_Barrier");
	run_builder_stream(rank.run, 10);
	run_builder_mark(rank.run, mark, 1000, 1, 2, "ranks=0-1");
	return rank;
}

static void add_transfer(const struct rank *rank, guint64 begin, enum trace_way way, gint32 peer,
			 gint32 tag, guint64 bytes)
{
	struct record_transfer *transfer =
		run_builder_record(rank->run, rank->transfer, begin, sizeof(*transfer));

	transfer->collective.duration = 50;
	transfer->collective.bytes = bytes;
	transfer->collective.group = 1;
	transfer->way = way;
	transfer->peer = peer;
	transfer->tag = tag;
}

static void add_collective(const struct rank *rank, guint64 begin, guint64 bytes)
{
	struct record_collective *collective =
		run_builder_record(rank->run, rank->collective, begin, sizeof(*collective));

	collective->duration = 50;
	collective->bytes = bytes;
	collective->group = 1;
}

static TachoTimeline *open_run(const gchar *folder)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_timeline_open(&folder, 1, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	run_builder_remove(folder);
	return timeline;
}

static guint count_kind(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint n = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		n += timeline->slices.kind[i] == kind;
	return n;
}

static void assert_all_matched(const TachoTimeline *timeline)
{
	FOR_EACH(const TachoProblem, problem, timeline->problems)
		g_assert_cmpint(problem->kind, !=, TACHO_PROBLEM_UNMATCHED_COLLECTIVE);
}

/* Sent with tags 1, 2, 2 and received as 2, 1, 2. */
static void test_tags(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	struct rank sender = begin_rank(folder, 0), receiver;
	g_autoptr(TachoTimeline) timeline = NULL;
	guint64 bytes[3] = { 0 };

	add_transfer(&sender, 1100, TRACE_WAY_SEND, 1, 1, 100);
	add_transfer(&sender, 1200, TRACE_WAY_SEND, 1, 2, 20);
	add_transfer(&sender, 1300, TRACE_WAY_SEND, 1, 2, 3);
	run_builder_end(sender.run);
	receiver = begin_rank(folder, 1);
	add_transfer(&receiver, 1250, TRACE_WAY_RECEIVE, 0, 2, 20);
	add_transfer(&receiver, 1350, TRACE_WAY_RECEIVE, 0, 1, 100);
	add_transfer(&receiver, 1450, TRACE_WAY_RECEIVE, 0, 2, 3);
	run_builder_end(receiver.run);
	timeline = open_run(folder);
	g_assert_cmpuint(timeline->collectives->len, ==, 3);
	FOR_EACH_AT(const TachoCollective, row, i, timeline->collectives)
		bytes[i] = row->bytes;
	g_assert_cmpuint(bytes[0], ==, 100);
	g_assert_cmpuint(bytes[1], ==, 20);
	g_assert_cmpuint(bytes[2], ==, 3);
	assert_all_matched(timeline);
}

static void test_failed(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	struct rank sender = begin_rank(folder, 0), receiver;
	g_autoptr(TachoTimeline) timeline = NULL;

	add_transfer(&sender, 1100, TRACE_WAY_UNKNOWN, 1, 1, 100);
	add_transfer(&sender, 1200, TRACE_WAY_SEND, 1, 1, 20);
	add_collective(&sender, 1300, TRACE_FAILED);
	add_collective(&sender, 1400, 0);
	run_builder_end(sender.run);
	receiver = begin_rank(folder, 1);
	add_transfer(&receiver, 1250, TRACE_WAY_RECEIVE, 0, 1, 20);
	add_collective(&receiver, 1410, 0);
	run_builder_end(receiver.run);
	timeline = open_run(folder);
	g_assert_cmpuint(timeline->collectives->len, ==, 2);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_EVENT), ==, 2);
	g_assert_cmpuint(count_kind(timeline, TACHO_SLICE_COLLECTIVE), ==, 4);
	assert_all_matched(timeline);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/transfer-records/tags", test_tags);
	g_test_add_func("/transfer-records/failed", test_failed);
	return g_test_run();
}
