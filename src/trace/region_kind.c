#include "trace/region_kind.h"

#include <string.h>

#include "trace/name_meaning.h"

#define REGION_STEPS	 "ProfilerStep#"
#define REGION_EVALUATES "autograd::engine::evaluate_function"

static const struct name_rule rules[] = {
#define MEANING(kind) REGION_##kind
#include "trace/region_kinds.def"
#undef MEANING
};

static guint judge(const gchar *name)
{
	return name_judge(name, rules, G_N_ELEMENTS(rules));
}

enum region_kind region_kind_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum region_kind)name_meaning(timeline, name, NAME_OF_REGION, judge);
}

gboolean region_text_updates(const gchar *name)
{
	return judge(name) == REGION_OPTIMIZER_STEP;
}

gint64 region_step_number(const TachoTimeline *timeline, guint32 name)
{
	const gchar *text = tacho_timeline_string(timeline, name);

	text += g_str_has_prefix(text, REGION_STEPS) ? strlen(REGION_STEPS)
						     : strcspn(text, "0123456789");
	return g_ascii_strtoll(text, NULL, 10);
}

const gchar *region_evaluated(const TachoTimeline *timeline, guint32 name)
{
	const gchar *text = tacho_timeline_string(timeline, name);

	return g_str_has_prefix(text, REGION_EVALUATES ": ") ? text + strlen(REGION_EVALUATES ": ")
							     : text;
}
