#include "onnxruntime/ort_library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/probe.h"

#define UNSEEN	      "ONNX Runtime's sessions"
#define FIRST_VERSION 5 /* all but what ort_calls.def says of later ones is there */

/* struct OrtApiBase, which never changes. */
struct api_base {
	void **(*table)(uint32_t version);
	const char *(*version)(void);
};

typedef const struct api_base *get_base(void);

static const struct {
	uint16_t place;
	uint16_t since;
	uint16_t member; /* of struct ort_functions */
} entries[] = {
/* those that are hooked first, as in enum ort_hook */
#define ORT_HOOKED(name, place, since, ...) { place, since, offsetof(struct ort_functions, name) },
#define ORT_HOOKED_FREED(name, place, object)                                                      \
	{ place, FIRST_VERSION, offsetof(struct ort_functions, name) },
#include "onnxruntime/ort_calls.def"
#define ORT_ASKED(name, place, since, ...) { place, since, offsetof(struct ort_functions, name) },
#define ORT_FREED(name, place, object)                                                             \
	{ place, FIRST_VERSION, offsetof(struct ort_functions, name) },
#include "onnxruntime/ort_calls.def"
};
#define N_ENTRIES (sizeof(entries) / sizeof(entries[0]))

struct ort_library ort_libraries[ORT_LIBRARIES];

static void **member_of(struct ort_library *library, size_t entry)
{
	return (void **)(void *)((char *)&library->real + entries[entry].member);
}

/* --- where the table lies ------------------------------------------------------------------- */

/* Memory that a table is in: its object's, and which of it is read-only, in whole pages. */
struct memory {
	uintptr_t address;
	uintptr_t base;
	uintptr_t begin, end; /* the segment that it is in */
	uintptr_t closed_begin, closed_end;
};

static int find_memory(struct dl_phdr_info *info, size_t size, void *memory_pointer)
{
	struct memory *memory = memory_pointer;
	uintptr_t page = ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	uintptr_t closed_begin = 0, closed_end = 0;
	bool is_inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
		uintptr_t end = begin + segment->p_memsz;

		if (segment->p_type == PT_GNU_RELRO) {
			closed_begin = begin & page;
			closed_end = end & page;
		} else if (segment->p_type == PT_LOAD && segment->p_flags & PF_W &&
			   memory->address >= begin && memory->address < end) {
			is_inside = true;
			memory->begin = begin;
			memory->end = end;
		}
	}
	if (!is_inside)
		return 0;
	memory->base = info->dlpi_addr;
	memory->closed_begin = closed_begin;
	memory->closed_end = closed_end;
	return 1;
}

/* Whether the whole table lies in what its object may write, or could before the loader closed it. */
static bool is_in_object(const struct memory *memory, uint32_t version)
{
	for (size_t i = 0; i < N_ENTRIES; i++)
		if (entries[i].since <= version &&
		    memory->address + (entries[i].place + 1u) * sizeof(void *) > memory->end)
			return false;
	return true;
}

/* --- its entries ---------------------------------------------------------------------------- */

/* Exchange the entry, if it has what is expected. */
static void exchange(void **slot, void *expected, void *wanted)
{
	if (expected)
		__atomic_compare_exchange_n(slot, &expected, wanted, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
}

/* (2). False: the table could not be opened. */
static bool lead(struct ort_library *library, int number, bool is_hooked)
{
	struct memory memory = { .address = (uintptr_t)library->table };
	size_t closed_bytes;

	if (!dl_iterate_phdr(find_memory, &memory) || memory.base != library->base)
		return false; /* it has been unloaded */
	closed_bytes = memory.closed_end - memory.closed_begin;
	if (closed_bytes &&
	    mprotect((void *)memory.closed_begin, closed_bytes, PROT_READ | PROT_WRITE) != 0)
		return false;
	for (int hook = 0; hook < ORT_N_HOOKS; hook++) {
		void **slot = library->table + entries[hook].place;
		void *real = *member_of(library, (size_t)hook);
		void *ours = ort_hook_function(hook, number);

		exchange(slot, real ? is_hooked ? real : ours : NULL, is_hooked ? ours : real);
	}
	if (closed_bytes)
		mprotect((void *)memory.closed_begin, closed_bytes, PROT_READ);
	return true;
}

/* A place for a table: a free one, or that of a library which is gone. -1: none. */
static int find_place(void **table)
{
	int place = -1;

	for (int i = 0; i < ORT_LIBRARIES; i++) {
		struct memory memory = { .address = (uintptr_t)ort_libraries[i].table };

		if (ort_libraries[i].table == table)
			return i;
		if (!ort_libraries[i].table || !dl_iterate_phdr(find_memory, &memory) ||
		    memory.base != ort_libraries[i].base)
			place = i;
	}
	return place;
}

static void take_functions(struct ort_library *library, uint32_t version, int number)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		void *function =
			entries[i].since <= version ? library->table[entries[i].place] : NULL;

		/* it was unloaded and came back to the same place, or it never went */
		if (i < ORT_N_HOOKS && function == ort_hook_function((enum ort_hook)i, number))
			continue;
		*member_of(library, i) = function;
	}
}

/* --- the library ---------------------------------------------------------------------------- */

/* The version of the interface: 17 of "1.17.3"; 0: it is none that the table is known of. */
static uint32_t version_of(const struct api_base *base)
{
	const char *text = base->version ? base->version() : NULL;
	unsigned int major = 0, minor = 0;

	if (!text || sscanf(text, "%u.%u", &major, &minor) != 2 || major != 1)
		return 0;
	return minor >= FIRST_VERSION ? minor : 0;
}

static get_base *find_base(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *found = library ? dlsym(library, "OrtGetApiBase") : NULL;

	if (library)
		dlclose(library);
	dlerror();
	return (get_base *)found;
}

static void take_library(const struct api_base *base)
{
	uint32_t version = version_of(base);
	void **table = version && base->table ? base->table(version) : NULL;
	struct memory memory = { .address = (uintptr_t)table };
	int place;

	if (!table || !dl_iterate_phdr(find_memory, &memory) || !is_in_object(&memory, version)) {
		tacho_unseen(UNSEEN,
			     "ONNX Runtime's sessions are not recorded: the table of functions of "
			     "version %s is not one of version 1.5 or later",
			     base->version ? base->version() : "?");
		return;
	}
	place = find_place(table);
	if (place < 0) {
		tacho_unseen(
			UNSEEN,
			"ONNX Runtime's sessions are not recorded in one of its libraries: the "
			"process has more of them than tacho follows");
		return;
	}
	ort_libraries[place].base = memory.base;
	ort_libraries[place].table = table;
	take_functions(&ort_libraries[place], version, place);
	if (!lead(&ort_libraries[place], place, true))
		tacho_unseen(
			UNSEEN,
			"ONNX Runtime's sessions are not recorded: this process may not change "
			"its table of functions (a filter of system calls forbids it?)");
}

void ort_library_found(const void *base)
{
	static uint32_t is_busy;

	/* who comes meanwhile has the same library, or one that is found again */
	if (!base || __atomic_exchange_n(&is_busy, 1, __ATOMIC_ACQUIRE))
		return;
	take_library(base);
	__atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
}

void ort_library_appeared(const char *path)
{
	get_base *get = find_base(path);

	if (get) /* else it is one of its other libraries */
		ort_library_found(get());
}

void ort_libraries_lead(bool is_hooked)
{
	for (int i = 0; i < ORT_LIBRARIES; i++)
		if (ort_libraries[i].table)
			lead(&ort_libraries[i], i, is_hooked);
}
