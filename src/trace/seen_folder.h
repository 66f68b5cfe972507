/* seen_folder: a folder that is looked through again and again, and only where something in it may be new.
 *
 * (1) What comes into a folder, or leaves it, changes the folder's time. Soon after a change the next one may have the same.
 * (2) What comes into a folder within does not: so it is looked through now and then in any case. */
#ifndef TACHO_SEEN_FOLDER_H
#define TACHO_SEEN_FOLDER_H

#include <glib.h>

/* Zero: it was never looked through. */
struct seen_folder {
	gint64 changed_ns;   /* Unix time */
	gint64 looked_us;    /* monotonic: when it was looked through last */
	gboolean is_settled; /* the next change has another time; who leaves something clears it */
};

/* Whether there is nothing new in the folder at `path`; else it counts as looked through from now on. */
gboolean seen_folder_is_same(struct seen_folder *folder, const gchar *path);

#endif
