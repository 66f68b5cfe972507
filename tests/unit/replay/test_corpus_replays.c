/* When each node runs in the replay of every graph of the corpus, and after changes that make ranks share cores, links and
 * devices, or tell copies of them apart. */
#include <tacho/replay.h>

#include "corpus.h"
#include "edit/graph_memory.h"
#include "graph/graph_unfold.h"
#include "graph_text.h"
#include "replay/replay_internal.h"
#include "replay/replay_trial.h"

enum { N_TRIALS = 6, MAX_TRIED = 3000 }; /* nodes of a graph, for it to be tried */

/* Lists of changes, between ";". */
static const gchar *const changes[] = {
	"bandwidth=0.3x;latency=+3us",
	"cores=1",
	"cores=2;straggler:0=1.7",
	"ranks=4;straggler:1=1.3;straggler:3=2",
	"ranks=5;straggler:4=1.5;bucket_mb=1",
	"drop:wait;scale:kernel~.=1.5",
};

static void print_replay(const TachoGraph *graph, FILE *out)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, &error);

	if (replay)
		replay_text_print(replay, out);
	else
		fprintf(out, "%s\n", error->message);
}

static void print_unfolded(const TachoGraph *graph, FILE *out)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoGraph) unfolded = graph_unfold(graph, &error);

	if (!unfolded) {
		fprintf(out, "%s\n", error->message);
		return;
	}
	graph_text_print(unfolded, out);
	print_replay(unfolded, out);
}

static void change(const TachoGraph *graph, const gchar *list, FILE *out)
{
	g_auto(GStrv) what_ifs = g_strsplit(list, ";", -1);
	g_autoptr(TachoGraph) changed = graph_copy(graph);
	g_autoptr(GError) error = NULL;

	fprintf(out, "== %s\n", list);
	for (guint i = 0; what_ifs[i]; i++) {
		g_clear_error(&error);
		if (!tacho_graph_what_if(changed, what_ifs[i], &error))
			fprintf(out, "%s\n", error->message);
	}
	g_clear_error(&error);
	if (!graph_freeze(changed, &error)) {
		fprintf(out, "%s\n", error->message);
		return;
	}
	graph_text_print(changed, out);
	print_replay(changed, out);
	if (g_str_has_prefix(list, "ranks="))
		print_unfolded(changed, out);
}

/* Every so manieth node takes another time; that is what the same changes of the graph give. */
static void try(TachoGraph *graph)
{
	struct trial_base *base = trial_base_new(graph, NULL);
	struct replay_trial *trial = replay_trial_new(base);
	guint32 n = tacho_graph_n_nodes(graph);

	for (guint32 i = 0; i < N_TRIALS; i++) {
		guint32 at = (guint32)((guint64)n * i / N_TRIALS);
		struct trial_edit edit = { .node = at,
					   .duration_ns = 2 * graph->duration_ns[at] + 700 };
		g_autoptr(TachoGraph) edited = graph_copy(graph);
		g_autoptr(TachoReplay) whole = NULL;
		const TachoReplay *tried = replay_trial_borrow_replay(trial);
		const struct graph_node *node = graph_node_at(graph, at);

		if (node->kind == TACHO_NODE_TRANSFER) {
			edit.fixed_ns = graph_transfer_at(graph, node->transfer)->fixed_ns + 900;
			edit.work_ns = graph_transfer_at(graph, node->transfer)->work_ns / 3;
			graph_set_transfer(edited, node->transfer, edit.fixed_ns, edit.work_ns);
		} else {
			graph_node_at(edited, at)->duration_ns = edit.duration_ns;
		}
		g_assert_true(graph_freeze(edited, NULL));
		whole = tacho_replay_run(edited, NULL);
		g_assert_true(replay_trial_play(trial, &edit, 1, NULL) == (whole != NULL));
		if (!whole)
			continue;
		g_assert_cmpmem(whole->begin_ns, n * sizeof(gint64), tried->begin_ns,
				n * sizeof(gint64));
		g_assert_cmpmem(whole->end_ns, n * sizeof(gint64), tried->end_ns,
				n * sizeof(gint64));
		if (graph->steps->len > 0)
			g_assert_cmpfloat(replay_median_step_ns(whole), ==,
					  replay_trial_step_ns(trial));
	}
	replay_trial_free(trial);
	trial_base_free(base);
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	g_autoptr(TachoGraph) graph = NULL;
	g_autoptr(TachoReplay) replay = NULL;
	FILE *out;

	if (g_str_has_prefix(name, "extreme_times")) /* see test_corpus_changes.c */
		return;
	graph = tacho_graph_build(timeline, -1, -1, NULL);
	replay = graph ? tacho_replay_run(graph, NULL) : NULL;
	if (!replay)
		return;
	out = corpus_begin(corpus);
	replay_text_print(replay, out);
	corpus_end(corpus, name, "as it is", out);
	replay_measure_lags(graph, replay);
	graph_find_memory(graph);
	out = corpus_begin(corpus);
	for (guint i = 0; i < G_N_ELEMENTS(changes); i++)
		change(graph, changes[i], out);
	corpus_end(corpus, name, "changed", out);
	if (tacho_graph_n_nodes(graph) < MAX_TRIED)
		try(graph);
}

static void test_replays(void)
{
	corpus_ask("replays", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_MANY_JOBS, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/replays", test_replays);
	return g_test_run();
}
