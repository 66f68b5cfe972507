/* random_problem: problems of precision as models have them, made of random numbers. */
#ifndef TACHO_RANDOM_PROBLEM_H
#define TACHO_RANDOM_PROBLEM_H

#include "precision/problem.h"

struct random_problem {
	guint32 n_chosen; /* operations whose format is chosen */
	guint32 n_workers;
	guint32 n_collectives;
	gboolean has_ties, has_shared, has_followers;
	guint formats; /* bits of formats that may be allowed; fp32 always is */
};

/* The same for the same seed. Tensors go to the next operation and, at random, further; costs and harms are such that nothing is dominated.
 * The caller's. */
TachoPrecisionProblem *random_problem(GRand *rand, const struct random_problem *wanted);

/* `blocks` transformer blocks of 6 products and 4 followers each, with residuals; formats fp32, bf16, int8. */
TachoPrecisionProblem *transformer_problem(guint32 n_blocks, guint32 n_workers);

#endif
