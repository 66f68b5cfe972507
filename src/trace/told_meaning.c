#include "trace/told_meaning.h"

#include <string.h>

static const gchar *const call_words[] = {
#define CALL_KIND_WORD(enumerator) #enumerator,
	CALL_KINDS(CALL_KIND_WORD)
#undef CALL_KIND_WORD
};

static const gchar *const region_words[] = {
#define REGION_KIND_WORD(enumerator) #enumerator,
	REGION_KINDS(REGION_KIND_WORD)
#undef REGION_KIND_WORD
};

static const gchar *const operation_words[] = { "UNTOLD",
#define OPERATION_WORD(enumerator, name) #enumerator,
						COLLECTIVE_OPERATIONS(OPERATION_WORD)
#undef OPERATION_WORD
};

static const gchar *const function_words[] = {
#define FUNCTION_KIND_WORD(enumerator) #enumerator,
	FUNCTION_KINDS(FUNCTION_KIND_WORD)
#undef FUNCTION_KIND_WORD
};

static const struct {
	enum name_of of;
	const gchar *word;
	const gchar *const *meanings;
	guint n_meanings;
} vocabularies[] = {
	{ NAME_OF_CALL, "call", call_words, G_N_ELEMENTS(call_words) },
	{ NAME_OF_REGION, "region", region_words, G_N_ELEMENTS(region_words) },
	{ NAME_OF_COLLECTIVE, "collective", operation_words, G_N_ELEMENTS(operation_words) },
	{ NAME_OF_FUNCTION, "function", function_words, G_N_ELEMENTS(function_words) },
};

guint told_meaning_list(const TachoTimeline *timeline, guint32 name,
			struct told_words words[N_NAMES_OF])
{
	guint n = 0, meaning;

	for (guint i = 0; i < G_N_ELEMENTS(vocabularies); i++)
		if (name_meaning_told(timeline, name, vocabularies[i].of, &meaning) &&
		    meaning < vocabularies[i].n_meanings)
			words[n++] = (struct told_words){ vocabularies[i].word,
							  vocabularies[i].meanings[meaning] };
	return n;
}

void told_meaning_restore(TachoTimeline *timeline, guint32 name, const gchar *of,
			  const gchar *meaning)
{
	for (guint i = 0; i < G_N_ELEMENTS(vocabularies); i++)
		for (guint k = 0; k < vocabularies[i].n_meanings; k++)
			if (strcmp(of, vocabularies[i].word) == 0 &&
			    strcmp(meaning, vocabularies[i].meanings[k]) == 0)
				name_meaning_tell(timeline, name, vocabularies[i].of, k);
}

void told_meaning_copy(TachoTimeline *to, guint32 name, const TachoTimeline *from,
		       guint32 name_there)
{
	guint meaning;

	for (guint i = 0; i < G_N_ELEMENTS(vocabularies); i++)
		if (name_meaning_told(from, name_there, vocabularies[i].of, &meaning))
			name_meaning_tell(to, name, vocabularies[i].of, meaning);
}
