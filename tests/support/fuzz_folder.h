/* fuzz_folder: for fuzz targets whose input is several files: a folder that is made once and filled anew for each input.
 *
 * The input is a row of files: four bytes of length (little endian), then that many bytes, or what is left. */
#ifndef TACHO_FUZZ_FOLDER_H
#define TACHO_FUZZ_FOLDER_H

#include <glib.h>

/* The folder, empty at first. */
const gchar *fuzz_folder_path(void);
/* Write the files of the input under these names, in this order; what the input has no file for is removed. Names may be in
 * folders ("a/b"): those of the first call are made. The folder, which is the callee's, and gone when the program ends. */
const gchar *fuzz_folder_fill(const gchar *const *names, guint n_names, const guint8 *bytes,
			      gsize n);
/* Add a file to a row, for who makes seeds. */
void fuzz_folder_append(GByteArray *row, const guint8 *bytes, gsize n);

#endif
