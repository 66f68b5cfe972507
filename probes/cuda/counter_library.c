#include "cuda/counter_library.h"

#include <dlfcn.h>

#include "common/probe.h"
#include "cuda/cupti_library.h"

bool counter_library_load(struct counter_library *library, const struct cupti *cupti,
			  const char **missing)
{
	library->cupti = cupti;
#define COUNTER_FIND(name, member, parameters)                                                     \
	*(void **)&library->member = dlsym(cupti->library, "cupti" #name);                         \
	if (!library->member) {                                                                    \
		*missing = "cupti" #name;                                                          \
		return false;                                                                      \
	}
	COUNTERS_FUNCTIONS(COUNTER_FIND)
	SAMPLING_FUNCTIONS(COUNTER_FIND)
	RANGES_FUNCTIONS(COUNTER_FIND)
#undef COUNTER_FIND
	return true;
}

void counter_library_say(const struct counter_library *library, const char *what, int result)
{
	const char *words = cupti_words(library->cupti, result);

	/* https://developer.nvidia.com/ERR_NVGPUCTRPERM */
	if (result == COUNTERS_INSUFFICIENT_PRIVILEGES || result == COUNTERS_VIRTUAL_PRIVILEGES)
		tacho_unseen(
			COUNTERS_UNSEEN,
			"%s: %s: the driver lets administrators count alone; run as root, or "
			"have its module loaded with NVreg_RestrictProfilingToAdminUsers=0 (in a "
			"container: CAP_SYS_ADMIN)",
			what, words);
	else
		tacho_unseen(COUNTERS_UNSEEN, "%s: CUPTI (%s) refuses: %s", what,
			     library->cupti->path, words);
}
