/* All tables of the graph of every timeline of the corpus, and of many made-up jobs. */
#include <tacho/graph.h>

#include "corpus.h"
#include "graph/graph_hops.h"
#include "graph_text.h"

static gchar *text_of(const TachoGraph *graph)
{
	gchar *buffer = NULL, *copy;
	gsize size = 0;
	FILE *out = open_memstream(&buffer, &size);

	graph_text_print(graph, out);
	fclose(out);
	copy = g_strdup(buffer);
	free(buffer);
	return copy;
}

/* A copy says the same, once it is frozen; thawed, it can be edited again. */
static void copy(const TachoGraph *graph)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	g_autofree gchar *original_text = text_of(graph), *copied_text = NULL;

	g_assert_cmpuint(copy->n_frozen, ==, 0);
	g_assert_true(graph_freeze(copy, NULL));
	copied_text = text_of(copy);
	g_assert_cmpstr(original_text, ==, copied_text);
	graph_thaw(copy);
	g_assert_cmpuint(copy->n_frozen, ==, 0);
}

/* What was played hop by hop, as a whole again. */
static void fold(struct corpus *corpus, const gchar *name, const TachoGraph *graph)
{
	g_autoptr(TachoGraph) folded = graph_copy(graph);
	gboolean has_hops = FALSE;
	FILE *out;

	for (guint32 i = 0; i < folded->transfers->len; i++) {
		struct graph_transfer *transfer = graph_transfer_at(folded, i);

		has_hops |= transfer->is_hop;
		if (transfer->is_hop && i % 3 == 0) /* a change that is not the same for all */
			graph_set_transfer(folded, i, 2 * transfer->fixed_ns + 500,
					   transfer->work_ns / 2);
	}
	if (!has_hops)
		return;
	graph_fold_hops(folded);
	g_assert_true(graph_freeze(folded, NULL));
	out = corpus_begin(corpus);
	graph_text_print(folded, out);
	corpus_end(corpus, name, "folded", out);
}

static void build(struct corpus *corpus, const gchar *name, TachoTimeline *timeline, gint64 first,
		  gint64 last, FILE *refusals)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, first, last, &error);
	g_autofree gchar *what = g_strdup_printf("%d to %d", (gint)first, (gint)last);
	FILE *out;

	if (!graph) {
		fprintf(refusals, "%s: %s\n", what, error->message);
		return;
	}
	out = corpus_begin(corpus);
	graph_text_print(graph, out);
	corpus_end(corpus, name, what, out);
	if (first >= 0 || last >= 0)
		return;
	copy(graph);
	fold(corpus, name, graph);
	out = corpus_begin(corpus);
	tacho_graph_dump(graph, out);
	corpus_end(corpus, name, "dump", out);
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	FILE *refusals = corpus_begin(corpus);

	build(corpus, name, timeline, -1, -1, refusals);
	build(corpus, name, timeline, 1, 1, refusals);
	build(corpus, name, timeline, 1, -1, refusals);
	build(corpus, name, timeline, -1, 0, refusals);
	corpus_end(corpus, name, "refusals", refusals);
}

static void test_graphs(void)
{
	corpus_ask("graphs", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_MANY_JOBS, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/graphs", test_graphs);
	return g_test_run();
}
