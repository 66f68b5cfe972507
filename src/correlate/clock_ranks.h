/* clock_ranks: the text that names the ranks of a clock. */
#ifndef TACHO_CLOCK_RANKS_H
#define TACHO_CLOCK_RANKS_H

#include <tacho/timeline.h>

/* "0, 1, 2 and 5 more": the ranks whose main process has the clock, `*ret_n` of them. The caller's, to be freed with
 * g_free(). */
gchar *clock_ranks(const TachoTimeline *timeline, guint32 clock, guint *ret_n);

#endif
