#include "common/real_function.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "common/probe.h"

/* a library that has this file need not have the agent */
#pragma weak tacho_run_aside
#pragma weak tacho_scope

/* The object that an address lies in. */
struct object {
	uintptr_t address;
	uintptr_t start, end;
	char path[PATH_MAX]; /* "": the program itself */
};

/* Whether `info` is the object wanted; then its extent is filled in. */
static bool describes(const struct dl_phdr_info *info, struct object *object)
{
	uintptr_t start = UINTPTR_MAX, end = 0;
	bool is_inside = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t segment_start = info->dlpi_addr + segment->p_vaddr;
		uintptr_t segment_end = segment_start + segment->p_memsz;

		if (segment->p_type != PT_LOAD)
			continue;
		if (object->address >= segment_start && object->address < segment_end)
			is_inside = true;
		if (segment_start < start)
			start = segment_start;
		if (segment_end > end)
			end = segment_end;
	}
	if (!is_inside)
		return false;
	object->start = start;
	object->end = end;
	return true;
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *object = data;
	size_t length = strlen(info->dlpi_name);

	(void)size;
	if (!describes(info, object))
		return 0;
	if (length < sizeof(object->path))
		memcpy(object->path, info->dlpi_name, length + 1);
	return 1;
}

static bool find_object(const void *address, struct object *object)
{
	object->address = (uintptr_t)address;
	object->path[0] = '\0';
	return dl_iterate_phdr(visit_object, object) == 1;
}

/* Whether `function` is the probe's own definition. */
static bool is_ours(void *function)
{
	static char here;
	Dl_info found, ours;

	return dladdr(function, &found) && dladdr(&here, &ours) &&
	       found.dli_fbase == ours.dli_fbase;
}

/* The definition that an object at `path` and its dependencies have. */
static void *search_object(const char *path, const char *name)
{
	void *handle = path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found;

	if (!handle)
		return NULL;
	found = dlsym(handle, name);
	dlclose(handle);
	return found && !is_ours(found) ? found : NULL;
}

/* The object that is `index`th in the loader's list. */
struct nth_object {
	size_t index;
	char path[PATH_MAX];
};

static int visit_nth_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct nth_object *object = data;
	size_t length = strlen(info->dlpi_name);

	(void)size;
	if (object->index--)
		return 0;
	object->path[0] = '\0';
	if (length < sizeof(object->path))
		memcpy(object->path, info->dlpi_name, length + 1);
	return 1;
}

/* Any definition in the process. One object at a time, because the loader's locks must not be held
 * when dlopen() is called. */
static void *search_process(const char *name)
{
	struct nth_object object;
	void *found = NULL;

	for (size_t i = 0; !found; i++) {
		object.index = i;
		if (!dl_iterate_phdr(visit_nth_object, &object))
			break;
		found = search_object(object.path, name);
	}
	return found;
}

/* What was found stays loaded, so that what was kept stays right. */
static void pin(void *function)
{
	Dl_info info;

	if (dladdr(function, &info) && info.dli_fname && info.dli_fname[0]) {
		void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

		if (handle)
			dlclose(handle);
	}
}

static void keep(struct real_function *function, uintptr_t start, uintptr_t end, void *found)
{
	struct real_function_caller *kept;
	uint32_t i;

	/* When the table is full every further caller searches each time: slow, but right. */
	if (__atomic_load_n(&function->n_callers, __ATOMIC_RELAXED) >= REAL_FUNCTION_CALLERS)
		return;
	i = __atomic_fetch_add(&function->n_callers, 1, __ATOMIC_RELAXED);
	if (i >= REAL_FUNCTION_CALLERS)
		return;
	kept = &function->callers[i];
	kept->start = start;
	kept->end = end;
	__atomic_store_n(&kept->function, found, __ATOMIC_RELEASE);
}

static void *search(struct real_function *function, const char *name, const void *caller)
{
	struct object object;
	void *found = dlsym(tacho_scope ? tacho_scope() : RTLD_NEXT, name);

	if (found && !is_ours(found)) {
		/* The global scope is the same for every caller, and only ever grows behind. */
		pin(found);
		keep(function, 0, UINTPTR_MAX, found);
		return found;
	}
	if (!find_object(caller, &object))
		object.start = object.end = 0;
	found = search_object(object.path, name);
	if (!found)
		found = search_process(name);
	if (found) {
		pin(found);
		keep(function, object.start, object.end, found);
	}
	dlerror(); /* the message of a search of ours is not for the program to see */
	return found;
}

struct search {
	struct real_function *function;
	const char *name;
	const void *caller;
	void *found;
};

static void run_search(void *search_pointer)
{
	struct search *wanted = search_pointer;

	wanted->found = search(wanted->function, wanted->name, wanted->caller);
}

void *real_function_search(struct real_function *function, const char *name, const void *caller)
{
	struct search wanted = { .function = function, .name = name, .caller = caller };

	/* Without the agent, or memory for another stack, the caller's must do: it waits for an answer. */
	if (!tacho_run_aside || !tacho_run_aside(run_search, &wanted))
		run_search(&wanted);
	return wanted.found;
}
