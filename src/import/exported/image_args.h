/* image_args: what a run image says of slices beyond their columns, for the accessors of timeline.h. The place of a slice
 * (trace/source.h) is its row in the image.
 *
 * (1) Rows of each table come by slice.
 * (2) Texts of `json`, the largest part, stay packed until they are asked for. */
#ifndef TACHO_IMAGE_ARGS_H
#define TACHO_IMAGE_ARGS_H

#include "trace/run_image.h"
#include "trace/source.h"

typedef struct _ImageArgs ImageArgs;

ImageArgs *image_args_new(void);
void image_args_free(ImageArgs *args);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImageArgs, image_args_free)

/* Add rows of one of the tables that it keeps; FALSE: they are not in order. */
gboolean image_args_add(ImageArgs *args, enum image_table table, const void *rows, guint n_rows);
/* The block that the rows of `json` just added are of, and where in it, unpacked, their texts begin. */
void image_args_keep_texts(ImageArgs *args, const guint8 *block, gsize n_bytes, gsize texts);
/* Whether it keeps that table. */
gboolean image_args_has(enum image_table table);
/* Let the slices that it knows of be read by it, which becomes the timeline's. */
void image_args_hand_over(ImageArgs *args, TachoTimeline *timeline);

#endif
