/* pass_workers: worker processes of the data loader. */
#include "optimize/optimizing.h"

#include <math.h>

#include "optimize/bucket_judge.h"

/* So many workers gain more than the fewer ones before, with which the step took *best_ms. */
static gboolean gains_more(const struct optimizing *optimizing, guint32 n_workers, gdouble *best_ms)
{
	g_autofree gchar *what_if = g_strdup_printf("workers=%u", n_workers);
	gdouble step_ms = bucket_judge_step_ms(optimizing->base->graph, what_if, NULL);

	if (!(step_ms < *best_ms * (1 - MIN_GAIN_PCT / 100)))
		return FALSE;
	*best_ms = step_ms;
	return TRUE;
}

/* More workers, as long as each doubling gains. */
void pass_workers(struct optimizing *optimizing)
{
	static const guint32 counts[] = { 1, 2, 4, 8, 16 };
	gdouble best_ms = optimizing->result->baseline_step_ms;
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) none = optimizing_predict(optimizing, "drop:loader", &error);

	if (!none || optimizing_gain_pct(optimizing, none->predicted_step_ms) < MIN_GAIN_PCT) {
		optimizing_note_tried(optimizing, "drop:loader",
				      none ? none->predicted_step_ms : NAN,
				      error ? error->message : "loading data holds up nothing");
		return;
	}
	for (guint i = 0; i < G_N_ELEMENTS(counts) && !optimizing_is_over(optimizing); i++) {
		TachoPlan *plan;

		if (!gains_more(optimizing, counts[i], &best_ms))
			continue;
		plan = optimizing_new_plan(optimizing);
		plan_add_count(plan, PLAN_WORKERS, counts[i]);
		optimizing_propose(optimizing, plan,
				   g_strdup_printf("data is loaded by %u worker%s", counts[i],
						   counts[i] == 1 ? "" : "s"),
				   "a core for each worker", OPTIMIZING_BY_APPLY, TRUE);
	}
}
