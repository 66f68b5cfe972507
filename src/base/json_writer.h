/* json_writer: JSON, written as it goes to a FILE. */
#ifndef TACHO_JSON_WRITER_H
#define TACHO_JSON_WRITER_H

#include <glib.h>
#include <stdio.h>

typedef struct _JsonWriter JsonWriter;

/* A writer to `out`, which stays the caller's and must not be written to until finish(). */
JsonWriter *json_writer_new(FILE *out);
/* Drops what finish() has not written. */
void json_writer_free(JsonWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonWriter, json_writer_free)

void json_writer_begin_object(JsonWriter *writer);
void json_writer_end_object(JsonWriter *writer);
void json_writer_begin_array(JsonWriter *writer);
void json_writer_end_array(JsonWriter *writer);

/* The name of the object's next member; its value must follow. Returns the writer, so that both stand in a line:
 * json_writer_integer(json_writer_key(json, "rank"), rank). */
JsonWriter *json_writer_key(JsonWriter *writer, const gchar *key);

/* Strings may hold anything: what is not UTF-8 becomes U+FFFD. NULL is written as null. */
void json_writer_string(JsonWriter *writer, const gchar *string);
void json_writer_string_length(JsonWriter *writer, const gchar *string, gsize length);
void json_writer_integer(JsonWriter *writer, gint64 value);
void json_writer_unsigned(JsonWriter *writer, guint64 value);
/* The shortest digits that read back as the same value; null where it is not finite. */
void json_writer_number(JsonWriter *writer, gdouble value);
/* The same with a point or an exponent, for readers that hold whole numbers to be of another type. */
void json_writer_real(JsonWriter *writer, gdouble value);
/* Exactly `value` / 10^`decimals`: nanoseconds as "1234.567" microseconds with 3. */
void json_writer_fixed(JsonWriter *writer, gint64 value, guint decimals);
void json_writer_boolean(JsonWriter *writer, gboolean value);
void json_writer_null(JsonWriter *writer);

/* Layout for people: the next member, value or closing bracket begins a line, indented. */
void json_writer_line(JsonWriter *writer);

/* How many bytes were written so far, and their CRC-32, as gzip has it. */
void json_writer_sum(JsonWriter *writer, guint64 *ret_n_bytes, guint32 *ret_crc);

/* Write what is buffered, and a newline. False: not everything could be written; errno says why. */
gboolean json_writer_finish(JsonWriter *writer);
/* Whether writing has failed already, for those who would rather stop early. */
gboolean json_writer_failed(const JsonWriter *writer);

#endif
