#include "trace/copy_kind.h"

#include "trace/name_meaning.h"

static const struct name_rule rules[] = {
#define MEANING(kind) COPY_##kind + 1
#include "trace/copy_kinds.def"
#undef MEANING
};

static guint judge(const gchar *name)
{
	guint told = name_judge(name, rules, G_N_ELEMENTS(rules));

	return told ? told - 1 : COPY_OTHER;
}

enum copy_kind copy_kind_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum copy_kind)name_meaning(timeline, name, NAME_OF_COPY, judge);
}

enum copy_kind copy_kind_of(const TachoTimeline *timeline, guint32 slice)
{
	return timeline->slices.kind[slice] == TACHO_SLICE_MEMSET
		       ? COPY_MEMSET
		       : copy_kind_of_name(timeline, timeline->slices.name[slice]);
}

const gchar *copy_kind_name(enum copy_kind kind)
{
	static const gchar *const names[] = {
#define COPY_KIND_NAME(enumerator, name) name,
		COPY_KINDS(COPY_KIND_NAME)
#undef COPY_KIND_NAME
	};

	return names[kind];
}
