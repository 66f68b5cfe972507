/* view_slices: what of a timeline the rows of a view are of. */
#include <string.h>

#include <tacho/analyze.h>

#include "analyze/scope_places.h"

guint8 *tacho_view_slices(const gchar *view, const TachoTimeline *timeline,
			  const TachoFilter *filter)
{
	if (strcmp(view, "graph") == 0)
		return graph_slices(timeline, filter);
	if (strcmp(view, "scope") == 0)
		return places_slices(timeline, filter, FALSE);
	if (strcmp(view, "code") == 0)
		return places_slices(timeline, filter, TRUE);
	return NULL;
}
