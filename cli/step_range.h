/* step_range: "A:B" on the command line: training steps, both ends included. */
#ifndef TACHO_STEP_RANGE_H
#define TACHO_STEP_RANGE_H

#include <glib.h>

/* "3:7", "3:" (from there on), ":7" (up to there) or "3" (that one). -1: no limit. False: none of
 * these. */
gboolean step_range_parse(const gchar *text, gint64 *ret_first, gint64 *ret_last);

#endif
