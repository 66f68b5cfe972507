/* kernel_changes: what kernels take with more samples or narrower numbers: their recorded time, of which a share goes with their work
 * (work_shares.h), times what all changes so far made of that work. What other changes made of the whole of it stays as a factor. */
#ifndef TACHO_KERNEL_CHANGES_H
#define TACHO_KERNEL_CHANGES_H

#include "edit/edit_state.h"
#include "edit/work_shares.h"

/* A factor of work, and what bounds it. */
struct work_factor {
	gdouble x, least, most;
};

struct kernel_changes {
	struct work_shares shares;
	const struct edit_state *state;
	GHashTable *precisions; /* graph_set_key() -> struct changed_precision of the state */
	GArray *batched;	/* as the state's will be */
	GArray *doubts;		/* struct kernel_doubt, of each rank, in all steps */
};

/* For as long as the graph has its nodes and its state. `device` as in work_shares_init(). */
void kernel_changes_init(struct kernel_changes *changes, const TachoGraph *graph,
			 const struct device_peak *device);
void kernel_changes_release(struct kernel_changes *changes);

/* The kernel is part of a batch of `factor` times as many samples as before. */
void kernel_changes_batch(struct kernel_changes *changes, struct graph_node *node, gdouble factor);
/* That was all of them: keep it in the graph's state. */
void kernel_changes_keep_batch(const struct kernel_changes *changes, TachoGraph *graph,
			       gdouble factor);

/* The numbers of the kernel's operation make its recorded work `after`, in the place of `before`. */
void kernel_changes_precision(struct kernel_changes *changes, struct graph_node *node,
			      gdouble before, const struct work_factor *after,
			      enum node_origin origin);

/* Of the rank and step of which most is in doubt, in the mean over steps. */
struct kernel_doubt kernel_changes_doubt(const struct kernel_changes *changes);

#endif
