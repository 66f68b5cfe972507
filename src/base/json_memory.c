#include "base/json_memory.h"

#include <stdlib.h>

JsonWriter *json_memory_begin(struct json_memory *memory)
{
	memory->text = NULL;
	memory->n = 0;
	memory->out = open_memstream(&memory->text, &memory->n);
	return memory->out ? json_writer_new(memory->out) : NULL;
}

gchar *json_memory_take(struct json_memory *memory, JsonWriter *writer)
{
	gboolean is_whole = json_writer_finish(writer);
	gchar *text = NULL;

	json_writer_free(writer);
	fclose(memory->out); /* which settles `text` and `n` */
	if (is_whole && memory->text && memory->n)
		text = g_strndup(memory->text, memory->n - 1);
	free(memory->text);
	return text;
}

void json_memory_drop(struct json_memory *memory, JsonWriter *writer)
{
	json_writer_free(writer);
	fclose(memory->out);
	free(memory->text);
}
