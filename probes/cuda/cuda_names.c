#include "cuda/cuda_names.h"

#include <string.h>

#include "common/demangle.h"

#define N_KEPT 8192 /* names, a power of 2 */
#define KEPT_BYTES                                                                                 \
	56 /* of each that are compared: a module that is unloaded leaves its addresses to another */

static struct kept {
	const char *name;
	uint32_t class_id;
	char text[KEPT_BYTES];
} kept[N_KEPT];

uint32_t cuda_kernel_class(const char *name)
{
	struct kept *place;

	if (!name)
		name = "?";
	place = &kept[((uintptr_t)name >> 3 ^ (uintptr_t)name >> 16) % N_KEPT];
	if (place->name == name && strncmp(place->text, name, KEPT_BYTES - 1) == 0)
		return place->class_id;
	place->class_id = demangled_class(TRACE_KIND_DEVICE_KERNEL, name, strlen(name));
	place->name = place->class_id ? name : NULL;
	strncpy(place->text, name, KEPT_BYTES - 1);
	return place->class_id;
}
