/* level_zero_probe: what programs call of oneAPI Level Zero, and what its devices do. The library is preloaded and waits for the loader's tracing layer,
 * which comes when a program calls zeInit() with ZE_ENABLE_TRACING_LAYER=1. It is seen as soon as it is there, so that all calls are told of, also those of
 * programs that look functions up by themselves (docs/decisions/0052-level-zero.md).
 *
 *     zeInit -> the loader loads the layer -> layer_appeared(): a tracer with our callbacks -> every call of the program's: before, driver, after
 *
 * (1) Callbacks are set by the layer's functions for one call each: of calls that a layer does not know nothing is told, and no struct of callbacks changes its size.
 * (2) The tracer is never taken out: the layer is not unloaded before the process ends. */
#include <dlfcn.h>
#include <stdlib.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_ddi.h>
#include <level_zero/layers/zel_tracing_register_cb.h>

#include "common/probe.h"
#include "common/watch.h"
#include "level_zero/level_zero_calls.h"
#include "level_zero/level_zero_target.h"

#define UNSEEN "Level Zero"
#define LOADER "libze_loader.so.1"

typedef ze_result_t set_callback(zel_tracer_handle_t tracer, zel_tracer_reg_t when, void *callback);

/* The functions that the probe calls itself. */
static bool find_target(void)
{
	void *loader = dlopen(LOADER, RTLD_NOLOAD | RTLD_LAZY);
	bool has_all = loader != NULL;

#define FIND(name)                                                                                 \
	level_zero.name = has_all ? (__typeof__(level_zero.name))dlsym(loader, #name) : NULL;      \
	has_all = has_all && level_zero.name;
	LEVEL_ZERO_FUNCTIONS(FIND)
#undef FIND
	return has_all;
}

static bool set(void *layer, zel_tracer_handle_t tracer, const struct level_zero_hook *hook)
{
	set_callback *set_one = (set_callback *)dlsym(layer, hook->registrar);

	if (!set_one)
		return true; /* of a later version */
	return (!hook->before ||
		set_one(tracer, ZEL_REGISTER_PROLOGUE, hook->before) == ZE_RESULT_SUCCESS) &&
	       set_one(tracer, ZEL_REGISTER_EPILOGUE, hook->after) == ZE_RESULT_SUCCESS;
}

static bool trace(void *layer)
{
	static char ours;
	const zel_tracer_desc_t wanted = { .stype = ZEL_STRUCTURE_TYPE_TRACER_EXP_DESC,
					   .pUserData = &ours };
	zel_pfnGetTracerApiProcAddrTable_t get =
		(zel_pfnGetTracerApiProcAddrTable_t)dlsym(layer, "zelGetTracerApiProcAddrTable");
	zel_tracer_dditable_t table = { 0 };
	zel_tracer_handle_t tracer;

	if (!get || get(ZE_API_VERSION_1_0, &table) != ZE_RESULT_SUCCESS || !table.pfnCreate ||
	    !table.pfnSetEnabled || table.pfnCreate(&wanted, &tracer) != ZE_RESULT_SUCCESS)
		return false;
	for (int i = 0; i < level_zero_n_hooks; i++)
		if (!set(layer, tracer, &level_zero_hooks[i]))
			return false;
	return table.pfnSetEnabled(tracer, true) == ZE_RESULT_SUCCESS;
}

static void layer_appeared(const char *path, uintptr_t base_address)
{
	static bool is_tracing; /* atomic */
	void *layer = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);

	(void)base_address;
	if (!layer || __atomic_exchange_n(&is_tracing, true, __ATOMIC_RELAXED))
		return;
	if (!find_target() || !trace(layer)) {
		tacho_unseen(
			UNSEEN,
			"Level Zero is not recorded: its tracing layer, %s, is not as expected",
			path);
		return;
	}
	pthread_atfork(NULL, NULL, level_zero_calls_after_fork);
	atexit(level_zero_calls_finish);
}

static __attribute__((constructor)) void start(void)
{
	if (tacho_is_alive())
		tacho_watch_library("libze_tracing_layer.so", layer_appeared);
}
