/* precision_proposal: the plan of precisions that `tacho optimize --allow precision` ranks beside what it finds itself. */
#ifndef TACHO_PRECISION_PROPOSAL_H
#define TACHO_PRECISION_PROPOSAL_H

#include <tacho/precision.h>

typedef struct {
	const gchar *const *runs; /* recordings of the job in uniform precisions; NULL-terminated */
	const gchar *statistics, *casts; /* files; or NULL */
	guint64 memory_bytes;		 /* that a rank may hold; 0: any */
} PrecisionProposal;

/* Look for the plan, as `tacho precision plan` does: within 5 % of the fastest one. NULL: there is none, which has been told. */
TachoPrecisionPlan *precision_proposal_find(const PrecisionProposal *proposal);
/* As the options of tacho_optimize() take it; the found plan's. NULL: there is none for all ranks, which has been told. */
const TachoPlan *precision_proposal_plan(const TachoPrecisionPlan *found);

#endif
