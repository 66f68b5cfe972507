/* function_use: what a job is busy with while a function of its program or of a library runs, as the function's name tells,
 * "FILE(LINE): NAME". */
#ifndef TACHO_FUNCTION_USE_H
#define TACHO_FUNCTION_USE_H

#include <tacho/timeline.h>

/* USE(enumerator) */
#define FUNCTION_USES(USE)                                                                         \
	USE(NONE)	/* nothing of these */                                                     \
	USE(IMPORT)	/* modules are imported */                                                 \
	USE(COMPILE)	/* the program is traced and compiled */                                   \
	USE(CHECKPOINT) /* parameters are saved or loaded */                                       \
	USE(EVALUATION) /* the model is tried, not trained */                                      \
	USE(LOADING)	/* a batch is taken from a data loader, or the loader is started */        \
	USE(LAUNCH)	/* ranks find each other */

enum function_use {
#define FUNCTION_USE_ENUM(enumerator) FUNCTION_USE_##enumerator,
	FUNCTION_USES(FUNCTION_USE_ENUM)
#undef FUNCTION_USE_ENUM
		N_FUNCTION_USES
};

/* What a FUNCTION slice is used for; NONE for any other slice. */
enum function_use function_use_of(const TachoTimeline *timeline, guint32 slice);

#endif
