/* told_meaning: what importers say that names mean, where their tool tells it otherwise than by the name.
 *
 * An importer gives its slices the names that its tool shows. Where a rule in src/trace knows these, that is enough. Where
 * the tool tells by something else (a number, a column, the call behind a wait) the importer says it here, once for each
 * name, before anybody asks. That wins over what the name would tell. A run image has it (run_image.def), in words. */
#ifndef TACHO_TOLD_MEANING_H
#define TACHO_TOLD_MEANING_H

#include "trace/call_kind.h"
#include "trace/function_kind.h"
#include "trace/name_meaning.h"
#include "trace/operation.h"
#include "trace/region_kind.h"

static inline void tell_call(TachoTimeline *timeline, guint32 name, enum call_kind kind)
{
	name_meaning_tell(timeline, name, NAME_OF_CALL, kind);
}

static inline void tell_region(TachoTimeline *timeline, guint32 name, enum region_kind kind)
{
	name_meaning_tell(timeline, name, NAME_OF_REGION, kind);
}

static inline void tell_operation(TachoTimeline *timeline, guint32 name,
				  enum collective_operation operation)
{
	name_meaning_tell(timeline, name, NAME_OF_COLLECTIVE, operation);
}

static inline void tell_function(TachoTimeline *timeline, guint32 name, enum function_kind kind)
{
	name_meaning_tell(timeline, name, NAME_OF_FUNCTION, kind);
}

/* What was told of a name, in words that stay when the enumerations grow: what it is the name of, "call", and its
 * meaning, "EVENT_SYNC". */
struct told_words {
	const gchar *of, *meaning; /* static */
};

/* Returns how many were told, which are in `words`. */
guint told_meaning_list(const TachoTimeline *timeline, guint32 name,
			struct told_words words[N_NAMES_OF]);
/* Tell it again; words that are not known say nothing. */
void told_meaning_restore(TachoTimeline *timeline, guint32 name, const gchar *of,
			  const gchar *meaning);
/* What was told of a name of another timeline. */
void told_meaning_copy(TachoTimeline *to, guint32 name, const TachoTimeline *from,
		       guint32 name_there);

#endif
