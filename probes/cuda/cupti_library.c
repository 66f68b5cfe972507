#include "cuda/cupti_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUPTI_VARIABLE "TACHO_CUPTI" /* path of the library to use */

/* By what programs link, the newest first. */
static const char *const names[] = {
	"libcupti.so.13",   "libcupti.so.12",	"libcupti.so.11.8", "libcupti.so.11.7",
	"libcupti.so.11.6", "libcupti.so.11.5", "libcupti.so.11.4", "libcupti.so.11.3",
	"libcupti.so.11.2", "libcupti.so.11.1", "libcupti.so",
};

#define RUNTIME "libcudart.so."

/* Where CUPTI lies from the folder of CUDA's runtime library: a wheel's, a toolkit's. */
static const char *const folders[] = { "", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/",
				       "../../extras/CUPTI/lib64/" };

static void *open_loaded(void)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			return library;
	}
	return NULL;
}

struct search {
	void *library;
	const char *
		name; /* "libcupti.so.12": of the major of the runtime library that is loaded; NULL: it is not known */
};

static const char *name_of_major(const char *major)
{
	size_t n = strspn(major, "0123456789");

	for (size_t i = 0; n && i < sizeof(names) / sizeof(*names); i++) {
		const char *of_name = names[i] + strlen("libcupti.so.");

		if (strlen(names[i]) > strlen("libcupti.so.") && strncmp(of_name, major, n) == 0)
			return names[i];
	}
	return NULL;
}

static int look_beside(struct dl_phdr_info *info, size_t size, void *search_pointer)
{
	struct search *search = search_pointer;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	char path[1024];

	(void)size;
	if (!slash || strncmp(slash + 1, RUNTIME, strlen(RUNTIME)) != 0)
		return 0;
	search->name = name_of_major(slash + 1 + strlen(RUNTIME));
	for (size_t f = 0; f < sizeof(folders) / sizeof(*folders); f++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			int length = snprintf(path, sizeof(path), "%.*s/%s%s",
					      (int)(slash - info->dlpi_name), info->dlpi_name,
					      folders[f], names[i]);

			if (length > 0 && length < (int)sizeof(path))
				search->library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
			if (search->library)
				return 1;
		}
	}
	return 0;
}

static void *open_library(void)
{
	const char *named = getenv(CUPTI_VARIABLE);
	struct search search = { NULL, NULL };

	if (named && *named)
		return dlopen(named, RTLD_LAZY | RTLD_LOCAL);
	search.library = open_loaded();
	if (!search.library)
		dl_iterate_phdr(look_beside, &search);
	if (!search.library && search.name)
		search.library = dlopen(search.name, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; !search.library && i < sizeof(names) / sizeof(*names); i++)
		search.library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
	return search.library;
}

bool cupti_load(struct cupti *cupti, char *why, size_t why_size)
{
	void *library = open_library();
	Dl_info info;

	if (!library) {
		const char *error = getenv(CUPTI_VARIABLE) ? dlerror() : NULL;

		snprintf(
			why, why_size, "%s",
			error ? error
			      : "there is no libcupti.so for it to load; install CUPTI (the Python "
				"package nvidia-cuda-cupti has it), or name it in TACHO_CUPTI");
		return false;
	}
#define CUPTI_FIND(name, parameters, is_needed)                                                    \
	*(void **)&cupti->name = dlsym(library, "cupti" #name);                                    \
	if (is_needed && !cupti->name) {                                                           \
		snprintf(why, why_size, "the libcupti.so that was found has no cupti" #name);      \
		return false;                                                                      \
	}
	CUPTI_FUNCTIONS(CUPTI_FIND)
#undef CUPTI_FIND
	if (dladdr((void *)cupti->GetVersion, &info) && info.dli_fname)
		snprintf(cupti->path, sizeof(cupti->path), "%s", info.dli_fname);
	cupti->library = library;
	if (cupti->GetVersion(&cupti->version) != CUPTI_SUCCESS)
		cupti->version = 0;
	return true;
}

const char *cupti_words(const struct cupti *cupti, int result)
{
	const char *text = NULL;

	if (!cupti->GetResultString || cupti->GetResultString(result, &text) != CUPTI_SUCCESS)
		text = NULL;
	return text ? text : "an error that it has no words for";
}
