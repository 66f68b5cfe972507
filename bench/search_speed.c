/* search_speed MODEL RANKS SECONDS: how long it takes to find buckets for a job whose schedule is known (tests/support/synthetic_job.h), and what
 * the plan truly gains. MODEL is 0 (ResNet50), 1 (VGG16) or 2 (BERT-base). Prints one line. */
#include <stdio.h>
#include <stdlib.h>

#include <tacho/correlate.h>
#include <tacho/optimize.h>

#include "optimize/plan.h"
#include "synthetic_job.h"
#include "timeline_text.h"

static gdouble true_ms(const struct synthetic_job *job, const TachoPlan *plan)
{
	const struct plan_change *buckets = plan_find(plan, PLAN_BUCKETS);
	g_autofree guint32 *ends = g_new(guint32, buckets->n_of->len);
	guint32 end = 0;

	for (guint i = 0; i < buckets->n_of->len; i++)
		ends[i] = end += g_array_index(buckets->n_of, guint32, i);
	return synthetic_job_step_ns(job, ends, buckets->n_of->len) * 1e-6;
}

int main(int argc, char **argv)
{
	struct synthetic_job job;
	TachoOptimizeOptions options = { .seed = 1, .first_step = 0, .last_step = 2 };
	TachoRecording recording = { "job", NULL };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoOptimization) found = NULL;
	g_autofree guint32 *ends = NULL;
	g_autofree gchar *text = NULL;
	gdouble before_ms;
	guint32 n;

	if (argc != 4)
		return 2;
	synthetic_job_init(&job, (guint)atoi(argv[1]) % SYNTHETIC_MODELS);
	job.n_ranks = (guint32)atoi(argv[2]);
	job.ranks_per_host = MIN(job.n_ranks, 8);
	job.fixed_ns = 1e6;
	job.ns_per_byte = 0.6;
	job.jitter = 0.05;
	ends = g_new(guint32, job.n);
	n = synthetic_job_caps(&job, 1 << 20, 25 << 20, ends);
	before_ms = synthetic_job_step_ns(&job, ends, n) * 1e-6;
	text = synthetic_job_text(&job, ends, n);
	timeline = timeline_from_text(text);
	tacho_correlate(timeline);
	recording.timeline = timeline;
	options.budget_ms = (gint64)(atof(argv[3]) * 1000);
	found = tacho_optimize(&recording, 1, &options, NULL);
	if (!found)
		return 1;
	printf("%s %u ranks: %.1f s, %" G_GUINT64_FORMAT
	       " tries, %.3f ms -> %.3f ms said, %.3f ms true\n",
	       job.model, job.n_ranks, found->search_ms / 1000, found->candidates_tried, before_ms,
	       found->plans->len
		       ? tacho_table_cell_number(found->candidates, 0, "predicted_step_ms")
		       : before_ms,
	       found->plans->len ? true_ms(&job, found->plans->pdata[0]) : before_ms);
	synthetic_job_release(&job);
	return 0;
}
