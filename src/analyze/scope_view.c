/* scope_view: operations by where they are in the program's structure: modules and name scopes. */
#include <tacho/analyze.h>

#include "analyze/scope_places.h"

TachoTable *tacho_view_scope(const TachoTimeline *timeline, const TachoFilter *filter)
{
	return places_view("scope", timeline, filter, FALSE);
}
