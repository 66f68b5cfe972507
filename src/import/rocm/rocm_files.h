/* rocm_files: AMD's profilers write one run in several formats side by side; a folder's run is read from the best. */
#ifndef TACHO_ROCM_FILES_H
#define TACHO_ROCM_FILES_H

#include "import/import_format.h"

/* Whether the file is called <stem><ending> (and perhaps ".gz"), and beside it lies <stem> with one of the `n` other
 * endings: of the same run, and better. */
gboolean rocm_files_has_better(const struct sniff_input *input, const gchar *ending,
			       const gchar *const *others, guint n);

#endif
