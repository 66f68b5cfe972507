/* search_rules: what people try first. PyTorch's rule for several bucket_cap_mb, with its own first bucket and with one as large as the
 * others; and n buckets of about one size, for each n: the one-dimensional search that gets most of the gain (dPRO, figure of tensor
 * groups). */
#include "optimize/bucket_search.h"

/* Source: cited from PyTorch's documentation of bucket_cap_mb (25 is the default), and what people try around it. */
static const guint64 caps_mib[] = { 1, 2, 4, 8, 16, 25, 50, 100 };

#define MIB (1u << 20)

static void try_ends(struct bucket_search *search, guint32 *ends, guint32 n)
{
	n = bucket_search_allow(search->problem, ends, n);
	bucket_search_try(search, "rules", ends, n);
}

static void try_cap(struct bucket_search *search, guint64 first_bytes, guint64 cap_bytes,
		    guint32 *ends)
{
	const struct bucket_problem *problem = search->problem;
	guint64 bytes = 0;
	guint32 n = 0;

	for (guint32 i = 0; i < problem->n; i++) {
		bytes += problem->bytes[i];
		if (bytes < (n == 0 ? first_bytes : cap_bytes))
			continue;
		ends[n++] = i + 1;
		bytes = 0;
	}
	if (bytes > 0)
		ends[n++] = problem->n;
	try_ends(search, ends, n);
}

static void try_even(struct bucket_search *search, guint32 n_buckets, guint64 all_bytes,
		     guint32 *ends)
{
	const struct bucket_problem *problem = search->problem;
	guint64 bytes = 0;
	guint32 n = 0;

	for (guint32 i = 0; i < problem->n; i++) {
		bytes += problem->bytes[i];
		if ((gdouble)bytes >= (gdouble)all_bytes * (n + 1) / n_buckets)
			ends[n++] = i + 1;
	}
	if (n == 0 || ends[n - 1] != problem->n)
		ends[n++] = problem->n;
	try_ends(search, ends, n);
}

void search_rules(struct bucket_search *search)
{
	const struct bucket_problem *problem = search->problem;
	g_autofree guint32 *ends = g_new(guint32, (gsize)problem->n + 1);
	guint64 all_bytes = 0;

	for (guint32 i = 0; i < problem->n; i++)
		all_bytes += problem->bytes[i];
	for (guint i = 0; i < G_N_ELEMENTS(caps_mib) && !bucket_search_is_over(search); i++) {
		try_cap(search, MIB, caps_mib[i] * MIB, ends);
		try_cap(search, caps_mib[i] * MIB, caps_mib[i] * MIB, ends);
	}
	for (guint32 n = 1; n <= problem->n && !bucket_search_is_over(search); n++)
		try_even(search, n, all_bytes, ends);
}
