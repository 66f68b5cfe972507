/* precision_speed: how long it takes to plan with which numbers the operations of a model compute.
 *
 *     bench_precision [BLOCKS] [WORKERS]      12 operations a block, 84 blocks if it is not said; 1 kind of workers
 *
 * Prints, in ms, what the fastest plan takes to be found, and the one that harms least within 5 % of it; then how many operations stood together. */
#include <stdio.h>
#include <stdlib.h>

#include "precision/search.h"
#include "random_problem.h"

int main(int argc, char **argv)
{
	guint32 n_blocks = argc > 1 ? (guint32)atoi(argv[1]) : 84;
	guint32 n_workers = argc > 2 ? (guint32)atoi(argv[2]) : 1;
	g_autoptr(TachoPrecisionProblem) problem = transformer_problem(n_blocks, n_workers);
	g_autofree struct elimination_result *results =
		g_new0(struct elimination_result, n_workers);
	gint64 begin_us = g_get_monotonic_time(), fastest_us, end_us;
	g_autoptr(PrecisionSearch) search = precision_search_new(problem);
	struct precision_bound bound = { 0 };
	gdouble fastest_harm;
	gboolean is_exact;

	if (!precision_search_fastest(search, results, NULL))
		return 1;
	fastest_us = g_get_monotonic_time();
	bound.step_ns = 1.05 * plan_state_step_ns(precision_search_state(search), NULL, NULL);
	fastest_harm = plan_state_harm(precision_search_state(search));
	if (!precision_search_recover(search, &bound, &is_exact, NULL))
		return 1;
	end_us = g_get_monotonic_time();
	printf("%u operations, %u kinds of workers: fastest plan %.1f ms (%s, %u together, "
	       "%" G_GUINT64_FORMAT " combinations), within "
	       "5 %% of it "
	       "%.1f ms; harm %.0f -> %.0f\n",
	       problem->n_operations, n_workers, (gdouble)(fastest_us - begin_us) / 1e3,
	       results[0].is_exact ? "exact" : "not exact", results[0].width,
	       results[0].max_entries, (gdouble)(end_us - fastest_us) / 1e3, fastest_harm,
	       plan_state_harm(precision_search_state(search)));
	return 0;
}
