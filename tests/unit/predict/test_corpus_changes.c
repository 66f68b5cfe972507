/* The graph of every timeline of the corpus, its replay, and what each change predicts. */
#include <tacho/replay.h>

#include "corpus.h"

static const gchar *const changes[] = {
	"bandwidth=2x",	    "latency=0.5x",
	"latency=+10us",    "ranks=4",
	"ranks=1",	    "algorithm=ring",
	"algorithm=tree",   "algorithm=ps:2",
	"bucket_mb=1",	    "fusion=1,2",
	"partition_mb=1",   "accumulate=2",
	"recompute:op~.",   "recompute:module~.",
	"device=A100",	    "device=flops:2,bytes:1.5",
	"precision=fp16",   "precision:op~mm=bf16",
	"scale:op~.=0.5",   "scale:kernel~.=2",
	"scale:loader=0.5", "fuse:kernel~.",
	"drop:op~mm",	    "drop:kernel~.",
	"drop:loader",	    "drop:wait",
	"workers=2",	    "workers=0",
	"batch=2x",	    "straggler:0=2",
	"cores=1",	    "cores=3",
	"durations=mean",   "durations=median",
};

/* The replay as a timeline, samples, and ranks that were recorded alone asked for one by one. */
static void play_more(struct corpus *corpus, const gchar *name, TachoPrediction *prediction,
		      FILE *refusals)
{
	g_autoptr(TachoTimeline) replayed = tacho_replay_timeline(prediction->replay);
	const TachoSlices *slices = &replayed->slices;
	g_autoptr(GError) error = NULL, unfold_error = NULL;
	FILE *out = corpus_begin(corpus);

	for (guint32 i = 0; i < slices->n; i++)
		fprintf(out, "%u %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n", slices->track[i],
			tacho_slice_name(replayed, i), slices->start_ns[i], slices->duration_ns[i]);
	corpus_end(corpus, name, "replayed", out);
	if (!tacho_prediction_sample(prediction, 3, 1, &error))
		fprintf(refusals, "samples: %s\n", error->message);
	if (!tacho_prediction_unfold(prediction, &unfold_error))
		fprintf(refusals, "unfold: %s\n", unfold_error->message);
	out = corpus_begin(corpus);
	tacho_prediction_print_json(prediction, out);
	corpus_end(corpus, name, "sampled", out);
}

static void predict(struct corpus *corpus, const gchar *name, TachoTimeline *timeline,
		    const gchar *change, FILE *refusals)
{
	const gchar *what_ifs[] = { change };
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction =
		tacho_predict(timeline, what_ifs, change ? 1 : 0, -1, -1, &error);
	FILE *out;

	if (!prediction) {
		fprintf(refusals, "%s: %s\n", change ? change : "-", error->message);
		return;
	}
	out = corpus_begin(corpus);
	tacho_prediction_print_json(prediction, out);
	corpus_end(corpus, name, change ? change : "as it is", out);
	if (!change)
		play_more(corpus, name, prediction, refusals);
}

/* What each node takes, what it depends on, and when it runs. */
static void play(struct corpus *corpus, const gchar *name, TachoTimeline *timeline, FILE *refusals)
{
	g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, -1, -1, NULL);
	g_autoptr(TachoReplay) replay = graph ? tacho_replay_run(graph, NULL) : NULL;
	FILE *out;

	if (!replay)
		return;
	out = corpus_begin(corpus);
	tacho_graph_dump(graph, out);
	corpus_end(corpus, name, "graph", out);
	out = corpus_begin(corpus);
	for (guint32 i = 0; i < tacho_graph_n_nodes(graph); i++)
		fprintf(out, "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "\n",
			tacho_replay_begin_ns(replay, i), tacho_replay_end_ns(replay, i));
	corpus_end(corpus, name, "times", out);
	corpus_add_table(corpus, name, "sensitivity", tacho_replay_sensitivity(graph, NULL),
			 refusals);
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	FILE *refusals = corpus_begin(corpus);

	play(corpus, name, timeline, refusals);
	predict(corpus, name, timeline, NULL, refusals);
	for (guint i = 0; i < G_N_ELEMENTS(changes); i++)
		predict(corpus, name, timeline, changes[i], refusals);
	corpus_end(corpus, name, "refusals", refusals);
}

static void test_changes(void)
{
	corpus_ask("changes", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_JOBS | CORPUS_DRAWN, ask);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/changes", test_changes);
	return g_test_run();
}
