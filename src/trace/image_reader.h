/* image_reader: rows of a run image (run_image.h) from its blocks.
 *
 * (1) Nothing in a block is believed: every number fits its field and its limits, and a row that is named is one of those
 *     that the head promised; at the end, there are as many as it promised.
 * (2) Memory is bounded by what was handed in, however well it was packed.
 * (3) What went wrong stays: every call after it fails, too. */
#ifndef TACHO_IMAGE_READER_H
#define TACHO_IMAGE_READER_H

#include "trace/run_image.h"

typedef struct _ImageReader ImageReader;

/* Told rows of one table, of the type that run_image.def tells, in the order they were written; good during the call, but
 * texts are as good as the timeline. NULL: all right; else what is wrong with them (static). */
typedef const gchar *(*ImageRows)(enum image_table table, const void *rows, guint n_rows,
				  gpointer data);

#define IMAGE_READER_ERROR image_reader_error_quark()
GQuark image_reader_error_quark(void);
typedef enum {
	IMAGE_READER_ERROR_DAMAGED,
	IMAGE_READER_ERROR_VERSION, /* written by a later tacho, in a way that this one cannot read */
} ImageReaderError;

/* Strings go to `timeline`. */
ImageReader *image_reader_new(TachoTimeline *timeline, ImageRows rows, gpointer data);
void image_reader_free(ImageReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImageReader, image_reader_free)

/* Read the next block. `ret_texts`: where the texts of `json` begin in it, unpacked; 0: it has none. */
gboolean image_reader_block(ImageReader *reader, const guint8 *block, gsize n_bytes,
			    gsize *ret_texts, GError **error);
/* False: the end has not come, or not all that was promised. */
gboolean image_reader_finish(ImageReader *reader, GError **error);

/* The bytes of a block, unpacked, or NULL: it is damaged. */
GByteArray *image_block_unpack(const guint8 *block, gsize n_bytes);

#endif
