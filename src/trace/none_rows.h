/* none_rows: numbers of rows that are not known yet. */
#ifndef TACHO_NONE_ROWS_H
#define TACHO_NONE_ROWS_H

#include <glib.h>

/* `n` of them, at least one, all TACHO_NONE; the caller's, to be freed with g_free(). */
guint32 *none_rows_new(gsize n);

#endif
