/* precision: operations with numbers of another width, for what_if_precision.c, which says what they take, and
 * precision_casts.c, which says where tensors must change them. */
#ifndef TACHO_PRECISION_H
#define TACHO_PRECISION_H

#include "edit/kernel_changes.h"
#include "edit/rank_choice.h"

/* What is known of an operation whose kernels were recorded, on a rank or a copy of it. */
struct operation {
	guint32 set, slice;
	guint32 rank_index;
	guint32 first; /* node of its kernels */
	gboolean is_matched, is_backward;
	enum device_rate recorded, before,
		now;		 /* its numbers: as recorded, before the change, after it */
	enum device_rate stored; /* what its weights are kept in; DEVICE_N_RATES: as recorded */
	struct work_factor work; /* what its numbers make of the recorded work of its kernels ... */
	gdouble factor_before;	 /* ... and made of it before the change */
	gboolean is_measured;	 /* what such kernels reach with these numbers, on such a device */
	gdouble cast_ns, cast_ns_before;
	gdouble cast_bytes; /* of what the casts make ... */
	guint32 memory;	    /* ... and whose memory is that of the kernels: as graph_block's */
};

struct precision {
	TachoGraph *graph;
	const struct rank_choice *ranks;
	const struct device_peak *const *devices; /* of each rank */
	enum device_rate rate;
	gboolean is_whole; /* weights and gradients, too */
	const gchar *kind; /* of slices; NULL: all */
	const GRegex *regex;
	struct kernel_changes kernels;
	GHashTable *backward;	/* slices that backward passes of what matches begin with */
	GHashTable *operations; /* graph_op_key() -> struct operation */
	GPtrArray *in_order;	/* the same by when their first kernels began */
	gdouble changed_ns, unmeasured_ns, all_ns;
};

/* Bytes of a number. */
gdouble precision_width(enum device_rate rate);

/* The operation that the node is a kernel of, or NULL: it is none, or its work and numbers are not known. */
struct operation *precision_operation_of(struct precision *precision, guint32 node);

/* What casts take before each operation, into cast_ns, and what they make, into cast_bytes. */
void precision_find_casts(struct precision *precision);
/* Put them before the first kernels, and take away those that are not needed any more. Nodes get other numbers. */
void precision_place_casts(struct precision *precision);
/* After that: let what casts make be held while the operation that reads it lasts, where memory is known. */
void precision_hold_casts(struct precision *precision);

#endif
