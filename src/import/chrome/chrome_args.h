/* chrome_args: what is known of a Chrome trace's slices beyond their columns: all is read from the file when asked
 * for. A place is the offset of the slice's args in the decoded file. */
#ifndef TACHO_CHROME_ARGS_H
#define TACHO_CHROME_ARGS_H

#include "trace/source.h"

/* A reader for the file at `path`. For kernels, it gives the figures that args call by one of the usual names:
 * "bytes", "flops", "dtype"; for collectives, "bytes". */
struct foreign_reader *chrome_args_new(const gchar *path);

#endif
