/* copy_bytes: from one open file to another. */
#ifndef TACHO_COPY_BYTES_H
#define TACHO_COPY_BYTES_H

#include <glib.h>

/* Copy at most `bytes` from where `in` stands to where `out` does; *ret_copied is how many there were. False: errno says why not. */
gboolean copy_bytes(int in, int out, guint64 bytes, guint64 *ret_copied);

#endif
