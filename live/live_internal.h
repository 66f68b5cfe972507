/* live_internal: what the files of this room share. */
#ifndef TACHO_LIVE_INTERNAL_H
#define TACHO_LIVE_INTERNAL_H

#include <tacho/live.h>
#include <tacho/info.h>

#include "live/other_load.h"

struct recent_rank;

#define LIVE_MANY_JOBS 8 /* from which on each is looked at half as often */

gdouble live_median(const gdouble *values, guint n); /* NaN of none */
/* What `slow` does longer by itself than `other`. */
const gchar *live_why_slow(const struct recent_rank *slow, const struct recent_rank *other);

/* Tables without rows of jobs, of ranks, and of findings. */
TachoTable *live_jobs_table(void);
TachoTable *live_ranks_table(void);
TachoTable *live_findings_table(void);

/* What other processes use is looked at once for all jobs, in `load`. */
void detector_share_load(TachoDetector *detector, OtherLoad *load);
/* So many runs, this one among them, share a core's time. */
void follow_set_beside(TachoFollow *follow, guint n);
/* Whether steps are passed over where reading all would take more than our share; they are counted, and have no row. */
void follow_set_sparing(TachoFollow *follow, gboolean is_sparing);
guint64 follow_n_passed(const TachoFollow *follow);
/* For tests: so many bytes of a window are worth being read, until it is known better. */
void follow_set_worth(TachoFollow *follow, guint64 bytes);
/* For tests: a row as a look might have brought it, the only new one. */
void follow_add_row(TachoFollow *follow, const TachoLiveStep *row);
/* For tests: what is known is so much older than the newest look. */
void follow_set_unread_ns(TachoFollow *follow, gint64 unread_ns);
/* For tests: so many bytes are taken in at once. */
void follow_set_look_bytes(TachoFollow *follow, guint64 bytes);

#endif
