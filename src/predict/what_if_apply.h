/* what_if_apply: lists of changes, with what they bring from files and other recordings. */
#ifndef TACHO_WHAT_IF_APPLY_H
#define TACHO_WHAT_IF_APPLY_H

#include "edit/change.h"

/* Read the what-ifs, and what they need: an array of struct change that releases them. NULL: the error is set. */
GArray *changes_read(const gchar *const *what_ifs, guint n_what_ifs, GError **error);
/* Whether several processes can make all of them (change_check_shared()); nothing is read. */
gboolean changes_check_shared(const gchar *const *what_ifs, guint n_what_ifs, GError **error);
gboolean changes_need(const GArray *changes, enum change_needs needs);
/* Make them, each phase after the other; the graph is frozen after each. */
gboolean changes_apply(TachoGraph *graph, const GArray *changes, GError **error);

#endif
