/* export_output: how an export ends. */
#ifndef TACHO_EXPORT_OUTPUT_H
#define TACHO_EXPORT_OUTPUT_H

#include <tacho/export.h>

/* Flush `out` and say whether everything was written; TACHO_EXPORT_ERROR_IO where not, with errno as the
 * cause: who sees a write fail comes here at once. Tells the progress that all is done. */
gboolean export_output_finish(FILE *out, const TachoExportOptions *options, GError **error);
/* Write what the file with descriptor `file` holds, and finish. */
gboolean export_output_copy(int file, FILE *out, const TachoExportOptions *options, GError **error);

#endif
