#include "torch_symbols.h"

#include <dlfcn.h>
#include <string.h>

/* An address becomes a function's or a variable's, whatever the member's type. */
static bool find(void *library, const char *name, void *member)
{
	void *address = dlsym(library, name);

	memcpy(member, &address, sizeof(address));
	return address != NULL;
}

const char *torch_symbols_find(struct torch_symbols *symbols, const char *path)
{
	/* never closed: what PyTorch is given of us calls back for as long as the process lives */
	void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return "libtorch_cpu.so";
#define TORCH_SYMBOL(member, name, type)                                                           \
	if (!find(library, name, &symbols->member))                                                \
		return name;
#define TORCH_CHOICE(member, name, type) find(library, name, &symbols->member);
#include "torch_symbols.def"
#undef TORCH_SYMBOL
#undef TORCH_CHOICE
	return symbols->before_text || symbols->before_descriptor ? NULL : "RecordFunction::before";
}
