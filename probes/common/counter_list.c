#include "common/counter_list.h"

#include <string.h>

bool counter_list_parse(struct counter_list *list, const char *text, const char *default_text)
{
	char *rest = list->text, *name;
	size_t length;

	list->n = 0;
	list->is_default = strcmp(text, "default") == 0;
	if (list->is_default)
		text = default_text;
	length = strnlen(text, COUNTERS_TEXT_BYTES);
	if (length == COUNTERS_TEXT_BYTES)
		return false;
	memcpy(list->text, text, length + 1);
	while ((name = strsep(&rest, ","))) {
		if (!*name)
			continue;
		if (list->n == COUNTERS_MOST)
			return false;
		list->names[list->n++] = name;
	}
	return true;
}
