/* source: what stands behind the `source` handle of a slice, for the accessors of timeline.h.
 *
 * A handle is 0 (nothing more is known), the place of a record in a file of the run, the number of
 * arguments that were kept by hand, or a place in a foreign trace, whose importer reads it:
 *
 *     63: 1 kept          | 62..0: index into kept
 *     63: 0 | 62: 1 foreign | 61..48: index into foreign readers | 47..0: place
 *     63: 0 | 62: 0         | 61..32: index into files, plus 1 | 31..0: offset in the file / 8
 *
 * (1) Nothing in a record is believed before it was checked against the record's size, at every
 *     access: the file may be written meanwhile.
 * (2) Files stay open for as long as the timeline. */
#ifndef TACHO_SOURCE_H
#define TACHO_SOURCE_H

#include <tacho/timeline.h>

#include "base/mapped_file.h"

struct tacho_source;

struct tacho_source *tacho_source_new(void);
void tacho_source_free(struct tacho_source *source);

/* What an importer knows of the slices it made, beyond their columns. Any function but free() may be
 * NULL: nothing is known. All are called by any thread at any time; `place` is what the importer
 * gave. Like the accessors they return false, or NULL, where there is nothing. */
struct foreign_reader {
	gboolean (*op)(struct foreign_reader *reader, guint64 place, TachoOpArgs *args);
	gboolean (*kernel)(struct foreign_reader *reader, guint64 place, TachoKernelArgs *args);
	/* import/read/device_args.h has these three for readers that have args_json. */
	gboolean (*launch_shape)(struct foreign_reader *reader, guint64 place,
				 TachoLaunchShape *shape);
	gboolean (*copy)(struct foreign_reader *reader, guint64 place, TachoCopyArgs *args);
	/* The same; it is asked of all that devices did, so that only who tells it quickly has it. */
	gboolean (*lead)(struct foreign_reader *reader, guint64 place, TachoDeviceLead *lead);
	gboolean (*collective)(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *args);
	gboolean (*input)(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor);
	gboolean (*output)(struct foreign_reader *reader, guint64 place, guint32 index,
			   TachoTensor *tensor);
	/* The same of import/read/concrete_inputs.h. */
	gboolean (*numbers)(struct foreign_reader *reader, guint64 place, guint n,
			    TachoNumbers *numbers);
	gchar *(*args_json)(struct foreign_reader *reader, guint64 place);
	gboolean (*message)(struct foreign_reader *reader, guint64 place, TachoMessageArgs *args);
	guint64 (*id)(struct foreign_reader *reader, guint64 place);
	gboolean (*told)(struct foreign_reader *reader, guint64 place, TachoToldOp *told);
	guint32 (*maker)(struct foreign_reader *reader, guint64 place, guint32 index);
	/* enum collective_operation (trace/operation.h). */
	guint (*operation)(struct foreign_reader *reader, guint64 place);
	void (*free)(struct foreign_reader *reader);
};

#define SOURCE_MAX_FOREIGN ((guint32)1 << 14)
#define SOURCE_MAX_PLACE   (G_GUINT64_CONSTANT(1) << 48)

/* Take over a reader; it ends with the source. Returns its index, or SOURCE_MAX_FOREIGN where there are
 * too many: the reader is then freed. */
guint32 tacho_source_take_foreign(struct tacho_source *source, struct foreign_reader *reader);
/* 0 for an index or a place that does not fit: nothing more is known. */
static inline guint64 tacho_source_foreign_handle(guint32 index, guint64 place)
{
	if (index >= SOURCE_MAX_FOREIGN || place >= SOURCE_MAX_PLACE)
		return 0;
	return G_GUINT64_CONSTANT(1) << 62 | (guint64)index << 48 | place;
}

/* Who reads what is behind a handle, and the place to ask for, for an importer that knows more of another
 * importer's slice; NULL: no foreign reader does. Good as long as the source. */
struct foreign_reader *tacho_source_borrow_foreign(const struct tacho_source *source,
						   guint64 handle, guint64 *ret_place);

/* What of a file can be named by a handle. */
#define SOURCE_MAX_FILE_BYTES (G_GUINT64_CONSTANT(8) << 32)

/* Take over an open file, of which the first `content_bytes` (at most SOURCE_MAX_FILE_BYTES) are
 * valid. Returns its index. */
guint32 tacho_source_take_file(struct tacho_source *source, struct mapped_file *file,
			       gsize content_bytes);
/* The same of a file that stays its owner's, and open as long as the source is there. */
guint32 tacho_source_lend_file(struct tacho_source *source, const struct mapped_file *file,
			       gsize content_bytes);
/* The file's bytes, good as long as the source. */
const guint8 *tacho_source_borrow_file(const struct tacho_source *source, guint32 file,
				       gsize *ret_content_bytes);

/* Have the file's valid bytes in memory and mapped, all at once instead of page by page as they are
 * touched. A wish: nothing changes but the time the first look takes. */
void tacho_source_preload_file(const struct tacho_source *source, guint32 file);

/* Only a few of the file's records will be asked for. A wish, likewise. */
void tacho_source_expect_little(const struct tacho_source *source, guint32 file);

/* The handle of the record at `offset` of `file`. */
static inline guint64 tacho_source_handle(guint32 file, guint64 offset)
{
	return ((guint64)file + 1) << 32 | offset / 8;
}

/* The record behind a handle, of at least `least_bytes`; NULL: there is none. */
const void *tacho_source_borrow_record(const struct tacho_source *source, guint64 handle,
				       gsize least_bytes, gsize *ret_size_bytes);

/* Take over where the OUTPUTS record of each of `n` slices is: a handle, or 0. From g_malloc(). */
void tacho_source_take_outputs(struct tacho_source *source, guint64 *handles, guint32 n);
/* The slices have gone where `moved` says, which is by slice, and are `n` now: so have their outputs and twins. */
void tacho_source_move_slices(struct tacho_source *source, const guint32 *moved, guint32 n);

/* Take over whose tensors each of `n` slices has, where they are not its own: another slice, else TACHO_NONE. From
 * g_malloc(). */
void tacho_source_take_twins(struct tacho_source *source, guint32 *twins, guint32 n);

#endif
