/* torch_symbols: what the probe calls in libtorch, found by its exported (mangled) names: no header of PyTorch's
 * and no compiler are needed, and the job's libtorch is not linked against. */
#ifndef TACHO_TORCH_SYMBOLS_H
#define TACHO_TORCH_SYMBOLS_H

#include "torch_abi.h"

struct torch_symbols {
#define TORCH_SYMBOL(member, name, type) __typeof__(type) member;
#define TORCH_CHOICE			 TORCH_SYMBOL
#include "torch_symbols.def"
#undef TORCH_SYMBOL
#undef TORCH_CHOICE
};

/* Find all of them in the libtorch_cpu.so at `path`, which the process has loaded, or in what that has loaded.
 * NULL: done; else the (mangled) name of the first that is missing, or "libtorch_cpu.so". */
const char *torch_symbols_find(struct torch_symbols *symbols, const char *path);

#endif
