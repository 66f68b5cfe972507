#include "common/demangle.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

/* The library may come later: it is looked for again, a number of times. */
static demangle_function *find_demangle(void)
{
	enum { MAX_TRIES = 100 };
	static demangle_function *found;
	static int n_tries;
	void *library;

	if (found || n_tries > MAX_TRIES)
		return found;
	n_tries++;
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		found = (demangle_function *)dlsym(library, "__cxa_demangle");
	return found;
}

uint32_t demangled_class(enum trace_kind kind, const char *name, size_t length)
{
	demangle_function *demangle = strncmp(name, "_Z", 2) == 0 ? find_demangle() : NULL;
	int status = -1;
	char *written = demangle ? demangle(name, NULL, NULL, &status) : NULL;
	uint32_t class_id = written && status == 0 ? tacho_class(kind, written, strlen(written))
						   : tacho_class(kind, name, length);

	free(written);
	return class_id;
}
