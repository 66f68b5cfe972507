/* bucket_judge: the true replay's word on partitions that a search has found. */
#ifndef TACHO_BUCKET_JUDGE_H
#define TACHO_BUCKET_JUDGE_H

#include "graph/graph_internal.h"

/* What chance did to the recorded buckets counts neither for them nor against them: of them and of others the collectives take what the
 * model says (bucket_plan_model()), so that the difference is that of the partitions. NAN: the error is set. */
gdouble bucket_judge_fusion_ms(const TachoGraph *graph, const gchar *fusion, GError **error);
/* The median step of a copy of the graph with the what-ifs between ";", ms; what is wrong with them is an error. */
gdouble bucket_judge_step_ms(const TachoGraph *graph, const gchar *what_ifs, GError **error);

#endif
