/* json_memory: a JSON text made in memory by a JsonWriter. */
#ifndef TACHO_JSON_MEMORY_H
#define TACHO_JSON_MEMORY_H

#include "base/json_writer.h"

struct json_memory {
	FILE *out;
	gchar *text;
	gsize n;
};

/* A writer to begin a text with, or NULL: no memory. It is ended by json_memory_take() or
 * json_memory_drop(). */
JsonWriter *json_memory_begin(struct json_memory *memory);
/* The text without a newline behind it, to be freed with g_free(); NULL: no memory. */
gchar *json_memory_take(struct json_memory *memory, JsonWriter *writer);
void json_memory_drop(struct json_memory *memory, JsonWriter *writer);

#endif
