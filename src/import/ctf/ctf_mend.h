/* ctf_mend: a copy of a CTF trace without what is broken in it, for libbabeltrace2 to read. */
#ifndef TACHO_CTF_MEND_H
#define TACHO_CTF_MEND_H

#include <glib.h>

#include "base/scratch_folder.h"

#define CTF_MEND_PROBE "probe" /* folder below the scratch folder, for what is tried */

/* Make the trace in `folder` anew, in the mended folder below `scratch`, and write what is left out to `out`, as
 * records of failures (ctf_records.h). False: it cannot be made. For a process of its own, whose standard error is a
 * file: what libbabeltrace2 says there is read. */
gboolean ctf_mend(const gchar *folder, const gchar *scratch, int out);

/* --- ctf_scratch.c, for the process that asks for it --- */

/* An empty folder for ctf_mend(), NULL: there can be none. */
struct scratch_folder *ctf_scratch_new(void);
/* Where the mended trace is. */
gchar *ctf_mended_folder(const gchar *scratch);

#endif
