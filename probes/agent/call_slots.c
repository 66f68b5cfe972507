#include "agent/call_slots.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/text_hash.h"

#if __ELF_NATIVE_CLASS == 64
#define RELOCATION_SYMBOL(info) ELF64_R_SYM(info)
#define RELOCATION_TYPE(info)	ELF64_R_TYPE(info)
#else
#define RELOCATION_SYMBOL(info) ELF32_R_SYM(info)
#define RELOCATION_TYPE(info)	ELF32_R_TYPE(info)
#endif

#if defined(__x86_64__)
#define IS_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_SLOT(type) 0
#endif

#define OWN_PREFIX    "libtacho"
#define LEAST_HOOKS   1024u
#define LEAST_CHANGES 4096u

struct hook {
	const char *name; /* in the library's own strings, which stay; NULL: free */
	uintptr_t address;
};

struct change {
	uintptr_t slot; /* 0: free */
	uintptr_t before;
};

/* What is needed of an object to find its slots. */
struct object {
	uintptr_t base;
	const ElfW(Phdr) * segments;
	int n_segments;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash, *hash;
	const ElfW(Rela) * rows[2];
	size_t n_rows[2];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_leading;
static bool has_failed; /* there was no memory */

/* Open-addressed, sizes powers of 2. */
static struct hook *hooks;
static uint32_t n_hooks, hooks_size;
static struct change *changes;
static uint32_t n_changes, changes_size;

/* --- the tables ----------------------------------------------------------------------------- */

static struct hook *hook_place(const char *name)
{
	for (uint32_t i = text_hash32(name);; i++) {
		struct hook *hook = &hooks[i & (hooks_size - 1)];

		if (!hook->name || strcmp(hook->name, name) == 0)
			return hook;
	}
}

static struct change *change_place(uintptr_t slot)
{
	for (uint64_t i = (slot >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32;; i++) {
		struct change *change = &changes[i & (changes_size - 1)];

		if (!change->slot || change->slot == slot)
			return change;
	}
}

static bool grow_hooks(void)
{
	struct hook *old = hooks;
	uint32_t old_size = hooks_size;

	if (n_hooks * 2 < hooks_size)
		return true;
	hooks = calloc(old_size ? old_size * 2 : LEAST_HOOKS, sizeof(*hooks));
	if (!hooks) {
		hooks = old;
		return false;
	}
	hooks_size = old_size ? old_size * 2 : LEAST_HOOKS;
	for (uint32_t i = 0; i < old_size; i++)
		if (old[i].name)
			*hook_place(old[i].name) = old[i];
	free(old);
	return true;
}

static bool grow_changes(void)
{
	struct change *old = changes;
	uint32_t old_size = changes_size;

	if (n_changes * 2 < changes_size)
		return true;
	changes = calloc(old_size ? old_size * 2 : LEAST_CHANGES, sizeof(*changes));
	if (!changes) {
		changes = old;
		return false;
	}
	changes_size = old_size ? old_size * 2 : LEAST_CHANGES;
	for (uint32_t i = 0; i < old_size; i++)
		if (old[i].slot)
			*change_place(old[i].slot) = old[i];
	free(old);
	return true;
}

static void free_tables(void)
{
	free(hooks);
	free(changes);
	hooks = NULL;
	changes = NULL;
	n_hooks = hooks_size = n_changes = changes_size = 0;
}

/* --- objects -------------------------------------------------------------------------------- */

/* Most loaders have added the base to the pointers already. */
static const void *absolute(const struct object *object, uintptr_t pointer)
{
	return (const void *)(pointer < object->base ? pointer + object->base : pointer);
}

static const ElfW(Dyn) * find_dynamic(const struct object *object)
{
	for (int i = 0; i < object->n_segments; i++)
		if (object->segments[i].p_type == PT_DYNAMIC)
			return (const void *)(object->base + object->segments[i].p_vaddr);
	return NULL;
}

static bool read_object(const struct dl_phdr_info *info, struct object *object)
{
	const ElfW(Dyn) * entry;

	memset(object, 0, sizeof(*object));
	object->base = info->dlpi_addr;
	object->segments = info->dlpi_phdr;
	object->n_segments = info->dlpi_phnum;
	for (entry = find_dynamic(object); entry && entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			object->symbols = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			object->strings = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			object->gnu_hash = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_HASH:
			object->hash = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_JMPREL:
			object->rows[0] = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			object->n_rows[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_RELA:
			object->rows[1] = absolute(object, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			object->n_rows[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
			break;
		case DT_PLTREL:
			if (entry->d_un.d_val != DT_RELA)
				return false;
			break;
		}
	}
	return object->symbols && object->strings;
}

/* How many symbols there are: the hash table has them all, or the last of its chains ends with the last. */
static uint32_t count_symbols(const struct object *object)
{
	uint32_t n_buckets, first, last = 0;
	const uint32_t *buckets, *chains;

	if (object->hash)
		return object->hash[1];
	if (!object->gnu_hash)
		return 0;
	n_buckets = object->gnu_hash[0];
	first = object->gnu_hash[1];
	buckets = object->gnu_hash + 4 +
		  object->gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chains = buckets + n_buckets;
	for (uint32_t i = 0; i < n_buckets; i++)
		if (buckets[i] > last)
			last = buckets[i];
	if (last < first)
		return first;
	while (!(chains[last - first] & 1))
		last++;
	return last + 1;
}

static const char *name_of_file(const struct dl_phdr_info *info)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	return slash ? slash + 1 : info->dlpi_name;
}

static bool is_own(const struct dl_phdr_info *info)
{
	return strncmp(name_of_file(info), OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

/* The loader, libc, and what the kernel puts there call nothing that a probe stands before. */
static bool is_left_alone(const struct dl_phdr_info *info)
{
	const char *name = name_of_file(info);

	return is_own(info) || strncmp(name, "ld-linux", 8) == 0 ||
	       strcmp(name, "libc.so.6") == 0 || strncmp(name, "linux-vdso", 10) == 0;
}

static bool is_within(const struct object *object, uintptr_t address)
{
	for (int i = 0; i < object->n_segments; i++)
		if (object->segments[i].p_type == PT_LOAD &&
		    address - object->base - object->segments[i].p_vaddr <
			    object->segments[i].p_memsz)
			return true;
	return false;
}

/* --- hooks ---------------------------------------------------------------------------------- */

static bool is_hook(const ElfW(Sym) * symbol, const char *name)
{
	return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC &&
	       symbol->st_info >> 4 == STB_GLOBAL && strncmp(name, "tacho_", 6) != 0 &&
	       strncmp(name, "__asan", 6) != 0 && strncmp(name, "__itt", 5) != 0 &&
	       strcmp(name, "InitializeInjectionNvtx2") != 0 &&
	       strcmp(name, "__libc_start_main") != 0;
}

static int collect_hooks(struct dl_phdr_info *info, size_t size, void *unused)
{
	struct object object;
	uint32_t n;

	(void)size, (void)unused;
	if (!is_own(info) || !read_object(info, &object))
		return 0;
	n = count_symbols(&object);
	for (uint32_t i = 0; i < n; i++) {
		const ElfW(Sym) *symbol = &object.symbols[i];
		const char *name = object.strings + symbol->st_name;
		struct hook *hook;

		if (!is_hook(symbol, name))
			continue;
		if (!grow_hooks()) {
			has_failed = true;
			return 1;
		}
		hook = hook_place(name);
		if (hook->name)
			continue; /* two probes stand before it: the first does */
		hook->name = name;
		hook->address = object.base + symbol->st_value;
		n_hooks++;
	}
	return 0;
}

/* --- slots ---------------------------------------------------------------------------------- */

/* What the loader has made read-only after it had bound all, in whole pages. */
static bool find_closed(const struct object *object, uintptr_t *ret_begin, size_t *ret_size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;

	for (int i = 0; i < object->n_segments; i++) {
		if (object->segments[i].p_type != PT_GNU_RELRO)
			continue;
		*ret_begin = (object->base + object->segments[i].p_vaddr) & ~page;
		*ret_size = ((object->base + object->segments[i].p_vaddr +
			      object->segments[i].p_memsz) &
			     ~page) -
			    *ret_begin;
		return *ret_size > 0;
	}
	return false;
}

struct closed {
	uintptr_t begin;
	size_t size;
	bool is_there, is_open, stays_shut;
};

static bool open_slot(struct closed *closed, uintptr_t slot)
{
	if (!closed->is_there || slot - closed->begin >= closed->size || closed->is_open)
		return true;
	if (!closed->stays_shut &&
	    mprotect((void *)closed->begin, closed->size, PROT_READ | PROT_WRITE) == 0)
		closed->is_open = true;
	else
		closed->stays_shut = true;
	return closed->is_open;
}

static void shut(const struct closed *closed)
{
	if (closed->is_open)
		mprotect((void *)closed->begin, closed->size, PROT_READ);
}

/* Lead the slot. That of a function of another object, in which there is an address of this one, is no call: a program
 * that is not position-independent has its own address for it. */
static void lead(const struct object *object, struct closed *closed, const ElfW(Rela) * row,
		 bool is_call)
{
	size_t number = RELOCATION_SYMBOL(row->r_info);
	const char *name = object->strings + object->symbols[number].st_name;
	uintptr_t *slot = (uintptr_t *)(object->base + row->r_offset);
	const struct hook *hook = hook_place(name);
	struct change *change;

	if (!hook->name || *slot == hook->address || !*slot)
		return;
	if (!is_call && object->symbols[number].st_shndx == SHN_UNDEF && is_within(object, *slot))
		return;
	if (!grow_changes() || !open_slot(closed, (uintptr_t)slot))
		return;
	change = change_place((uintptr_t)slot);
	n_changes += !change->slot;
	change->slot = (uintptr_t)slot;
	change->before = __atomic_exchange_n(slot, hook->address, __ATOMIC_SEQ_CST);
}

static void put_back(const struct object *object, struct closed *closed, const ElfW(Rela) * row)
{
	uintptr_t *slot = (uintptr_t *)(object->base + row->r_offset);
	const struct change *change = change_place((uintptr_t)slot);
	const struct hook *hook = hook_place(
		object->strings + object->symbols[RELOCATION_SYMBOL(row->r_info)].st_name);
	uintptr_t expected = hook->address;

	if (change->slot && hook->name && *slot == expected && open_slot(closed, (uintptr_t)slot))
		__atomic_compare_exchange_n(slot, &expected, change->before, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static void visit_slots(const struct dl_phdr_info *info, bool leads)
{
	struct closed closed = { 0 };
	struct object object;

	if (is_left_alone(info) || !read_object(info, &object))
		return;
	closed.is_there = find_closed(&object, &closed.begin, &closed.size);
	for (int table = 0; table < 2; table++) {
		for (size_t i = 0; object.rows[table] && i < object.n_rows[table]; i++) {
			const ElfW(Rela) *row = &object.rows[table][i];

			if (!IS_SLOT(RELOCATION_TYPE(row->r_info)) ||
			    !RELOCATION_SYMBOL(row->r_info))
				continue;
			if (leads)
				lead(&object, &closed, row, table == 0);
			else
				put_back(&object, &closed, row);
		}
	}
	shut(&closed);
}

static int lead_object(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	if (!base || *(const uintptr_t *)base == info->dlpi_addr)
		visit_slots(info, true);
	return 0;
}

static int restore_object(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size, (void)unused;
	visit_slots(info, false);
	return 0;
}

/* -------------------------------------------------------------------------------------------- */

int call_slots_lead(void)
{
	int n = -ENOMEM;

	pthread_mutex_lock(&lock);
	has_failed = false;
	dl_iterate_phdr(collect_hooks, NULL);
	if (!has_failed && grow_hooks() && grow_changes()) {
		is_leading = true;
		dl_iterate_phdr(lead_object, NULL);
		n = (int)n_changes;
	} else {
		free_tables();
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void call_slots_restore(void)
{
	pthread_mutex_lock(&lock);
	if (is_leading) {
		dl_iterate_phdr(restore_object, NULL);
		is_leading = false;
		free_tables();
	}
	pthread_mutex_unlock(&lock);
}

void call_slots_object_appeared(uintptr_t base_address)
{
	pthread_mutex_lock(&lock);
	if (is_leading)
		dl_iterate_phdr(lead_object, &base_address);
	pthread_mutex_unlock(&lock);
}

uint32_t call_slots_count(void)
{
	return __atomic_load_n(&n_changes, __ATOMIC_RELAXED);
}
