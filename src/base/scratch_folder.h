/* scratch_folder: a folder for temporary files that does not outlive this process, however that ends.
 *
 * (1) A small process of its own waits for the end and then removes the folder: nothing that ends this process,
 *     a signal from the terminal or SIGKILL, ends that one. */
#ifndef TACHO_SCRATCH_FOLDER_H
#define TACHO_SCRATCH_FOLDER_H

#include <glib.h>

struct scratch_folder {
	gchar *path;
	int alive; /* held open as long as this process lives; -1: nobody waits */
	GPid keeper;
};

/* Make one in the folder for temporary files (TMPDIR), named after `pattern` ("tacho-ctf-XXXXXX"). NULL with an
 * error. */
struct scratch_folder *scratch_folder_new(const gchar *pattern, GError **error);
/* Remove it with all that is in it. NULL is fine. */
void scratch_folder_free(struct scratch_folder *folder);

#endif
