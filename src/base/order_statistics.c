/* order_statistics: of n independent values of a continuous distribution each lies below the median with a
 * probability of one half. So the r-th smallest is above it where fewer than r are below, and with the
 * r-th greatest holds it with the probability 1 - 2 * sum over i < r of C(n, i) / 2^n. One more value falls
 * with the same probability into each of the n + 1 gaps between the values, of which n + 1 - 2 r are between
 * these two. (H. A. David, H. N. Nagaraja, Order Statistics, 3rd edition 2003, chapter 7.) */
#include "base/order_statistics.h"

#include <math.h>

#include "base/order.h"

#define WANTED_SHARE 0.95

/* C(n, i) / 2^n from that of i - 1; by logarithms, since for many values it is less than a double can be. */
static gdouble next_log_term(gdouble log_term, guint n, guint i)
{
	return log_term + log((gdouble)(n - i + 1) / i);
}

struct median_bounds median_bounds_of(guint n_values)
{
	gdouble log_term = -(gdouble)n_values * G_LN2, below = exp(log_term);
	struct median_bounds bounds = { .rank = 1, .median_share = 1 - 2 * below };

	for (guint rank = 2; 2 * rank <= n_values; rank++) {
		log_term = next_log_term(log_term, n_values, rank - 1);
		below += exp(log_term);
		if (1 - 2 * below < WANTED_SHARE)
			break;
		bounds.rank = rank;
		bounds.median_share = 1 - 2 * below;
	}
	bounds.next_share = ((gdouble)n_values + 1 - 2 * bounds.rank) / ((gdouble)n_values + 1);
	return bounds;
}

gdouble median_of_doubles(GArray *values)
{
	guint half = values->len / 2;

	if (values->len == 0)
		return 0;
	g_array_sort(values, order_double);
	if (values->len % 2)
		return g_array_index(values, gdouble, half);
	return (g_array_index(values, gdouble, half - 1) + g_array_index(values, gdouble, half)) /
	       2;
}
