#include "agent/attach.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "common/probe.h"

#define MAX_WATCHERS 16

struct attach_state tacho_attach_state = { .magic = ATTACH_MAGIC };

static tacho_attached_changed *watchers[MAX_WATCHERS]; /* atomic */

bool tacho_watch_attached(tacho_attached_changed *changed)
{
	for (int i = 0; i < MAX_WATCHERS; i++) {
		tacho_attached_changed *nobody = NULL;

		if (__atomic_compare_exchange_n(&watchers[i], &nobody, changed, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

void attach_watch_tell(bool is_attached)
{
	for (int i = 0; i < MAX_WATCHERS; i++) {
		tacho_attached_changed *changed = __atomic_load_n(&watchers[i], __ATOMIC_ACQUIRE);

		if (changed)
			changed(is_attached);
	}
}

void attach_note_past_steps(void)
{
	__atomic_store_n(&tacho_attach_state.is_past_steps, 1, __ATOMIC_RELEASE);
}

void *tacho_scope(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, ATTACH_LIBRARY) ? RTLD_NEXT : RTLD_DEFAULT;
}

void tacho_thread_begins(void)
{
	__atomic_add_fetch(&tacho_attach_state.n_threads, 1, __ATOMIC_SEQ_CST);
}

void tacho_thread_ends(void)
{
	__atomic_sub_fetch(&tacho_attach_state.n_threads, 1, __ATOMIC_SEQ_CST);
}
