/* Rings and trees as NCCL's ranks tell them, and which hop of a collective each send and receive was. */
#include <string.h>

#include "foreign_traces.h"
#include "import/byteprofile/byteprofile_hops.h"
#include "import/byteprofile/nccl_topology.h"

static struct nccl_topology *read_text(const gchar *text)
{
	struct nccl_topology *topology = nccl_topology_new();
	gchar *path = foreign_write("nccl_rank_graph.json", text, strlen(text));

	nccl_topology_read(topology, path);
	foreign_remove(path);
	return topology;
}

static void test_rings(void)
{
	struct nccl_topology *topology = read_text("{\"Ring\": {\"0\": \"3[3000] -> 0[2000] "
						   "[receive] via NET/Socket/0\"}, \"RealRing\": "
						   "{\"0\": \"3[3000] -> 0[2000] [receive],0[2000] "
						   "-> 1[3000] [send]\", \"12\": \"1[1] -> "
						   "0[0] [receive],0[0] -> 11[1] [send]\"}}");

	g_assert_true(nccl_topology_has_ring(topology));
	g_assert_cmpint(nccl_topology_next(topology, 0, 0), ==, 1);
	g_assert_cmpint(nccl_topology_previous(topology, 0, 0), ==, 3);
	g_assert_cmpint(nccl_topology_next(topology, 0, 3), ==, 0);
	g_assert_cmpint(nccl_topology_next(topology, 0, 1), ==, -1);
	g_assert_cmpint(nccl_topology_next(topology, 12, 0), ==, 11);
	g_assert_cmpint(nccl_topology_next(topology, 1, 0), ==, -1);
	nccl_topology_free(topology);
}

static void test_trees(void)
{
	struct nccl_topology *topology =
		read_text("{\"Tree\":{\"-1\":\"[0] 1/2/-1->0->-1|-1->0->1/2/-1 [10] "
			  "-1/-1/-1->0->3|3->0->-1/-1/-1\"}}");

	g_assert_cmpint(nccl_topology_child(topology, 0, 0, 0), ==, 1);
	g_assert_cmpint(nccl_topology_child(topology, 0, 0, 1), ==, 2);
	g_assert_cmpint(nccl_topology_child(topology, 0, 0, 2), ==, -1);
	g_assert_cmpint(nccl_topology_child(topology, 0, 0, 3), ==, -1);
	g_assert_cmpint(nccl_topology_parent(topology, 0, 0), ==, -1);
	g_assert_cmpint(nccl_topology_parent(topology, 10, 0), ==, 3);
	nccl_topology_free(topology);
}

/* What is no ring or tree adds nothing. */
static void test_broken(void)
{
	static const gchar *const texts[] = {
		"",
		"{",
		"[]",
		"{\"RealRing\": 1, \"Tree\": [1]}",
		"{\"RealRing\": {\"0\": \"3[3000] - 0\", \"x\": \"0 -> 1\", \"1\": \"2 -> 2\", "
		"\"2\": "
		"\"-1 -> 99999999999\", \"99999999\": \"0 -> 1\"}}",
		"{\"Tree\": {\"-1\": \"[0 1/2->0->-1 [ [] [1] 1/2/3/4->0->1 [2] 0->\"}}",
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		struct nccl_topology *topology = read_text(texts[i]);

		g_assert_false(nccl_topology_has_ring(topology));
		g_assert_cmpint(nccl_topology_parent(topology, 0, 0), ==, -1);
		nccl_topology_free(topology);
	}
}

/* --- hops ------------------------------------------------------------------------------------- */

/* A rank on a host of its own. */
static struct hop_record add_rank(TachoTimeline *timeline, gint32 rank, const gchar *host)
{
	TachoProcess process = { .rank = rank, .host = tacho_timeline_intern(timeline, host, -1) };
	TachoTrack track = { .kind = TACHO_TRACK_ASYNC, .process = timeline->processes->len };
	struct hop_record record;

	hop_record_init(&record, timeline->processes->len, rank);
	g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->tracks, track);
	return record;
}

static void add_collective(TachoTimeline *timeline, struct hop_record *record, const gchar *tensors,
			   gint64 begin_ns, gint64 end_ns, guint64 bytes)
{
	TachoCollectiveArgs args = { .bytes = bytes };
	struct hop_collective collective = {
		.tensors = hop_tensors(timeline, tensors),
		.slice = tacho_timeline_add_slice(
			timeline, TACHO_SLICE_COLLECTIVE, record->process,
			tacho_timeline_intern(timeline, "allreduce", -1), begin_ns,
			end_ns - begin_ns, 0,
			tacho_timeline_keep_collective(timeline, &args, NULL)),
	};

	g_array_append_val(record->collectives, collective);
}

static void add_piece(TachoTimeline *timeline, struct hop_record *record, const gchar *tensors,
		      gboolean is_receive, guint32 chunk, gint64 begin_ns)
{
	struct hop_piece piece = {
		.tensors = hop_tensors(timeline, tensors),
		.slice = tacho_timeline_add_slice(timeline, TACHO_SLICE_EVENT, record->process, 0,
						  begin_ns, 10, 0, 0),
		.chunk = chunk,
		.is_receive = is_receive,
	};

	g_array_append_val(record->pieces, piece);
}

static void link_records(TachoTimeline *timeline, struct hop_record *records, guint n)
{
	static const gchar *const nowhere[] = { NULL };
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct hop_record));

	g_array_append_vals(all, records, n);
	byteprofile_hops_link(timeline, all, nowhere);
	for (guint i = 0; i < n; i++)
		hop_record_release(&records[i]);
	g_array_unref(all);
}

/* Tensors 3 and 4 are moved as one, of 600 + 200 bytes: one collective is left of them on each rank. */
static void test_fused(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct hop_record records[] = { add_rank(timeline, 0, "a"), add_rank(timeline, 1, "b") };
	TachoCollectiveArgs args;
	guint n_left = 0;

	for (guint i = 0; i < 2; i++) {
		add_collective(timeline, &records[i], "3_0", 100, 200, 600);
		add_collective(timeline, &records[i], "4_0", 101, 201, 200);
		add_collective(timeline, &records[i], "5_0", 100, 200, 50);
		add_piece(timeline, &records[i], "4+3.SEND", FALSE, 0, 110);
		add_piece(timeline, &records[i], "4+3.SEND", FALSE, 1, 130);
	}
	add_piece(timeline, &records[0], "3+4.SEND", FALSE, 0, 300); /* in none */
	link_records(timeline, records, 2);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		n_left += timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE;
	g_assert_cmpuint(n_left, ==, 4);
	g_assert_true(tacho_slice_collective(timeline, 0, &args));
	g_assert_cmpuint(args.bytes, ==, 800);
	g_assert_nonnull(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNMATCHED_MESSAGE));
	g_assert_cmpuint(timeline->hops->len, ==, 2 * 2 + 2);
	for (guint i = 0; i < timeline->hops->len; i++) {
		const TachoHop *hop = &g_array_index(timeline->hops, TachoHop, i);

		if (hop->slice == TACHO_NONE) {
			g_assert_cmpuint(hop->fed_step, ==, 1);
			continue;
		}
		g_assert_cmpuint(hop->bytes, ==, 800 / 2);
		g_assert_cmpint(hop->fed_by, ==, hop->step ? 1 - hop->peer : -1);
	}
}

/* The ring 0 1 2 3 on two hosts: what 1 sends 0 has received, two steps sooner. */
static void test_hidden_ways(void)
{
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	struct hop_record records[] = { add_rank(timeline, 0, "a"), add_rank(timeline, 1, "a"),
					add_rank(timeline, 2, "b"), add_rank(timeline, 3, "b") };
	guint n_ends[2] = { 0 };

	for (guint i = 0; i < 4; i++) {
		add_collective(timeline, &records[i], "0", 100, 900, 400);
		for (guint32 chunk = 0; chunk < 6; chunk++)
			add_piece(timeline, &records[i], "0", i % 2 == 0, chunk, 110 + chunk * 20);
	}
	link_records(timeline, records, 4);
	for (guint i = 0; i < timeline->hops->len; i++) {
		const TachoHop *hop = &g_array_index(timeline->hops, TachoHop, i);

		if (hop->slice ==
		    TACHO_NONE) { /* 0 and 2 have all at step 5, 1 and 3 what came at 4 */
			g_assert_cmpint(hop->fed_by % 2, ==, 0);
			n_ends[hop->fed_step == 5]++;
			g_assert_cmpuint(hop->fed_step, >=, 4);
		} else if (hop->is_receive)
			g_assert_cmpint(hop->fed_by, ==, -1);
		else if (hop->step < 2)
			g_assert_cmpint(hop->fed_by, ==, -1);
		else
			g_assert_cmpuint(hop->fed_step, ==, hop->step - 2);
	}
	g_assert_cmpuint(n_ends[0], ==, 2);
	g_assert_cmpuint(n_ends[1], ==, 2);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/nccl-topology/rings", test_rings);
	g_test_add_func("/nccl-topology/trees", test_trees);
	g_test_add_func("/nccl-topology/broken", test_broken);
	g_test_add_func("/byteprofile-hops/fused", test_fused);
	g_test_add_func("/byteprofile-hops/hidden-ways", test_hidden_ways);
	return g_test_run();
}
