/* chrome_args: what is known of a Chrome trace's slices beyond their columns: all is read from the file when asked
 * for. A place is the offset of the slice's args in the decoded file. */
#ifndef TACHO_CHROME_ARGS_H
#define TACHO_CHROME_ARGS_H

#include "trace/source.h"

/* A reader for the file at `path`. Of kernels it tells the figures that args call by one of the names
 * that are usual: "bytes", "flops", "dtype"; of collectives "bytes". */
struct foreign_reader *chrome_args_new(const gchar *path);

#endif
