/* remove_tree: a folder and all below it. */
#ifndef TACHO_REMOVE_TREE_H
#define TACHO_REMOVE_TREE_H

#include <glib.h>

/* Remove what is at `path`, with what is below where it is a folder. Symbolic links are removed, never followed. */
gboolean remove_tree(const gchar *path, GError **error);

#endif
