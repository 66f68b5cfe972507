/* Partitions judged on one graph that is changed in place, and on one that is built for each: the same to the bit, on every timeline of the corpus
 * that has buckets of gradients, and on jobs of many gradients and ranks. What is kept of each of the corpus is how many gradients it has, and the
 * step of the last partition. */
#include <tacho/correlate.h>
#include <tacho/graph.h>

#include <math.h>
#include <string.h>

#include "corpus.h"
#include "optimize/bucket_judge.h"
#include "optimize/bucket_search.h"
#include "optimize/bucket_trial.h"
#include "optimize/random_stream.h"
#include "synthetic_job.h"
#include "timeline_text.h"

enum { N_PARTITIONS = 24 };

/* A bucket for each, one for all, and then by chance, with few ends or many. */
static guint32 draw(const struct bucket_problem *problem, struct random_stream *random,
		    guint number, guint32 *ends)
{
	gdouble share = number == 0 ? 1 : number == 1 ? 0 : random_stream_share(random);
	guint32 n = 0;

	for (guint32 i = 1; i < problem->n; i++)
		if (random_stream_share(random) < share)
			ends[n++] = i;
	ends[n++] = problem->n;
	return bucket_search_allow(problem, ends, n);
}

static gchar *fusion_of(const guint32 *ends, guint32 n)
{
	GString *text = g_string_new("fusion=");

	for (guint32 i = 0; i < n; i++)
		g_string_append_printf(text, "%s%u", i ? "," : "", ends[i] - (i ? ends[i - 1] : 0));
	return g_string_free(text, FALSE);
}

/* Returns the step of the last partition. */
static gdouble try_all(const gchar *name, const TachoGraph *graph,
		       const struct bucket_problem *problem, struct bucket_trial *trial)
{
	struct random_stream random = random_stream_of(1, problem->n);
	g_autofree guint32 *ends = g_new(guint32, problem->n);
	gdouble trial_ms = NAN;

	for (guint number = 0; number < N_PARTITIONS; number++) {
		guint32 n = draw(problem, &random, number, ends);
		g_autofree gchar *fusion = fusion_of(ends, n);
		g_autoptr(GError) trial_error = NULL, built_error = NULL;
		gdouble built_ms = bucket_judge_fusion_ms(graph, fusion, &built_error);

		trial_ms = bucket_trial_step_ms(trial, ends, n, &trial_error);
		if (memcmp(&trial_ms, &built_ms, sizeof(trial_ms)) != 0 &&
		    !(isnan(trial_ms) && isnan(built_ms)))
			g_error("%s: %s: %.9f ms, and %.9f ms where the graph is built (%s, %s)",
				name, fusion, trial_ms, built_ms,
				trial_error ? trial_error->message : "-",
				built_error ? built_error->message : "-");
	}
	return trial_ms;
}

static void ask(struct corpus *corpus, const gchar *name, TachoTimeline *timeline)
{
	g_autoptr(TachoGraph) graph = tacho_graph_build(timeline, -1, -1, NULL);
	struct bucket_problem *problem = graph ? bucket_problem_new(graph, NULL) : NULL;
	struct bucket_trial *trial = problem ? bucket_trial_new(graph, problem) : NULL;
	FILE *out = corpus_begin(corpus);

	if (trial)
		fprintf(out, "%u gradients, %u workers, %.9g ms\n", problem->n, problem->n_workers,
			try_all(name, graph, problem, trial));
	else if (problem)
		fprintf(out, "%u gradients: built for each\n", problem->n);
	corpus_end(corpus, name, "trials", out);
	bucket_trial_free(trial);
	bucket_problem_free(problem);
}

static void test_trials(void)
{
	corpus_ask("trials", CORPUS_TEXTS | CORPUS_TRACES | CORPUS_JOBS | CORPUS_MANY_JOBS, ask);
}

static void test_synthetic(void)
{
	for (guint model = 0; model < SYNTHETIC_MODELS; model++)
		for (guint32 n_ranks = 2; n_ranks <= 6; n_ranks += 4) {
			struct synthetic_job job;
			g_autofree guint32 *ends = NULL;
			g_autofree gchar *text = NULL;
			g_autoptr(TachoTimeline) timeline = NULL;
			g_autoptr(TachoGraph) graph = NULL;
			struct bucket_problem *problem;
			struct bucket_trial *trial;

			synthetic_job_init(&job, model);
			job.n_ranks = n_ranks;
			job.jitter = 0.05;
			ends = g_new(guint32, job.n);
			text = synthetic_job_text(
				&job, ends, synthetic_job_caps(&job, 1 << 20, 25 << 20, ends));
			timeline = timeline_from_text(text);
			tacho_correlate(timeline);
			graph = tacho_graph_build(timeline, -1, -1, NULL);
			problem = bucket_problem_new(graph, NULL);
			g_assert_nonnull(problem);
			trial = bucket_trial_new(graph, problem);
			g_assert_nonnull(trial);
			try_all(job.model, graph, problem, trial);
			bucket_trial_free(trial);
			bucket_problem_free(problem);
			synthetic_job_release(&job);
		}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/corpus/trials", test_trials);
	g_test_add_func("/corpus/trials/synthetic", test_synthetic);
	return g_test_run();
}
