/* image_writer: rows of a run image (run_image.h) as blocks.
 *
 * (1) Rows are gathered table by table, and go out as a block when there are enough of them: memory does not grow with
 *     their number, but for the strings.
 * (2) The same rows give the same blocks. */
#ifndef TACHO_IMAGE_WRITER_H
#define TACHO_IMAGE_WRITER_H

#include "trace/run_image.h"

typedef struct _ImageWriter ImageWriter;

/* Told each block, in their order; the bytes are good during the call. */
typedef void (*ImageSink)(const guint8 *block, gsize n_bytes, gpointer data);

/* The strings of rows are those of `timeline`. `n_rows`, by table: how many rows there will be of those that others
 * name; it is not read of any other table. */
ImageWriter *image_writer_new(const TachoTimeline *timeline, const guint32 *n_rows, ImageSink sink,
			      gpointer data);
/* Drops what finish() has not written. */
void image_writer_free(ImageWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImageWriter, image_writer_free)

/* A row, of the type that run_image.def tells; it is copied, its texts must stay as they are until finish(). */
void image_writer_row(ImageWriter *writer, enum image_table table, const void *row);
/* Have the string of that id be there, if it is not yet, behind those that are. */
void image_writer_string(ImageWriter *writer, guint32 id);
/* A row of `json`. */
void image_writer_json(ImageWriter *writer, guint32 slice, const gchar *text);
/* Have what was given so far come before what is given from now on: tracks before their slices. */
void image_writer_flush(ImageWriter *writer);
/* Write what is left, and the end. */
void image_writer_finish(ImageWriter *writer);

#endif
