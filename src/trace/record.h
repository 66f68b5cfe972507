/* record: may these bytes be believed to be a record of that kind, and what tensors are in them.
 *
 * The bytes may change while they are looked at (base/mapped_file.h (2)), so each function reads a
 * size or a count once and stays inside the record's `size_bytes`, which the caller has checked to
 * lie in the file. */
#ifndef TACHO_RECORD_H
#define TACHO_RECORD_H

#include <tacho/timeline.h>

#include "trace/trace_layout.h"

/* What is wrong with the record, as the end of a sentence; NULL: nothing. `record` is aligned to 8
 * and `size_bytes` holds at least a record_header. */
const gchar *record_find_fault(enum trace_kind kind, const void *record, gsize size_bytes);

/* The other rank that takes part in a collective, and 1 more; 0: none, or not told. */
guint32 record_peer(const struct record_collective *record, gsize size_bytes);

/* The `index`-th of the `n` tensors from `offset` on; false where there is none, or it is broken.
 */
gboolean record_read_tensor(const void *record, gsize size_bytes, gsize offset, guint32 n,
			    guint32 index, TachoTensor *tensor);

const gchar *record_dtype_name(guint32 dtype);

/* Where in the record a text of `n_text` bytes at `offset` stands; NULL: it does not fit. A text
 * that fills its room has no NUL behind it. */
const gchar *record_borrow_text(const void *record, gsize size_bytes, gsize offset, guint32 n_text);

#endif
