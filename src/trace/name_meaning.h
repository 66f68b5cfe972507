/* name_meaning: what a name means is found out once, and kept beside the string.
 *
 * A timeline has few names and many slices. So whoever wants to know what a slice is asks by the id of its name;
 * the first to ask judges the text. The judges are the only places behind import that look at the text of names:
 * call_kind, copy_kind, region_kind, operation, mark_kind, op_trait, kernel_class, kernel_trait, counter_kind, function_kind, function_use,
 * kernel_event.
 * docs/decisions/0019-what-names-mean.md says why. */
#ifndef TACHO_NAME_MEANING_H
#define TACHO_NAME_MEANING_H

#include <tacho/timeline.h>

/* What a name is the name of: it may mean one thing as that of a call and another as that of a region. */
enum name_of {
	NAME_OF_CALL,
	NAME_OF_REGION,
	NAME_OF_OPERATION,
	NAME_OF_KERNEL,
	NAME_OF_COLLECTIVE,
	NAME_OF_MARK,
	NAME_OF_OP_TRAIT,
	NAME_OF_WAY,
	NAME_OF_KERNEL_TRAIT,
	NAME_OF_COUNTER,
	NAME_OF_COPY,
	NAME_OF_FUNCTION,
	NAME_OF_FUNCTION_USE,
	NAME_OF_KERNEL_EVENT,
	NAME_OF_KERNEL_COUNTER,
	N_NAMES_OF,
};

/* What `name` means, as its importer told, else as `judge` finds: below 127. Any thread may ask at any time. */
guint name_meaning(const TachoTimeline *timeline, guint32 name, enum name_of of,
		   guint (*judge)(const gchar *text));

/* Where its importer knows what `name` means, whatever its text would tell: `meaning` is below 127, and holds for every
 * slice of that name. The last word counts. told_meaning.h has the words that importers use. */
void name_meaning_tell(TachoTimeline *timeline, guint32 name, enum name_of of, guint meaning);
/* What was told; false: nothing was. */
gboolean name_meaning_told(const TachoTimeline *timeline, guint32 name, enum name_of of,
			   guint *ret_meaning);

/* What a text has to be, or to have, to mean something: see name_judge(). */
struct name_rule {
	enum { NAME_IS, NAME_BEGINS, NAME_BEGINS_HAS, NAME_ENDS, NAME_HAS, NAME_HAS_BOTH } how;
	const gchar *text, *other; /* the second of two */
	guint meaning;
};

/* The words in which lists of rules are written (call_kinds.def, region_kinds.def), where MEANING(kind) makes an
 * enumerator. */
#define NAMED(text, kind)	{ NAME_IS, text, NULL, MEANING(kind) },
#define BEGINS(text, kind)	{ NAME_BEGINS, text, NULL, MEANING(kind) },
#define BEGINS_WITH(a, b, kind) { NAME_BEGINS_HAS, a, b, MEANING(kind) },
#define WITH(text, kind)	{ NAME_HAS, text, NULL, MEANING(kind) },
#define WITH_BOTH(a, b, kind)	{ NAME_HAS_BOTH, a, b, MEANING(kind) },

/* What the first rule says that fits; 0: none does. */
guint name_judge(const gchar *text, const struct name_rule *rules, guint n_rules);

#endif
