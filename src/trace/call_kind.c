/* CUDA's runtime and driver and HIP have the same calls under names that differ in what stands before ("cuda", "cu",
 * "hip", "hipExtModule") and behind ("_v2", "_ptsz", "ExC"), so most are known by a part of their name. */
#include "trace/call_kind.h"

#include "trace/name_meaning.h"

static const struct name_rule rules[] = {
#define MEANING(kind) CALL_##kind
#include "trace/call_kinds.def"
#undef MEANING
};

static guint judge(const gchar *name)
{
	return name_judge(name, rules, G_N_ELEMENTS(rules));
}

enum call_kind call_kind_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum call_kind)name_meaning(timeline, name, NAME_OF_CALL, judge);
}
