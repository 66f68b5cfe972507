/* A note is the meaning and 1 more; 0: nobody has asked yet. Threads that ask at the same time find the same. What an
 * importer told has the highest bit set. */
#include "trace/name_meaning.h"

#include <string.h>

#include "trace/string_table.h"

G_STATIC_ASSERT(N_NAMES_OF <= STRING_NOTES);

#define TOLD 0x80u

guint name_meaning(const TachoTimeline *timeline, guint32 name, enum name_of of,
		   guint (*judge)(const gchar *text))
{
	guint8 *notes = string_table_notes(timeline->strings, name);
	guint known = notes ? __atomic_load_n(&notes[of], __ATOMIC_RELAXED) : 0;

	if (known)
		return (known & ~TOLD) - 1;
	known = judge(tacho_timeline_string(timeline, name));
	if (notes)
		__atomic_store_n(&notes[of], (guint8)(known + 1), __ATOMIC_RELAXED);
	return known;
}

void name_meaning_tell(TachoTimeline *timeline, guint32 name, enum name_of of, guint meaning)
{
	guint8 *notes = string_table_notes(timeline->strings, name);

	g_assert(meaning + 1 < TOLD);
	if (notes)
		__atomic_store_n(&notes[of], (guint8)((meaning + 1) | TOLD), __ATOMIC_RELAXED);
}

gboolean name_meaning_told(const TachoTimeline *timeline, guint32 name, enum name_of of,
			   guint *ret_meaning)
{
	guint8 *notes = string_table_notes(timeline->strings, name);
	guint known = notes ? __atomic_load_n(&notes[of], __ATOMIC_RELAXED) : 0;

	if (known & TOLD)
		*ret_meaning = (known & ~TOLD) - 1;
	return (known & TOLD) != 0;
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
