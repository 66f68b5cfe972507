/* exported_rows: all rows of a timeline, or of what of it is in scope, for a run image (trace/run_image.h).
 *
 * (1) Rows that name what is out of scope are left out, or name nothing; the others keep their order, and are numbered
 *     anew. What was found about all of the run (its problems, how many ranks a collective should have, when its last one
 *     came) stays as it is.
 * (2) An arrow or a collective is there where any slice of it is and, of an arrow, both are. */
#ifndef TACHO_EXPORTED_ROWS_H
#define TACHO_EXPORTED_ROWS_H

#include "export/export_scope.h"
#include "trace/image_writer.h"

/* False: there is nothing in scope (export_scope_init()). */
gboolean exported_rows_write(const TachoTimeline *timeline, const TachoExportOptions *options,
			     ImageSink sink, gpointer data, GError **error);

#endif
