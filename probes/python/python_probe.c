/* python_probe: finds the Python interpreter of the process, and starts the thread that samples its stacks.
 *
 * The interpreter is the executable (python3), or a library (libpython3.11.so), which a program may load at
 * any time. All that is needed of it are the addresses of `_PyRuntime`, of three types, and its version. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/probe.h"
#include "common/watch.h"
#include "python/python_hook.h"
#include "python/python_layout.h"
#include "python/stack_sampler.h"
#include "python/python_stack.h"

#define MOST_HZ 1000u

static struct python_types types;
static struct sampler_options options;
static bool is_started; /* atomic */

typedef const char *version_function(void);

static uint64_t address_of(void *library, const char *symbol)
{
	return (uintptr_t)dlsym(library, symbol);
}

/* 0x030b of "3.11.2 (main, ...)"; 0: it does not tell. */
static uint32_t read_version(void *library)
{
	version_function *get = (version_function *)dlsym(library, "Py_GetVersion");
	unsigned major, minor;

	if (!get || sscanf(get(), "%u.%u", &major, &minor) != 2 || major > 255 || minor > 255)
		return 0;
	return major << 8 | minor;
}

/* What tacho record was asked for: --python, --python-hz. */
static bool is_wanted(void)
{
	uint32_t hz = tacho_python_hz();

	options.hz = hz < MOST_HZ ? hz : MOST_HZ;
	return hz > 0;
}

static void forked(void)
{
	if (tacho_is_alive() && is_wanted())
		stack_sampler_start(&options);
}

/* The first interpreter that is found is sampled; a process has no second one. */
static void look_in(void *library)
{
	if (!address_of(library, "_PyRuntime") ||
	    __atomic_exchange_n(&is_started, true, __ATOMIC_ACQ_REL))
		return;
	options.runtime = address_of(library, "_PyRuntime");
	options.version = read_version(library);
	options.types = &types;
	types.code = address_of(library, "PyCode_Type");
	types.text = address_of(library, "PyUnicode_Type");
	types.bytes = address_of(library, "PyBytes_Type");
	python_hook_find(library);
	pthread_atfork(NULL, NULL, forked);
	if (is_wanted())
		stack_sampler_start(&options);
}

static void library_appeared(const char *path, uintptr_t base_address)
{
	void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);

	(void)base_address;
	if (!library)
		return;
	look_in(library);
	dlclose(library);
}

/* The sampler ends by itself when the recording does. */
static void attached_changed(bool is_attached)
{
	bool was_found = options.runtime;

	if (is_attached && !was_found)
		look_in(RTLD_DEFAULT);
	else if (is_attached && is_wanted())
		stack_sampler_start(&options);
	python_hook_call(tacho_python_hook(), is_attached);
}

static __attribute__((constructor)) void start(void)
{
	if (!tacho_is_alive())
		return;
	tacho_watch_attached(attached_changed);
	if (!is_wanted() && !*tacho_python_hook())
		return;
	if (!tacho_is_late())
		look_in(RTLD_DEFAULT);
	tacho_watch_library("libpython3", library_appeared);
}
