#include "trace/function_kind.h"

#include <string.h>

#include "trace/name_meaning.h"

static guint judge(const gchar *name)
{
	return strstr(name, ".py(") && !strstr(name, "torch/") ? FUNCTION_OWN : FUNCTION_OTHERS;
}

gboolean function_name_is_own(const TachoTimeline *timeline, guint32 name)
{
	return name_meaning(timeline, name, NAME_OF_FUNCTION, judge) == FUNCTION_OWN;
}

gboolean function_is_own(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_FUNCTION &&
	       function_name_is_own(timeline, timeline->slices.name[slice]);
}
