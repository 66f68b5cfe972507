/* recorded_pass: the outermost operations of forward passes, as recorded. */
#ifndef TACHO_RECORDED_PASS_H
#define TACHO_RECORDED_PASS_H

#include "graph/graph_internal.h"
#include "precision/registry.h"

struct recorded_operation {
	guint32 slice, step; /* step: its place in the graph's */
	const gchar *module,
		*kind; /* interned (g_intern_string()): equal texts are equal pointers */
	gdouble elements_in,
		elements_out; /* of its activation, of its first output; 0: not recorded */
	gboolean is_cast;     /* or quantises, or the other way round */
};

/* Those of the rank's main thread in the graph's steps (struct recorded_operation), in order of time; the caller's. `roots` is as
 * struct identity has it. A kernel of the registry (or NULL), known by its name, or by that of the annotation or the type of the module around it,
 * has the kind of what it is a variant of. */
GArray *recorded_pass_of(const TachoGraph *graph, guint32 rank_index, GHashTable *roots,
			 const KernelRegistry *registry);

/* Whether the slice casts, and what. The accessors of its tensors, and of the copy inside, tell. */
gboolean recorded_cast(const TachoTimeline *timeline, guint32 slice, guint *ret_from, guint *ret_to,
		       gdouble *ret_elements);

#endif
