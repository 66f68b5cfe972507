/* strict_json: JSON files whose members are all known: what is missing, stands twice, is of another type or out of its range is an error
 * that names the byte.
 *
 * (1) The first error counts: after it, all readers return FALSE, and strict_json_finish() tells it.
 * (2) Nothing is allocated by the counts that a file claims. */
#ifndef TACHO_STRICT_JSON_H
#define TACHO_STRICT_JSON_H

#include "import/read/json_scan.h"

#define STRICT_JSON_MAX_COUNT (G_GUINT64_CONSTANT(1) << 53)

typedef struct {
	struct json_scan scan;
	gchar *begin;	   /* a copy with padding; owned */
	const gchar *what; /* "the statistics"; static */
	GQuark domain;
	gint code; /* of errors */
	GError *error;
} StrictJson;

/* Begin to read `n` bytes, which are copied. */
void strict_json_init(StrictJson *reader, const gchar *text, gsize n, const gchar *what,
		      GQuark domain, gint code);
void strict_json_release(StrictJson *reader);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StrictJson, strict_json_release)

/* Set the error, unless there is one; FALSE. */
gboolean strict_json_refuse(StrictJson *reader, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
/* Go into an object ('{') or a list ('['). */
gboolean strict_json_enter(StrictJson *reader, gchar bracket, const gchar *what);
/* The next member of the object: which of `keys` (up to 64, NULL behind the last); -1: there is none, or an error. `*seen` has a bit for each
 * that was there, 0 at first. */
gint strict_json_key(StrictJson *reader, const gchar *const *keys, guint64 *seen);
/* The same of a file to which later writers add members: others are passed over. */
gint strict_json_known_key(StrictJson *reader, const gchar *const *keys, guint64 *seen);
/* After the last member: those whose bits are in `wanted` were there. */
gboolean strict_json_leave(StrictJson *reader, const gchar *const *keys, guint64 seen,
			   guint64 wanted);
/* The next name of an object whose members have any names; the caller's. NULL: there is none, or an error. */
gchar *strict_json_any_key(StrictJson *reader);
/* The next element of a list. FALSE: there is none, or an error. */
gboolean strict_json_element(StrictJson *reader);

/* A whole number from `least` to `most`, written as one. */
gboolean strict_json_count(StrictJson *reader, const gchar *what, guint64 least, guint64 most,
			   guint64 *ret_count);
/* The version of the file, which `key` says; its first member, for a later one's are others. An error of `version_code`: it is later than
 * `known`. */
gboolean strict_json_version(StrictJson *reader, const gchar *key, guint known, gint version_code);
/* A finite number in that range. */
gboolean strict_json_number(StrictJson *reader, const gchar *what, gdouble least, gdouble most,
			    gdouble *ret_number);
gboolean strict_json_flag(StrictJson *reader, const gchar *what, gboolean *ret_flag);
/* A text of up to `max_bytes` without control characters, in UTF-8; the caller's. */
gchar *strict_json_text(StrictJson *reader, const gchar *what, gsize max_bytes);

/* Nothing stands behind the value, and there was no error; else the error is the caller's. */
gboolean strict_json_finish(StrictJson *reader, GError **error);

#endif
