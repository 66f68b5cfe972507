/* A preloaded `which_provider` that passes on what the real one says, and adds 100 to show that it
 * was asked; -1: there is no real one. */
#include "common/real_function.h"

#include <stddef.h>

__attribute__((visibility("default"))) int which_provider(void);

int which_provider(void)
{
	static struct real_function real_provider = REAL_FUNCTION_INIT("which_provider");
	int (*real)(void) = real_function(&real_provider, __builtin_return_address(0));

	return real ? 100 + real() : -1;
}
