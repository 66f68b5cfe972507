/* cost_calls: what operations took, where: what cost models are fitted to.
 *
 * A call is one operation with its shapes on a device, and the time of its kernels there, or its own on a host. Calls are taken from
 * recordings and from tables (docs/cost-models.md); distinct ones are kept, with how often they were seen.
 *
 * (1) Devices and calls come in the order in which they were added: the same input gives the same model.
 * (2) What a call computes and moves follows from its operation and shapes by the formulas of analyze/op_flops.h. Of what has no
 *     formula there is no call. */
#ifndef TACHO_COST_CALLS_H
#define TACHO_COST_CALLS_H

#include <stdio.h>

#include <tacho/timeline.h>

#include "cost/device_table.h"
#include "trace/kernel_class.h"

/* Source: a rule: more distinct calls than a job has. If wrong, those that come later are left out, and a table is refused. */
#define COST_MAX_CALLS	 (1u << 20)
#define COST_MAX_DEVICES 256u

/* FEATURE(enumerator, name): what trees go by; logarithms are those to base 2. A shape that is not there is -1. */
#define CALL_FEATURES(FEATURE)                                                                     \
	FEATURE(OPERATIONS, "log_operations")                                                      \
	FEATURE(BYTES, "log_bytes")                                                                \
	FEATURE(INTENSITY, "log_operations_per_byte")                                              \
	FEATURE(WIDTH, "log_width")		/* last dimension of the first input ... */        \
	FEATURE(ROWS, "log_rows")		/* ... and all others together */                  \
	FEATURE(BATCH, "log_batch")		/* all but the last two */                         \
	FEATURE(OTHER_WIDTH, "log_other_width") /* the same of the second input */                 \
	FEATURE(OTHER_ROWS, "log_other_rows")                                                      \
	FEATURE(ALIGNMENT, "alignment") /* the power of two that divides both widths, at most 7 */ \
	FEATURE(TYPE, "type_bits")	/* of the numbers that it computes with */                 \
	FEATURE(DEVICE_OPERATIONS, "log_device_operations") /* a ns, with such numbers */          \
	FEATURE(DEVICE_BYTES, "log_device_bytes")	    /* a ns */                             \
	FEATURE(RIDGE, "log_over_ridge") /* operations a byte over those that the device can do */

enum call_feature {
#define CALL_FEATURE_ENUM(enumerator, name) FEATURE_##enumerator,
	CALL_FEATURES(CALL_FEATURE_ENUM)
#undef CALL_FEATURE_ENUM
		N_CALL_FEATURES
};

struct cost_device {
	gchar *name;
	gboolean is_stated; /* the figures are its maker's; else the best that its calls reached */
	gdouble ops_per_ns[DEVICE_N_RATES];
	gdouble bytes_per_ns;
};

struct cost_call {
	guint32 device;		  /* place in `devices` */
	enum kernel_class class;  /* never KERNEL_COLLECTIVE */
	enum device_rate rate;	  /* of its numbers */
	const gchar *op, *shapes; /* of the calls' strings */
	gdouble flops, bytes;	  /* bytes > 0 */
	gdouble kernels;	  /* that one call launches, the mean; 0: it is of a host */
	guint64 count;		  /* how often it was seen */
	gdouble time_ns;	  /* of one call, the median; > 0 */
	gfloat features[N_CALL_FEATURES];
};

struct cost_source {
	gchar *name;
	guint64 n_calls;
};

struct cost_calls {
	GArray *devices; /* struct cost_device */
	GArray *rows;	 /* struct cost_call */
	GArray *sources; /* struct cost_source */
	GStringChunk *strings;
	GHashTable *
		times; /* struct cost_call with device, op, shapes, rate -> GArray of gdouble, until finish() */
};

void cost_calls_init(struct cost_calls *calls);
void cost_calls_release(struct cost_calls *calls);

/* The place of the device; COST_MAX_DEVICES: there is no more room. Figures of a device that is not known are 0 until finish(). */
guint32 cost_calls_device(struct cost_calls *calls, const gchar *name);
const struct cost_device *cost_calls_device_at(const struct cost_calls *calls, guint32 index);

/* The calls of a correlated run: of devices by their kernels, else of hosts by their operations. */
void cost_calls_add_run(struct cost_calls *calls, const TachoTimeline *timeline,
			const gchar *source);
/* Those of a table: a CSV file with the columns device, op, shapes, type, time_us and, if it likes, kernels and count; and class,
 * operations and bytes, which go before what formulas say. The error names file and row. */
gboolean cost_calls_add_table(struct cost_calls *calls, const gchar *path, GError **error);
/* Make one row of what was the same call, and find the figures of devices. Once, after all were added. */
void cost_calls_finish(struct cost_calls *calls);
/* Such a table of all calls. */
void cost_calls_write(const struct cost_calls *calls, FILE *out);

/* A call that nobody made: what it computes, by its name and shapes; its time is 0. `device` is a place in `calls`, whose
 * strings keep the texts. FALSE: the shapes are not written as in tables, or the operation has no formula; the error tells. */
gboolean cost_calls_ask(struct cost_calls *calls, const gchar *op, const gchar *shapes,
			const gchar *type, guint32 device, struct cost_call *ret_call,
			GError **error);
/* A call of which all but texts and what follows from them is told: shapes, and what is known of their form. FALSE: the shapes are not
 * written as in tables. */
gboolean cost_calls_set_texts(struct cost_calls *calls, const gchar *op, const gchar *shapes,
			      struct cost_call *call);
/* Fill in the features, for the call as it would be on that device. */
void cost_call_set_features(struct cost_call *call, const struct cost_device *device);

#endif
