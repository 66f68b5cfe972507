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
#include "cost/kernel_efficiency.h"
#include "cost/topology.h"
#include "graph/graph_internal.h"

enum change_needs {
	CHANGE_NEEDS_NOTHING,
	CHANGE_NEEDS_TOPOLOGY,	   /* `topology`, of the file `name` */
	CHANGE_NEEDS_JOB,	   /* `job` and `job_timeline`, of the run `name` */
	CHANGE_NEEDS_EFFICIENCIES, /* `efficiencies`, of the file `efficiencies_path` */
};

/* What was measured of how far predictions of a change are off (predict/model_errors.def); several changes are of all of
 * theirs. */
enum change_accuracy {
	ACCURACY_SAME = 0, /* as of a replay with nothing changed */
	ACCURACY_BANDWIDTH = 1 << 0,
	ACCURACY_LATENCY = 1 << 1,
	ACCURACY_JOBS = 1 << 2, /* with changes of links, or without */
	ACCURACY_UNMEASURED = 1 << 3,
	ACCURACY_WORK = 1 << 4, /* operations take longer, or less */
	ACCURACY_BATCH = 1 << 5,
};

/* When a change of a list is made, whatever stands before it: in this order, and those of one phase in the order of the
 * list (docs/what-if.md says why). Two changes of one phase but of different keys give the same either way round, or are
 * refused together (changes_check()). */
enum change_phase {
	CHANGE_DURATIONS, /* of what was recorded */
	CHANGE_LOADING,	  /* how long reading takes ... */
	CHANGE_WORKERS,	  /* ... and in how many processes: both from recorded times of the rest */
	CHANGE_TOPOLOGY,
	CHANGE_RANKS,	  /* before all that names some of them */
	CHANGE_ALGORITHM, /* some need a topology */
	CHANGE_DEVICE,
	CHANGE_DEVICE_OF_RANKS, /* what is said of some counts for them */
	CHANGE_PRECISION,	/* by the rates of the device */
	CHANGE_PRECISION_OF_SOME,
	CHANGE_BATCH, /* casts go with it */
	CHANGE_WORK,
	CHANGE_FUSED,
	CHANGE_RECOMPUTED,  /* as long as the work takes by then */
	CHANGE_BUCKETS,	    /* of gradients as wide as they are by then */
	CHANGE_COMPRESSED,  /* buckets, on their way */
	CHANGE_PARTS,	    /* of buckets */
	CHANGE_JOBS,	    /* beside all this ... */
	CHANGE_LINKS,	    /* ... on the same links and cores */
	CHANGE_COLLECTIVES, /* by name: what they take on those links */
	CHANGE_PASSES, /* adds passes like the one there is by then; only the last has slices */
	CHANGE_WAITS,  /* for others: what is left of them, in all passes */
	CHANGE_N_PHASES,
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
			gdouble host, library;
		};
		struct {
			guint32 n_workers, n_recorded; /* n_recorded G_MAXUINT32: not told */
		};
	} value;
	GArray *counts; /* guint32, of a fusion */
	/* The caller's to fill; released with the change. */
	struct topology *topology;
	gchar *efficiencies_path; /* NULL: what was measured for tacho */
	struct kernel_efficiencies efficiencies;
	TachoTimeline *job_timeline;
	TachoGraph *job; /* frozen, without what recording took */
};

/* Read `text` into `change`, which the caller releases whatever is returned. TACHO_GRAPH_ERROR_WHAT_IF: it is not
 * understood. */
gboolean change_parse(struct change *change, const gchar *text, GError **error);
void change_release(struct change *change);

/* Make it. TACHO_GRAPH_ERROR_WHAT_IF: it does not fit, and the graph is unchanged. The graph is left unfrozen. */
gboolean change_apply(TachoGraph *graph, const struct change *change, GError **error);

/* Changes that may not stand in one list are in it. TACHO_GRAPH_ERROR_WHAT_IF: which, and why; `changes` holds struct change. */
gboolean changes_check(const GArray *changes, GError **error);

/* The change at `index` says nothing, because one later in the list takes its place (the later topology, say). */
gboolean changes_is_replaced(const GArray *changes, guint index);

/* Whether it can be made where other processes have the slices of some ranks (struct graph_told). TACHO_GRAPH_ERROR_WHAT_IF: it
 * cannot; the message says which can. */
gboolean change_check_shared(const struct change *change, GError **error);

enum change_needs change_needs(const struct change *change);
enum change_phase change_phase(const struct change *change);
enum change_accuracy change_accuracy(const struct change *change);

#endif
