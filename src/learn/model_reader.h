/* model_reader: the JSON of a cost model, read a value at a time, where anything may stand in it.
 *
 * (1) The first error counts, with the byte where it was found; after it nothing is read.
 * (2) A number is within the limits that its reader is given, and finite. */
#ifndef TACHO_MODEL_READER_H
#define TACHO_MODEL_READER_H

#include "import/read/json_scan.h"

struct model_reader {
	struct json_scan scan;
	const gchar *begin;
	GError *error; /* NULL: all is well so far */
};

/* FALSE always. */
gboolean model_refuse(struct model_reader *reader, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
/* Go into the object or list; `what` is what it is called in an error. */
gboolean model_enter(struct model_reader *reader, gchar bracket, const gchar *what);
/* The next member of an object is one of `keys`, and not one of those `seen`; -1: there is none, or an error is set. */
gint model_key(struct model_reader *reader, const gchar *const *keys, guint *seen);
/* The next element of a list. FALSE: there is none, or an error is set. */
gboolean model_element(struct model_reader *reader);
/* After the last member: those of `wanted` (bits) were seen. */
gboolean model_has(struct model_reader *reader, const gchar *const *keys, guint seen, guint wanted);
gboolean model_number(struct model_reader *reader, const gchar *what, gdouble least, gdouble most,
		      gdouble *ret_number);
/* A whole number. */
gboolean model_count(struct model_reader *reader, const gchar *what, guint64 most,
		     guint64 *ret_count);
gboolean model_truth(struct model_reader *reader, const gchar *what, gboolean *ret_truth);
/* Without control characters, of at most 64 KiB; the caller's. NULL: an error is set. */
gchar *model_text(struct model_reader *reader, const gchar *what);

#endif
