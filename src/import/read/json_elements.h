/* json_elements: the elements of a piece of a long JSON array, one after the other, past what is broken.
 *
 * (1) An element that cannot be read as it should is read tolerantly (json_scan.h, (3)), or passed over up to
 *     where the next one seems to begin, and counted. */
#ifndef TACHO_JSON_ELEMENTS_H
#define TACHO_JSON_ELEMENTS_H

#include <tacho/timeline.h>

#include "import/read/json_chunks.h"
#include "import/read/json_scan.h"

/* What was found; zeroed storage is nothing so far. Offsets are those of the decoded file. */
struct json_elements {
	guint64 n_repaired;    /* quotes taken for text */
	guint64 n_broken;      /* elements passed over */
	guint64 broken_offset; /* of the first */
	gboolean is_end;       /* the array's ']' has been passed */
	gboolean is_cut;       /* the file ended inside an element, which begins at: */
	guint64 cut_offset;
};

/* Read the element at scan->at and use it. False: scan->status says why it cannot be read; it was then not
 * used, and may be asked for again. */
typedef gboolean (*JsonElement)(struct json_scan *scan, gpointer data);

/* Read what is in `chunk` and add to `found`. Returns how many of its bytes have been read: all, or up to the
 * array's end, or, if `is_careful`, up to an element that is not complete. If not `is_careful`, it stops where
 * something is broken or not complete. */
gsize json_elements_read(const struct json_chunk *chunk, gboolean is_careful, JsonElement element,
			 gpointer data, struct json_elements *found);

/* Tell the timeline what is wrong with the elements of the file, which people call `what` ("event"). `failure`: why
 * it could not be read on, NULL: it could. Its array has to end where it `has_to_end`. */
void json_elements_report(const struct json_elements *found, TachoTimeline *timeline,
			  const gchar *path, const gchar *what, const GError *failure,
			  gboolean has_to_end);

#endif
