#include "kernel/call_names.h"

#include <stddef.h>
#include <sys/syscall.h>

/* call_names.inc is made of <sys/syscall.h> by the build (CMakeLists.txt). */
static const struct {
	int number;
	const char *name;
} calls[] = {
#define CALL(name) { SYS_##name, #name },
#include "call_names.inc"
#undef CALL
};

const char *call_name(int number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}
