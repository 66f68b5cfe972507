#include "optimize/bucket_problem.h"

#include <string.h>

struct bucket_problem *bucket_problem_empty(guint32 n)
{
	struct bucket_problem *problem = g_new0(struct bucket_problem, 1);

	problem->n = n;
	problem->bytes = g_new0(guint64, MAX(n, 1u));
	problem->dtype = g_new0(const gchar *, MAX(n, 1u));
	problem->begins_bucket = g_new0(guint8, MAX(n, 1u));
	problem->ready_ns = g_new0(gdouble, MAX(n, 1u));
	problem->copy_ns = g_new0(gdouble, MAX(n, 1u));
	problem->n_workers = 1;
	return problem;
}

void bucket_problem_free(struct bucket_problem *problem)
{
	if (!problem)
		return;
	g_free(problem->bytes);
	g_free(problem->dtype);
	g_free(problem->begins_bucket);
	g_free(problem->ready_ns);
	g_free(problem->copy_ns);
	g_free(problem->recorded_ends);
	tacho_graph_free(problem->graph);
	g_free(problem);
}
