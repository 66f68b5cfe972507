/* function_kind: whose a function of the program's language is. */
#ifndef TACHO_FUNCTION_KIND_H
#define TACHO_FUNCTION_KIND_H

#include <tacho/timeline.h>

/* FUNCTION_KIND(enumerator) */
#define FUNCTION_KINDS(FUNCTION_KIND)                                                              \
	FUNCTION_KIND(OTHERS) /* of a library, or built into the language */                       \
	FUNCTION_KIND(OWN)    /* of the program's own source */

enum function_kind {
#define FUNCTION_KIND_ENUM(enumerator) FUNCTION_##enumerator,
	FUNCTION_KINDS(FUNCTION_KIND_ENUM)
#undef FUNCTION_KIND_ENUM
};

/* Whether a FUNCTION slice is of the program's own source: as its importer told (told_meaning.h), else by its name,
 * "train.py(12): main" is, "torch/optim/sgd.py(30): step" and a function built into the language are not. */
gboolean function_is_own(const TachoTimeline *timeline, guint32 slice);
/* The same of a function by its name, a string id. */
gboolean function_name_is_own(const TachoTimeline *timeline, guint32 name);

#endif
