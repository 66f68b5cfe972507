/* op_facts: what an operation used beyond its thread's time: device time and memory. */
#ifndef TACHO_OP_FACTS_H
#define TACHO_OP_FACTS_H

#include <tacho/timeline.h>

struct op_fact {
	guint32 op; /* slice */
	gdouble device_ns;
	guint64 devices; /* bit a device, by its number; what is beyond 63 is the last */
	/* Memory handed out while it was the innermost operation: all of it, the most of it held
	 * at a time before it ended, and what it still held when it ended. */
	gdouble allocated_bytes, peak_bytes, residual_bytes;
	gboolean is_told; /* these three are what the trace says itself */
};

struct op_facts {
	GArray *facts; /* struct op_fact, by op; only ops that have any */
};

/* Without `with_memory` only the device times. */
void op_facts_init(struct op_facts *facts, const TachoTimeline *timeline, gboolean with_memory);
void op_facts_release(struct op_facts *facts);
/* All zero where nothing is known. */
struct op_fact op_facts_find(const struct op_facts *facts, guint32 op);

#endif
