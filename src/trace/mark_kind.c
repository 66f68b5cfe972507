#include "trace/mark_kind.h"

#include <string.h>

#include "trace/name_meaning.h"

#define WHOLE_STEP "whole" /* the text of a step's mark */

static const gchar *const names[N_MARK_KINDS] = {
#define MARK_KIND_NAME(enumerator, name) [MARK_##enumerator] = name,
	MARK_KINDS(MARK_KIND_NAME)
#undef MARK_KIND_NAME
};

static guint judge(const gchar *name)
{
	for (guint kind = MARK_OTHER + 1; kind < N_MARK_KINDS; kind++)
		if (strcmp(name, names[kind]) == 0)
			return kind;
	return MARK_OTHER;
}

enum mark_kind mark_kind_of(const TachoTimeline *timeline, const TachoMark *mark)
{
	return (enum mark_kind)name_meaning(timeline, mark->name, NAME_OF_MARK, judge);
}

const gchar *mark_kind_name(enum mark_kind kind)
{
	return kind > MARK_OTHER && kind < N_MARK_KINDS ? names[kind] : "";
}

void mark_step(TachoTimeline *timeline, TachoMark *mark, gboolean is_whole)
{
	mark->name = tacho_timeline_intern(timeline, names[MARK_STEP], -1);
	mark->text = is_whole ? tacho_timeline_intern(timeline, WHOLE_STEP, -1) : 0;
}

gboolean mark_step_is_whole(const TachoTimeline *timeline, const TachoMark *mark)
{
	return strcmp(tacho_timeline_string(timeline, mark->text), WHOLE_STEP) == 0;
}
