/* refusal: what a file is that tacho does not read, and what to do instead. */
#ifndef TACHO_REFUSAL_H
#define TACHO_REFUSAL_H

#include "import/import_format.h"

/* "is a report of Nsight Systems, ...: run '...'", to stand behind the file's path; the caller's. NULL: nobody knows.
 * *ret_is_recording: something was recorded into it, so that it may be what was meant by the folder it is in. */
gchar *refusal_of_file(const struct sniff_input *input, gboolean *ret_is_recording);

#endif
