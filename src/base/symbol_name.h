/* symbol_name: names of C++ functions, as people call them. */
#ifndef TACHO_SYMBOL_NAME_H
#define TACHO_SYMBOL_NAME_H

#include <glib.h>

/* "void at::native::(anonymous namespace)::softmax_warp<float, 5>(float*, int)" is "softmax_warp": without what it
 * returns, its parameters, namespaces and template arguments. A name that is too general by itself ("Kernel2") keeps
 * its arguments. What is no such name stays as it is. The caller's. */
gchar *symbol_name_short(const gchar *name);

/* The same of several, gchar * each, so that two different names never become the same: those that would keep the
 * template arguments in which they differ, else all of them, else all. A new array that frees its texts, in the order of
 * `names`. */
GPtrArray *symbol_names_short(const GPtrArray *names);

#endif
