/* search_random: each gap between gradients is an end with one probability, which is drawn for each partition, so that few and
 * many buckets are equally likely. */
#include "optimize/bucket_search.h"
#include "optimize/random_stream.h"

void search_random(struct bucket_search *search)
{
	const struct bucket_problem *problem = search->problem;
	g_autofree guint32 *ends = g_new(guint32, (gsize)problem->n + 1);
	struct random_stream random = random_stream_of(search->seed, G_MAXUINT32);

	if (problem->n == 0 || (search->max_tries == 0 && search->end_us == 0))
		return;
	while (!bucket_search_is_over(search)) {
		gdouble share = random_stream_share(&random);
		guint32 n = 0;

		share *= share;
		for (guint32 i = 1; i < problem->n; i++)
			if (problem->begins_bucket[i] || random_stream_share(&random) < share)
				ends[n++] = i;
		ends[n++] = problem->n;
		bucket_search_try(search, "random", ends, n);
	}
}
