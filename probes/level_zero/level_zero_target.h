/* level_zero_target: what the files of the probe share: the functions that they call themselves, and the lock. A call of the probe's within a callback of the
 * tracing layer goes past that layer. */
#ifndef TACHO_LEVEL_ZERO_TARGET_H
#define TACHO_LEVEL_ZERO_TARGET_H

#include <pthread.h>

#include <level_zero/ze_api.h>

#define LEVEL_ZERO_FUNCTIONS(FUNCTION)                                                             \
	FUNCTION(zeDriverGet)                                                                      \
	FUNCTION(zeDeviceGet)                                                                      \
	FUNCTION(zeDeviceGetProperties)                                                            \
	FUNCTION(zeDeviceGetGlobalTimestamps)                                                      \
	FUNCTION(zeEventPoolCreate)                                                                \
	FUNCTION(zeEventPoolDestroy)                                                               \
	FUNCTION(zeEventCreate)                                                                    \
	FUNCTION(zeEventDestroy)                                                                   \
	FUNCTION(zeEventHostReset)                                                                 \
	FUNCTION(zeEventQueryKernelTimestamp)                                                      \
	FUNCTION(zeMemGetAllocProperties)

struct level_zero_target {
#define MEMBER(name) __typeof__(name) *name;
	LEVEL_ZERO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Set once, before the first callback. */
extern struct level_zero_target level_zero;

/* Guards all that the probe knows of handles. It is not held while a call of the program's runs. */
extern pthread_mutex_t level_zero_lock;

#endif
