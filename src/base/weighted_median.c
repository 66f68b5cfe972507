#include "base/weighted_median.h"

#include <stdlib.h>

static gint compare_values(gconstpointer a, gconstpointer b)
{
	const struct weighted *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->weight > y->weight) - (x->weight < y->weight);
}

gdouble weighted_median(struct weighted *values, guint n)
{
	gdouble total = 0, below = 0;
	guint i = 0;

	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), compare_values);
	for (guint j = 0; j < n; j++)
		total += values[j].weight;
	while (i + 1 < n && below + values[i].weight < total / 2)
		below += values[i++].weight;
	if (i + 1 < n && below + values[i].weight == total / 2)
		return (values[i].value + values[i + 1].value) / 2;
	return values[i].value;
}
