/* order: how two values compare, for functions that sort. Keys are joined by "?:", the first that differs decides:
 *
 *     return ORDER(x->rank, y->rank) ?: ORDER(x->begin_ns, y->begin_ns); */
#ifndef TACHO_ORDER_H
#define TACHO_ORDER_H

#include <glib.h>

/* -1, 0 or 1: `a` comes before `b`, is the same, comes after it. Both are evaluated twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* For g_array_sort() and the like: rows that are a number, and pointers to a text. */
gint order_uint32(gconstpointer a, gconstpointer b);
gint order_int64(gconstpointer a, gconstpointer b);
gint order_double(gconstpointer a, gconstpointer b);
gint order_text(gconstpointer a, gconstpointer b);
/* For lists of numbers in pointers. */
gint order_pointer(gconstpointer a, gconstpointer b);

#endif
