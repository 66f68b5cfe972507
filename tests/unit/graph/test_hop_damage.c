/* Damaged folders of hops (rings, trees, servers) and damaged records of NCCL: each copy is refused with an error or
 * becomes a timeline, whose graph is refused or played, also with changes; and it never becomes more than its bytes can
 * tell of. */
#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "foreign_traces.h"
#include "graph/graph_internal.h"

enum {
	N_COPIES = 120,
	MAX_NODES = 20000, /* the folders have less than 1000 */
};

static guint n_played, n_refused;

static void predict(TachoTimeline *timeline, const gchar *what_if)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		tacho_predict(timeline, &what_if, what_if ? 1 : 0, -1, -1, &error);

	if (!prediction) {
		g_assert_nonnull(error);
		n_refused++;
		return;
	}
	n_played++;
	g_assert_cmpuint(tacho_graph_n_nodes(prediction->graph), <, MAX_NODES);
	for (guint32 i = 0; i < tacho_graph_n_nodes(prediction->graph); i++)
		g_assert_cmpint(tacho_replay_end_ns(prediction->replay, i), >=,
				tacho_replay_begin_ns(prediction->replay, i));
}

static void use(TachoTimeline *timeline)
{
	foreign_use(timeline);
	predict(timeline, NULL);
	predict(timeline, "bandwidth=2x");
	predict(timeline, "algorithm=tree");
	predict(timeline, "straggler:0=2");
}

static void check_folder(gconstpointer path)
{
	n_played = n_refused = 0;
	foreign_damage_folder(path, N_COPIES, use);
	g_test_message("%u played, %u refused", n_played, n_refused);
	g_assert_cmpuint(n_played, >, 0);
}

/* What NCCL's own tools write has no steps of a training job, but is correlated and played as one step. */
static void test_nccl(void)
{
	foreign_damage_folder(TACHO_TEST_DATA "/nccl/profiler.jsonl", N_COPIES, use);
	foreign_damage_folder(TACHO_TEST_DATA "/nccl/inspector.log", N_COPIES, use);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/hop-damage/ring", TACHO_TEST_DATA "/byteprofile_ring", check_folder);
	g_test_add_data_func("/hop-damage/tree", TACHO_TEST_DATA "/byteprofile_tree", check_folder);
	g_test_add_data_func("/hop-damage/servers", TACHO_TEST_DATA "/byteps_servers",
			     check_folder);
	g_test_add_data_func("/hop-damage/two-a-host", TACHO_TEST_DATA "/byteprofile",
			     check_folder);
	g_test_add_func("/hop-damage/nccl", test_nccl);
	return g_test_run();
}
