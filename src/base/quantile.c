#include "base/quantile.h"

static gint compare_values(gconstpointer a, gconstpointer b)
{
	gint64 left = *(const gint64 *)a, right = *(const gint64 *)b;

	return (left > right) - (left < right);
}

gdouble quantile(GArray *values, gdouble share)
{
	gdouble position, low, high;
	guint index;

	if (values->len == 0)
		return 0;
	g_array_sort(values, compare_values);
	position = CLAMP(share, 0.0, 1.0) * (values->len - 1);
	index = (guint)position;
	low = (gdouble)g_array_index(values, gint64, index);
	high = (gdouble)g_array_index(values, gint64, MIN(index + 1, values->len - 1));
	return low + (high - low) * (position - index);
}
