/* visible_names: what is in a folder. */
#ifndef TACHO_VISIBLE_NAMES_H
#define TACHO_VISIBLE_NAMES_H

#include <glib.h>

/* The names in a folder (gchar *), in no order, hidden ones left out; none where it cannot be read. The caller's. */
GPtrArray *visible_names(const gchar *folder);

#endif
