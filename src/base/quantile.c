#include "base/quantile.h"

#include <math.h>

#include "base/for_each.h"
#include "base/order.h"

#define DEVIATION_OF_MEDIAN 1.482602218505602

gdouble quantile(GArray *values, gdouble share)
{
	gdouble position, low, high;
	guint index;

	if (values->len == 0)
		return 0;
	g_array_sort(values, order_int64);
	position = CLAMP(share, 0.0, 1.0) * (values->len - 1);
	index = (guint)position;
	low = (gdouble)g_array_index(values, gint64, index);
	high = (gdouble)g_array_index(values, gint64, MIN(index + 1, values->len - 1));
	return low + (high - low) * (position - index);
}

gdouble median_with_deviation(GArray *values, gdouble *ret_deviation)
{
	gdouble median = quantile(values, 0.5);

	FOR_EACH(gint64, value, values)
		*value = ABS(*value - (gint64)median);
	*ret_deviation =
		median != 0 ? DEVIATION_OF_MEDIAN * quantile(values, 0.5) / fabs(median) : 0;
	return median;
}
