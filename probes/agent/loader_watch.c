#include "agent/loader_watch.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "agent/engine.h"
#include "common/watch.h"

#define MAX_WATCHES 32
#define MAX_NEW	    512 /* objects in one go; the rest is told of at the next check */

struct object {
	uintptr_t base;
	uintptr_t name; /* address of the loader's string: with base, who it is */
};

struct object_list {
	struct object *objects;
	size_t n, allocated;
};

struct new_object {
	char path[PATH_MAX];
	uintptr_t base;
};

struct survey {
	struct object_list now;
	const void *caller;
	struct new_object *appeared;
	size_t n_appeared;
	bool is_caller_new, has_failed;
};

static struct watch {
	const char *prefix;
	tacho_library_appeared *appeared;
} watches[MAX_WATCHES];
static int n_watches;

static struct object_list known;
static unsigned long long changes_seen; /* atomic: the loader's counts at the last check */
static int is_checking;

/* Unloading counts, too: what is loaded to the same place later is to be new. */
static int read_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
	(void)size;
	*(unsigned long long *)changes = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

static bool list_has(const struct object_list *list, struct object object)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->objects[i].base == object.base && list->objects[i].name == object.name)
			return true;
	return false;
}

static bool list_add(struct object_list *list, struct object object)
{
	if (list->n == list->allocated) {
		size_t wanted = list->allocated ? list->allocated * 2 : 256;
		struct object *objects = realloc(list->objects, wanted * sizeof(*objects));

		if (!objects)
			return false;
		list->objects = objects;
		list->allocated = wanted;
	}
	list->objects[list->n++] = object;
	return true;
}

static bool holds_address(const struct dl_phdr_info *info, const void *address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && (uintptr_t)address >= begin &&
		    (uintptr_t)address < begin + info->dlpi_phdr[i].p_memsz)
			return true;
	}
	return false;
}

static int survey_object(struct dl_phdr_info *info, size_t size, void *survey_pointer)
{
	struct survey *survey = survey_pointer;
	struct object object = { info->dlpi_addr, (uintptr_t)info->dlpi_name };
	struct new_object *appeared;

	(void)size;
	if (list_has(&known, object)) {
		survey->has_failed |= !list_add(&survey->now, object);
		return survey->has_failed;
	}
	if (survey->caller && holds_address(info, survey->caller))
		survey->is_caller_new = true;
	if (survey->n_appeared == MAX_NEW)
		return 0; /* still unknown at the next check */
	survey->has_failed |= !list_add(&survey->now, object);
	appeared = &survey->appeared[survey->n_appeared++];
	appeared->base = info->dlpi_addr;
	appeared->path[0] = '\0';
	strncat(appeared->path, info->dlpi_name, sizeof(appeared->path) - 1);
	return survey->has_failed;
}

static void tell(const struct watch *watch, const char *path, uintptr_t base)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	if (strncmp(name, watch->prefix, strlen(watch->prefix)) == 0)
		watch->appeared(path, base);
}

struct check {
	const void *caller;
	unsigned long long changes;
};

static void check(void *check_pointer)
{
	const struct check *asked = check_pointer;
	struct survey survey = { .caller = asked->caller };

	survey.appeared = malloc(MAX_NEW * sizeof(*survey.appeared));
	if (!survey.appeared)
		return;
	dl_iterate_phdr(survey_object, &survey);
	if (survey.has_failed || survey.is_caller_new) {
		free(survey.now.objects);
	} else {
		free(known.objects);
		known = survey.now;
		if (survey.n_appeared < MAX_NEW)
			__atomic_store_n(&changes_seen, asked->changes, __ATOMIC_RELEASE);
		for (size_t i = 0; i < survey.n_appeared; i++)
			for (int w = 0; w < __atomic_load_n(&n_watches, __ATOMIC_ACQUIRE); w++)
				tell(&watches[w], survey.appeared[i].path, survey.appeared[i].base);
	}
	free(survey.appeared);
}

void loader_watch_check_from(const void *caller)
{
	struct check asked = { .caller = caller };

	if (!__atomic_load_n(&n_watches, __ATOMIC_ACQUIRE) || !tacho_is_alive() ||
	    engine_starts_threads)
		return;
	dl_iterate_phdr(read_changes, &asked.changes);
	if (asked.changes == __atomic_load_n(&changes_seen, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&is_checking, 1, __ATOMIC_ACQ_REL))
		return;
	tacho_run_aside(check, &asked);
	__atomic_store_n(&is_checking, 0, __ATOMIC_RELEASE);
}

static int tell_of_known(struct dl_phdr_info *info, size_t size, void *paths)
{
	struct survey *survey = paths;
	struct object object = { info->dlpi_addr, (uintptr_t)info->dlpi_name };

	(void)size;
	if (list_has(&known, object) && survey->n_appeared < MAX_NEW) {
		struct new_object *appeared = &survey->appeared[survey->n_appeared++];

		appeared->base = info->dlpi_addr;
		appeared->path[0] = '\0';
		strncat(appeared->path, info->dlpi_name, sizeof(appeared->path) - 1);
	}
	return 0;
}

int tacho_watch_library(const char *prefix, tacho_library_appeared *appeared)
{
	struct survey survey = { 0 };
	int place = __atomic_load_n(&n_watches, __ATOMIC_ACQUIRE);

	if (place >= MAX_WATCHES)
		return -ENOMEM;
	watches[place].prefix = prefix;
	watches[place].appeared = appeared;
	__atomic_store_n(&n_watches, place + 1, __ATOMIC_RELEASE);
	if (!known.n)
		return 0; /* the first check tells of everything */
	survey.appeared = malloc(MAX_NEW * sizeof(*survey.appeared));
	if (!survey.appeared)
		return -ENOMEM;
	dl_iterate_phdr(tell_of_known, &survey);
	for (size_t i = 0; i < survey.n_appeared; i++)
		tell(&watches[place], survey.appeared[i].path, survey.appeared[i].base);
	free(survey.appeared);
	return 0;
}

void loader_watch_after_fork(void)
{
	is_checking = 0;
}
