/* A note is the meaning and 1 more; 0: nobody has asked yet. Threads that ask at the same time find the same. */
#include "trace/name_meaning.h"

#include <string.h>

#include "trace/string_table.h"

G_STATIC_ASSERT(N_NAMES_OF <= STRING_NOTES);

guint name_meaning(const TachoTimeline *timeline, guint32 name, enum name_of of,
		   guint (*judge)(const gchar *text))
{
	guint8 *notes = string_table_notes(timeline->strings, name);
	guint known = notes ? __atomic_load_n(&notes[of], __ATOMIC_RELAXED) : 0;

	if (known)
		return known - 1;
	known = judge(tacho_timeline_string(timeline, name));
	if (notes)
		__atomic_store_n(&notes[of], (guint8)(known + 1), __ATOMIC_RELAXED);
	return known;
}

static gboolean fits(const gchar *text, const struct name_rule *rule)
{
	switch (rule->how) {
	case NAME_IS:
		return strcmp(text, rule->text) == 0;
	case NAME_BEGINS:
		return g_str_has_prefix(text, rule->text);
	case NAME_BEGINS_HAS:
		return g_str_has_prefix(text, rule->text) && strstr(text, rule->other);
	case NAME_ENDS:
		return g_str_has_suffix(text, rule->text);
	case NAME_HAS_BOTH:
		return strstr(text, rule->text) && strstr(text, rule->other);
	default:
		return strstr(text, rule->text) != NULL;
	}
}

guint name_judge(const gchar *text, const struct name_rule *rules, guint n_rules)
{
	for (guint i = 0; i < n_rules; i++)
		if (fits(text, &rules[i]))
			return rules[i].meaning;
	return 0;
}
