/* source: what stands behind the `source` handle of a slice, for the accessors of timeline.h.
 *
 * A handle is 0 (nothing more is known), the place of a record in a file of the run, or the number
 * of arguments that were kept by hand:
 *
 *     63: 1 kept | 62..0: index into kept
 *     63: 0      | 62..32: index into files, plus 1 | 31..0: offset in the file / 8
 *
 * (1) Nothing in a record is believed before it was checked against the record's size, at every
 *     access: the file may be written meanwhile. */
#ifndef TACHO_SOURCE_H
#define TACHO_SOURCE_H

#include <tacho/timeline.h>

struct tacho_source;

struct tacho_source *tacho_source_new(void);
void tacho_source_free(struct tacho_source *source);

#endif
