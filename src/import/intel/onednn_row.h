/* onednn_row: a row of what oneDNN prints with ONEDNN_VERBOSE (DNNL_VERBOSE, MKLDNN_VERBOSE), or MKL with MKL_VERBOSE,
 * of any version. */
#ifndef TACHO_ONEDNN_ROW_H
#define TACHO_ONEDNN_ROW_H

#include <tacho/timeline.h>

enum onednn_row_kind {
	ONEDNN_NO_ROW,	 /* what the program prints itself */
	ONEDNN_CUT,	 /* a row, but not all of it */
	ONEDNN_EXECUTED, /* a primitive or graph partition, a routine of MKL */
	ONEDNN_CREATED,	 /* the same, made ready */
	ONEDNN_INFO,	 /* of the library: `name` is all of it */
	ONEDNN_OTHER,	 /* a row of no kind above */
};

/* Texts are parts of the line. */
struct onednn_row {
	enum onednn_row_kind kind;
	gsize at; /* where in the line it begins */
	gboolean has_stamp, is_gpu;
	gint64 stamp_ns; /* when it began, since 1970 */
	gint64 duration_ns;
	guint32 device; /* of a GPU */
	const gchar *engine, *primitive, *implementation, *propagation;
	const gchar *memory, *attributes, *auxiliary, *problem;
	gint32 thread; /* of MKL's row; -1: not told */
};

/* Read the line, which is changed: columns end with a NUL. */
void onednn_row_parse(gchar *line, struct onednn_row *row);
/* What its columns say of a row that was executed: element type (of the first tensor that has one), sizes of the
 * destination, floating-point operations and bytes moved as far as the problem tells. `text` stays "". */
void onednn_row_figures(const struct onednn_row *row, TachoKernelArgs *args);

#endif
