/* scoped_query: a query over what of a timeline goes out. SQL asks by functions: has_slice(id),
 * has_moment(track_id, ts), has_process(upid), has_step(id). */
#ifndef TACHO_SCOPED_QUERY_H
#define TACHO_SCOPED_QUERY_H

#include "export/export_scope.h"
#include "query/query_internal.h"

struct scoped_query {
	struct export_scope scope;
	TachoQuery *query;
};

/* False: the run has no such rank or steps, or there is no memory. The scope does not move meanwhile. */
gboolean scoped_query_init(struct scoped_query *scoped, const TachoTimeline *timeline,
			   const TachoExportOptions *options, GError **error);
void scoped_query_release(struct scoped_query *scoped);

#endif
