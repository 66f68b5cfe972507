/* new_folder: an output folder of files that appears under its name when it is whole, or not at all. */
#ifndef TACHO_NEW_FOLDER_H
#define TACHO_NEW_FOLDER_H

#include <glib.h>

typedef struct _NewFolder NewFolder;

/* Begin a folder that will be `path`, for its owner alone. An empty one that is there is used; one that holds nothing but
 * files called as `files` says ("metadata stream_*") is replaced where `may_replace`; any other is an error. One at a
 * time. */
NewFolder *new_folder_open(const gchar *path, const gchar *files, gboolean may_replace,
			   GError **error);
/* Where to put the files. Owned by the folder. */
const gchar *new_folder_path(NewFolder *folder);
/* Make it appear; on failure nothing is left. Frees the folder either way. */
gboolean new_folder_finish(NewFolder *folder, GError **error);
/* Leave nothing, and free. Takes NULL. */
void new_folder_abandon(NewFolder *folder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NewFolder, new_folder_abandon)

#endif
