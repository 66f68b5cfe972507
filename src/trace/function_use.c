#include "trace/function_use.h"

#include "trace/name_meaning.h"

static const struct name_rule rules[] = {
#define MEANING(kind) FUNCTION_USE_##kind
#include "trace/function_uses.def"
#undef MEANING
};

static guint judge(const gchar *name)
{
	return name_judge(name, rules, G_N_ELEMENTS(rules));
}

enum function_use function_use_of(const TachoTimeline *timeline, guint32 slice)
{
	if (timeline->slices.kind[slice] != TACHO_SLICE_FUNCTION)
		return FUNCTION_USE_NONE;
	return (enum function_use)name_meaning(timeline, timeline->slices.name[slice],
					       NAME_OF_FUNCTION_USE, judge);
}
