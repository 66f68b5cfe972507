#include "common/elf_imports.h"

#include <link.h>
#include <string.h>

#if __ELF_NATIVE_CLASS == 64
#define RELOCATION_SYMBOL(info) ELF64_R_SYM(info)
#else
#define RELOCATION_SYMBOL(info) ELF32_R_SYM(info)
#endif

/* One table of relocations. */
struct relocations {
	const ElfW(Rela) * rows;
	size_t size_bytes;
};

/* What is needed of an object's dynamic section. */
struct dynamic {
	uintptr_t base;
	const ElfW(Dyn) * entries;
	const ElfW(Sym) * symbols;
	const char *strings;
	struct relocations calls; /* the procedure linkage table's */
	struct relocations data;  /* addresses taken, and calls bound at start */
	bool has_rela;
};

static int visit_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct dynamic *dynamic = data;

	(void)size;
	if (info->dlpi_addr != dynamic->base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic->entries = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return 1;
}

/* Most loaders have added the base to the pointers already. */
static const void *absolute(const struct dynamic *dynamic, uintptr_t pointer)
{
	return (const void *)(pointer < dynamic->base ? pointer + dynamic->base : pointer);
}

static bool read_dynamic(struct dynamic *dynamic)
{
	if (!dl_iterate_phdr(visit_object, dynamic) || !dynamic->entries)
		return false;
	for (const ElfW(Dyn) *entry = dynamic->entries; entry->d_tag != DT_NULL; entry++) {
		switch (entry->d_tag) {
		case DT_SYMTAB:
			dynamic->symbols = absolute(dynamic, entry->d_un.d_ptr);
			break;
		case DT_STRTAB:
			dynamic->strings = absolute(dynamic, entry->d_un.d_ptr);
			break;
		case DT_JMPREL:
			dynamic->calls.rows = absolute(dynamic, entry->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			dynamic->calls.size_bytes = entry->d_un.d_val;
			break;
		case DT_RELA:
			dynamic->has_rela = true;
			dynamic->data.rows = absolute(dynamic, entry->d_un.d_ptr);
			break;
		case DT_RELASZ:
			dynamic->data.size_bytes = entry->d_un.d_val;
			break;
		case DT_PLTREL:
			if (entry->d_un.d_val != DT_RELA)
				return false;
			dynamic->has_rela = true;
			break;
		}
	}
	return dynamic->symbols && dynamic->strings && dynamic->has_rela;
}

static bool is_one_of(const char *name, const char *const *names, size_t n_names)
{
	for (size_t i = 0; i < n_names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool mentions_any(const struct dynamic *dynamic, const struct relocations *relocations,
			 const char *const *names, size_t n_names)
{
	size_t n_rows = relocations->rows ? relocations->size_bytes / sizeof(ElfW(Rela)) : 0;

	for (size_t i = 0; i < n_rows; i++) {
		size_t symbol = RELOCATION_SYMBOL(relocations->rows[i].r_info);
		const char *name = dynamic->strings + dynamic->symbols[symbol].st_name;

		if (symbol && is_one_of(name, names, n_names))
			return true;
	}
	return false;
}

bool elf_imports_any(uintptr_t base_address, const char *const *names, size_t n_names)
{
	struct dynamic dynamic = { .base = base_address };

	if (!read_dynamic(&dynamic))
		return true;
	return mentions_any(&dynamic, &dynamic.calls, names, n_names) ||
	       mentions_any(&dynamic, &dynamic.data, names, n_names);
}
