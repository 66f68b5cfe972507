/* proto_json: a message that protobuf-c has unpacked, as JSON, by the names of its .proto file. */
#ifndef TACHO_PROTO_JSON_H
#define TACHO_PROTO_JSON_H

#include <protobuf-c/protobuf-c.h>

#include "base/json_writer.h"

/* Write the message as an object: every field that is there, but the `n_without` that are named. Entries of a
 * map ("key" and "value") are an array of objects. Bytes are texts where they are UTF-8, else {"bytes": how
 * many}; unknown fields are counted in "unknown_fields". */
void proto_json_write(JsonWriter *writer, const ProtobufCMessage *message,
		      const gchar *const *without, guint n_without);

#endif
