#include "base/order.h"

#include <string.h>

gint order_uint32(gconstpointer a, gconstpointer b)
{
	return ORDER(*(const guint32 *)a, *(const guint32 *)b);
}

gint order_int64(gconstpointer a, gconstpointer b)
{
	return ORDER(*(const gint64 *)a, *(const gint64 *)b);
}

gint order_double(gconstpointer a, gconstpointer b)
{
	return ORDER(*(const gdouble *)a, *(const gdouble *)b);
}

gint order_text(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const gchar *const *)a, *(const gchar *const *)b);
}

gint order_pointer(gconstpointer a, gconstpointer b)
{
	return ORDER(GPOINTER_TO_SIZE(a), GPOINTER_TO_SIZE(b));
}
