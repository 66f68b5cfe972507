/* elf_imports: does a loaded object reach a function through the loader? Only then can a probe stand
 * before it; a library that was linked in statically is called directly.
 *
 * It reads the object's relocations, as the loader has mapped them. libc only. */
#ifndef TACHO_ELF_IMPORTS_H
#define TACHO_ELF_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the object at `base_address` (dl_phdr_info.dlpi_addr) has a relocation against one of
 * the `n_names` symbols. True as well when the object cannot be read: then nothing is known. */
bool elf_imports_any(uintptr_t base_address, const char *const *names, size_t n_names);

#endif
