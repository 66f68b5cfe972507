/* own_time: what slices of one track take by themselves. A moment is the slice's that began last of those
 * that are open then: that of the innermost, where slices lie within each other, and the later one's, where
 * they only partly overlap. So own times add up to the time in which any slice is open. */
#ifndef TACHO_OWN_TIME_H
#define TACHO_OWN_TIME_H

#include <tacho/timeline.h>

/* Nanoseconds of each of the rows [first, first + n), which are one track's in timeline order, by their
 * place from `first`. `is_counted`, by place, too, says which take part; the others have 0 and leave their time
 * to what is around them. NULL: all do. To be freed with g_free(). */
gint64 *own_times(const TachoSlices *slices, guint32 first, guint32 n, const guint8 *is_counted);

#endif
