/* source_place: the file and line in the name of a function. */
#ifndef TACHO_SOURCE_PLACE_H
#define TACHO_SOURCE_PLACE_H

#include <glib.h>

/* A name "FILE(LINE): NAME", as PyTorch's profiler and tacho's samples call functions of Python: its file, which the caller
 * frees, and its line. NULL: it is no such name, and `*ret_line` is 0. `*ret_function` is NAME, else the whole name. */
gchar *source_place_take_file(const gchar *name, gint64 *ret_line, const gchar **ret_function);

#endif
