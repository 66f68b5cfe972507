/* search_exhaustive: a partition is which of the n - 1 gaps between gradients are ends; each is tried. */
#include "optimize/bucket_search.h"

void search_exhaustive(struct bucket_search *search)
{
	const struct bucket_problem *problem = search->problem;
	guint32 ends[SEARCH_MAX_EXHAUSTIVE], forced = 0;

	if (problem->n == 0 || problem->n > SEARCH_MAX_EXHAUSTIVE)
		return;
	for (guint32 i = 1; i < problem->n; i++)
		if (problem->begins_bucket[i])
			forced |= 1u << (i - 1);
	for (guint32 gaps = 0; gaps < 1u << (problem->n - 1); gaps++) {
		guint32 n = 0;

		if ((gaps & forced) != forced)
			continue;
		for (guint32 i = 1; i < problem->n; i++)
			if (gaps & 1u << (i - 1))
				ends[n++] = i;
		ends[n++] = problem->n;
		bucket_search_try(search, "exhaustive", ends, n);
		if (bucket_search_is_over(search))
			return;
	}
}
