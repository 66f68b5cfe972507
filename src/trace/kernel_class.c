/* Names of operations mean the same everywhere, so they are compared as a whole where they are short; names of
 * kernels hold their template's arguments, so they are known by a part. */
#include "trace/kernel_class.h"

#include <string.h>

#include "trace/name_meaning.h"

struct rule {
	const gchar *name;
	gboolean is_part;
	enum kernel_class class;
};

static const struct rule operations[] = {
#define OPERATION(name, class)	    { name, FALSE, KERNEL_##class },
#define OPERATION_WITH(name, class) { name, TRUE, KERNEL_##class },
#define KERNEL(name, class)
#include "trace/kernel_classes.def"
#undef OPERATION
#undef OPERATION_WITH
#undef KERNEL
};

static const struct rule kernels[] = {
#define OPERATION(name, class)
#define OPERATION_WITH(name, class)
#define KERNEL(name, class) { name, TRUE, KERNEL_##class },
#include "trace/kernel_classes.def"
#undef OPERATION
#undef OPERATION_WITH
#undef KERNEL
};

static const struct {
	const gchar *name;
	gboolean is_arithmetic;
} classes[] = {
#define KERNEL_CLASS_ROW(enumerator, name, is_arithmetic) { name, is_arithmetic },
	KERNEL_CLASSES(KERNEL_CLASS_ROW)
#undef KERNEL_CLASS_ROW
};

/* The length of the name's plain part: "add" of "aten::_add_". */
static gsize plain_part(const gchar **name)
{
	const gchar *scope = strstr(*name, "::");
	gsize length;

	if (scope)
		*name = scope + strlen("::");
	*name += strspn(*name, "_");
	length = strlen(*name);
	while (length && (*name)[length - 1] == '_')
		length--;
	return length;
}

static guint judge_operation(const gchar *name)
{
	const gchar *plain = name;
	gsize length = plain_part(&plain);

	if (g_str_has_prefix(name, "c10d::") || strstr(name, "nccl"))
		return KERNEL_COLLECTIVE;
	for (guint i = 0; i < G_N_ELEMENTS(operations); i++)
		if (operations[i].is_part ? strstr(plain, operations[i].name) != NULL
					  : strlen(operations[i].name) == length &&
						    strncmp(plain, operations[i].name, length) == 0)
			return operations[i].class;
	return KERNEL_OTHER;
}

static guint judge_kernel(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(kernels); i++)
		if (strcasestr(name, kernels[i].name))
			return kernels[i].class;
	return KERNEL_OTHER;
}

enum kernel_class kernel_class_of_operation(const TachoTimeline *timeline, guint32 name)
{
	return (enum kernel_class)name_meaning(timeline, name, NAME_OF_OPERATION, judge_operation);
}

enum kernel_class kernel_class_of_kernel(const TachoTimeline *timeline, guint32 name)
{
	return (enum kernel_class)name_meaning(timeline, name, NAME_OF_KERNEL, judge_kernel);
}

const gchar *kernel_class_name(enum kernel_class class)
{
	return classes[class].name;
}

enum kernel_class kernel_class_find(const gchar *name)
{
	guint i = 0;

	while (i < N_KERNEL_CLASSES && strcmp(classes[i].name, name) != 0)
		i++;
	return (enum kernel_class)i;
}

gboolean kernel_class_is_arithmetic(enum kernel_class class)
{
	return classes[class].is_arithmetic;
}
