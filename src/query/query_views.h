/* query_views: tables that are shown from others. */
#ifndef TACHO_QUERY_VIEWS_H
#define TACHO_QUERY_VIEWS_H

#include <glib.h>

struct query_view {
	const gchar *name, *meaning;
	const gchar *select;
};

/* All views, `*ret_n` of them. */
const struct query_view *query_views(guint *ret_n);

#endif
