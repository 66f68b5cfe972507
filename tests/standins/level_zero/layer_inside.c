/* layer_inside: what the agent does when the tracing layer appears, for the program that has agent and probe compiled in: it is loaded before the loader does. */
#include <dlfcn.h>
#include <stddef.h>

#include "common/watch.h"

int tacho_watch_library(const char *prefix, tacho_library_appeared *appeared)
{
	(void)prefix;
	if (dlopen("libze_tracing_layer.so.1", RTLD_NOW) && dlopen("libze_loader.so.1", RTLD_NOW))
		appeared("libze_tracing_layer.so.1", 0);
	return 0;
}
