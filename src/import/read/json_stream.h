/* json_stream: a large JSON file, walked from the outside in: objects and arrays of any size are entered, what is small
 * in them is loaded and read by json_scan, the rest is passed over.
 *
 *     if (json_stream_enter(stream, '{'))
 *             while (json_stream_member(stream, key))
 *                     if (... the list ... && json_stream_enter(stream, '['))
 *                             while (json_stream_element(stream))
 *                                     json_stream_load(stream, MAX_BYTES, &scan, &offset) ...
 *                     else
 *                             json_stream_skip(stream);
 *
 * (1) Memory holds one loaded value; passing over needs none.
 * (2) Once something is broken, or the file ends, nothing more is found, and json_stream_problem() says why.
 * A stream is for one thread. */
#ifndef TACHO_JSON_STREAM_H
#define TACHO_JSON_STREAM_H

#include "import/read/json_scan.h"

typedef struct json_stream json_stream;

/* Errors name the file. */
struct json_stream *json_stream_open(const gchar *path, GError **error);
void json_stream_close(struct json_stream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_stream, json_stream_close)

/* Go into the object ('{') or array ('[') that comes next. False: what comes is something else, and still there. */
gboolean json_stream_enter(struct json_stream *stream, gchar bracket);
/* The next member of the object that was entered last: its name, as it stands in the file; the value must be entered,
 * loaded or skipped. False: the object is over, or (2). */
gboolean json_stream_member(struct json_stream *stream, GString *key);
/* The same of an array's elements. */
gboolean json_stream_element(struct json_stream *stream);
/* The value that comes next, whole; good until the next call. `*ret_offset`: where it is in the decoded file. False: it
 * is longer than `max_bytes`, and passed over; or (2). */
gboolean json_stream_load(struct json_stream *stream, gsize max_bytes, struct json_scan *ret_scan,
			  guint64 *ret_offset);
void json_stream_skip(struct json_stream *stream);

/* Why nothing more is found: the file, the byte and what is wrong there; NULL: nothing is. */
const gchar *json_stream_problem(const struct json_stream *stream);
/* How much of the file has been read, 0 to 1. */
gdouble json_stream_done(const struct json_stream *stream);

#endif
