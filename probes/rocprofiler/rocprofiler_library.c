#include "rocprofiler/rocprofiler_library.h"

#include <dlfcn.h>
#include <string.h>

const char *rocp_load(struct rocp *rocp, const void *caller)
{
	void *library = NULL;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname)
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		library = dlopen(NULL, RTLD_LAZY); /* it is the program itself */
	rocp->handle = library;
#define ROCP_FIND(name, parameters)                                                                \
	*(void **)&rocp->name = dlsym(library, "rocprofiler_" #name);                              \
	if (!rocp->name)                                                                           \
		return "rocprofiler_" #name;
	ROCP_FUNCTIONS(ROCP_FIND)
#undef ROCP_FIND
	return NULL;
}

typedef int query_name(int32_t kind, const char **name, uint64_t *length);

struct looked_for {
	query_name *query;
	const char *name;
	int32_t kind;
};

static int look_at(int32_t kind, void *data)
{
	struct looked_for *looked_for = data;
	const char *name = NULL;
	uint64_t length = 0;

	if (looked_for->query(kind, &name, &length) == ROCP_SUCCESS && name &&
	    strcmp(name, looked_for->name) == 0)
		looked_for->kind = kind;
	return 0;
}

int32_t rocp_buffer_kind(const struct rocp *rocp, const char *name)
{
	struct looked_for looked_for = { rocp->query_buffer_tracing_kind_name, name, -1 };

	rocp->iterate_buffer_tracing_kinds(look_at, &looked_for);
	return looked_for.kind;
}

int32_t rocp_callback_kind(const struct rocp *rocp, const char *name)
{
	struct looked_for looked_for = { rocp->query_callback_tracing_kind_name, name, -1 };

	rocp->iterate_callback_tracing_kinds(look_at, &looked_for);
	return looked_for.kind;
}
