/* change: what is to be different, read once from its text (docs/what-if.md) and then made in as many graphs as are
 * wanted.
 *
 * (1) change_parse() checks all that can be known without a graph: keys, numbers, names, patterns. change_apply()
 *     checks the rest, and leaves the graph as it is where something does not fit.
 * (2) What a change brings from elsewhere, a file or another job's recording, its caller reads and puts into the
 *     change between the two; `needs` says what. Nothing of this stage opens a file. */
#ifndef TACHO_CHANGE_H
#define TACHO_CHANGE_H

#include "base/quantity.h"
#include "cost/collective_cost.h"
#include "cost/device_table.h"
#include "cost/topology.h"
#include "graph/graph_internal.h"

enum change_needs {
	CHANGE_NEEDS_NOTHING,
	CHANGE_NEEDS_TOPOLOGY, /* `topology`, of the file `name` */
	CHANGE_NEEDS_JOB,      /* `job` and `job_timeline`, of the run `name` */
};

/* When a change is made, whatever stands before it in a list of changes. */
enum change_phase {
	CHANGE_RECORDED, /* to what was recorded */
	CHANGE_PASSES,	 /* after all of those: it adds passes, of which only the last has slices */
};

enum change_middle { CHANGE_MEASURED, CHANGE_MEAN, CHANGE_MEDIAN };

struct rank_range {
	guint64 first, last; /* as the launcher numbers them */
};

struct change_rule;

struct change {
	gchar *text; /* whole, for messages */
	const struct change_rule *rule;
	GArray *ranks; /* struct rank_range; NULL: all */
	gchar *kind;   /* of KIND~REGEX; NULL: there is none */
	GRegex *regex; /* of it */
	gchar *name; /* of a device, a file, a run, or what has a name of its own: "loader", "wait" */
	gchar *recorded; /* the device that is to count as recorded; NULL: as the trace tells */
	union {		 /* by the rule */
		struct quantity quantity;
		gdouble factor;
		guint32 count;
		guint64 bytes;
		gint64 offset_ns;
		enum change_middle middle;
		enum device_rate rate;
		struct {
			enum collective_algorithm algorithm;
			guint32 n_servers;
		};
		struct {
			gdouble flops, bytes_moved; /* factors */
		};
		struct {
			guint32 n_workers, n_recorded; /* n_recorded G_MAXUINT32: not told */
		};
	} value;
	GArray *counts; /* guint32, of a fusion */
	/* The caller's to fill; released with the change. */
	struct topology *topology;
	TachoTimeline *job_timeline;
	TachoGraph *job; /* frozen, without what recording took */
};

/* Read `text` into `change`, which the caller releases whatever is returned. TACHO_GRAPH_ERROR_WHAT_IF: it is not
 * understood. */
gboolean change_parse(struct change *change, const gchar *text, GError **error);
void change_release(struct change *change);

/* Make it. TACHO_GRAPH_ERROR_WHAT_IF: it does not fit, and the graph is unchanged. The graph is left unfrozen. */
gboolean change_apply(TachoGraph *graph, const struct change *change, GError **error);

enum change_needs change_needs(const struct change *change);
enum change_phase change_phase(const struct change *change);

#endif
