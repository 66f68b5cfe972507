/* clock_evidence: what a timeline knows of who cannot have been done before whom. */
#ifndef TACHO_CLOCK_EVIDENCE_H
#define TACHO_CLOCK_EVIDENCE_H

#include "correlate/clock_links.h"

/* Add a bound to `links` for each thing that two clocks have in common. `is_again`: times have been aligned before,
 * so what lacks partners is matched by time and as sure as all else. Returns whether anything lacked a partner. */
gboolean clock_evidence_collect(TachoTimeline *timeline, gboolean is_again,
				struct clock_links *links);

#endif
