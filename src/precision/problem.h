/* problem: which numbers each operation of a model is to compute with, as the search sees it (docs/decisions/0041).
 *
 * Whoever fills in a problem knows a job: its operations, what each takes with which numbers on which device, what tensors go between
 * them, what casts take. Whoever solves it knows nothing of recordings. A problem can be a file, too (docs/precision-problem.md).
 *
 * (1) Operations are numbered in the order of the forward pass; the backward pass runs them the other way round. A tensor is made by
 *     an operation of a lower number than those that read it.
 * (2) A plan is n_workers * n_operations bytes, each an enum number_format: that of operation i on worker w stands at
 *     precision_plan_at(). A plan is whole: operations that are not chosen have their formats in it, too.
 * (3) Times are ns of one step, bytes are bytes, of one rank of a worker's kind. None is negative or not finite.
 * (4) What a step takes: on each worker the operations one after the other with their casts, forward and then backward; a collective
 *     begins when all workers have its gradients and the one before has ended; the step ends when both have, after `after_ns`. It is
 *     the part of a step that depends on the plan, plus constants: a replay (struct precision_predictor) has the last word.
 * (5) The cost of a plan on one worker without collectives is a sum of terms of one operation and of one tensor with its readers. The
 *     elimination rests on that. */
#ifndef TACHO_PRECISION_PROBLEM_H
#define TACHO_PRECISION_PROBLEM_H

#include <glib.h>

#include <tacho/precision.h>

#include "precision/number_format.h"

#define PRECISION_MAX_OPERATIONS (1u << 20)
#define PRECISION_MAX_EDGES	 (1u << 22)
#define PRECISION_MAX_WORKERS	 4096u
/* Of all workers together: operations and tensors that have costs. */
#define PRECISION_MAX_ROWS     (1u << 22)
#define PRECISION_NO_OPERATION G_MAXUINT32

/* Who decides with what an operation computes. */
enum precision_rule {
	PRECISION_CHOSEN,   /* the plan: any format that is allowed on the worker */
	PRECISION_PROMOTED, /* its inputs: number_format_promote() of what they are stored in; kept in the forward order by the solver */
	PRECISION_FIXED,    /* nobody: the one format that is allowed */
};

struct precision_operation {
	gchar *module; /* path as named_modules() has it: "layers.0.ffn"; "": the model itself; owned */
	gchar *kind;	 /* "linear", "conv2d", "matmul", "input" ...; owned */
	guint32 ordinal; /* among those of that kind in that module, from 0 */
	enum precision_rule rule;
	/* Of the graph: the longest path from an input, and the shortest in hops. */
	guint32 depth, hops;
	/* What its results are stored in when it computes in a format (number_format_result() but where a kernel says otherwise), and what
	 * gradients of its weights are given out in (fp32 where masters are). */
	guint8 result[N_NUMBER_FORMATS], gradient[N_NUMBER_FORMATS];
	/* Harm in each format, filled in from an indicator; has_harm FALSE: nothing is known, and it keeps `recorded`. */
	gdouble harm[N_NUMBER_FORMATS];
	gboolean has_harm;
	guint8 recorded; /* enum number_format of the recording that the others are held against */
	guint32 tie;	 /* operations of one tie have one format; G_MAXUINT32: none */
};

enum precision_source {
	PRECISION_MEASURED,
	PRECISION_ESTIMATED, /* from others of its kind, or a roofline */
};

/* What an operation takes in one format on one worker. */
struct precision_cost {
	gboolean is_allowed; /* there is such a kernel for it on this worker's device */
	guint8 source;	     /* enum precision_source */
	/* With the casts of its own weights and of their gradients; not those of the tensors that it reads. */
	gdouble forward_ns, backward_ns;
	gdouble spread_ns; /* half the width of the interval of both together */
	/* Held from its forward pass to the end of its backward pass: masks, statistics, copies of weights; what is kept of inputs is told
	 * by edges, or here, but once. And held while its forward or backward pass lasts. */
	gdouble saved_bytes, forward_bytes, backward_bytes;
};

/* A tensor between operations. */
struct precision_tensor {
	guint32 producer; /* operation; inputs of the model are operations of kind "input" and rule PRECISION_FIXED */
	gboolean
		is_cast_once; /* casts of it to one format are shared by all that read it so; else each reader casts for itself */
	guint32 first_edge, n_edges; /* in problem->edges */
};

struct precision_edge {
	guint32 consumer;
	gboolean
		is_saved; /* the consumer keeps it for its backward pass, in the format that it reads */
	gboolean
		is_free; /* either side casts as it goes (fused): no time, but for is_saved no copy is spared */
};

/* What casts of one tensor take on one worker, [what it is stored in][what it is read in: number_format_input()]: forward of the
 * tensor, backward of its gradient. 0 where both are the same. Of a tensor that is cast once, backward_ns is for each reader. */
struct precision_cast {
	gfloat forward_ns[N_NUMBER_FORMATS][N_NUMBER_FORMATS];
	gfloat backward_ns[N_NUMBER_FORMATS][N_NUMBER_FORMATS];
};

struct precision_collective {
	guint32 after; /* it can begin once the backward pass of this operation has ended */
	guint32 first_member,
		n_members; /* operations whose gradients it has, in problem->members */
};

/* Ranks of one kind: same device, same batch, same costs. */
struct precision_worker {
	gchar *name; /* "H100", "rank 0"; owned */
	guint32 n_ranks;
	gdouble share; /* of the batch, over all its ranks: what its harm weighs; all workers together 1 */
	gdouble before_ns, between_ns,
		after_ns; /* of a step: before the forward pass, before the backward one, after all (optimizer) */
	gdouble fixed_bytes; /* weights, gradients, states of the optimizer, buffers: whatever no plan changes */
	gdouble max_bytes;	      /* of memory; 0: no limit */
	struct precision_cost *costs; /* [n_operations][N_NUMBER_FORMATS] */
	struct precision_cast *casts; /* [n_tensors] */
	gdouble *tensor_elements;     /* [n_tensors] */
	gdouble (*collective_ns)
		[N_NUMBER_FORMATS]; /* [n_collectives][what gradients are sent in: the widest of its members'] */
};

/* What is predicted of a plan. */
struct precision_prediction {
	gdouble step_ns;
	gdouble interval_ns[2];
	gdouble harm;
	gdouble *worker_ns, *wait_ns,
		*bytes; /* of each worker: without waiting, waiting at collectives, the peak; owned */
};

/* The same by a replay of the recordings, of whoever has them. FALSE: it cannot be had, and why not. */
struct precision_predictor {
	gboolean (*predict)(gpointer data, const TachoPrecisionProblem *problem, const guint8 *plan,
			    struct precision_prediction *prediction, GError **error);
	gpointer data;
	GDestroyNotify free_data; /* or NULL */
};

struct _TachoPrecisionProblem {
	guint32 n_operations, n_tensors, n_edges, n_collectives, n_members, n_workers;
	struct precision_operation *operations;
	struct precision_tensor *tensors;
	struct precision_edge *edges;
	struct precision_collective *collectives;
	guint32 *members;
	struct precision_worker *workers;
	/* By how much predictions are wrong, as a fraction of what they say of a change (the validation's figure, or the casts' file). */
	gdouble error;
	gdouble coverage; /* how much of the recorded step's time has measured costs in all formats that are allowed, 0 to 1 */
	struct precision_predictor predictor; /* predict NULL: there is none */
	GPtrArray *notes; /* gchar *: what whoever filled it in could not find out */
};

/* A problem of so many, all zero: rules PRECISION_CHOSEN, nothing allowed, results and gradients as number_format.h has them, no ties,
 * workers of 1 rank. The caller's, to end with tacho_precision_problem_free(). NULL: no memory, or more than the limits allow. */
TachoPrecisionProblem *precision_problem_new(guint32 n_operations, guint32 n_tensors,
					     guint32 n_edges, guint32 n_collectives,
					     guint32 n_members, guint32 n_workers, GError **error);

/* For whoever does not know the counts before: zeros, a problem's own to be released with it. FALSE: no memory, and it is to be released. */
void precision_operation_init(struct precision_operation *operation);
gboolean precision_worker_init(struct precision_worker *worker, guint32 n_operations,
			       guint32 n_tensors, guint32 n_collectives);
void precision_worker_release(struct precision_worker *worker);

static inline struct precision_cost *precision_cost_of(const TachoPrecisionProblem *problem,
						       guint32 worker, guint32 operation,
						       enum number_format format)
{
	return &problem->workers[worker].costs[(gsize)operation * N_NUMBER_FORMATS + format];
}
static inline gsize precision_plan_at(const TachoPrecisionProblem *problem, guint32 worker,
				      guint32 operation)
{
	return (gsize)worker * problem->n_operations + operation;
}

/* Whether it is one: what is said above of orders, ranges, finiteness and rules. TACHO_PRECISION_ERROR_PROBLEM names what is not. */
gboolean precision_problem_check(const TachoPrecisionProblem *problem, GError **error);

/* "layers.0.ffn linear 0", as tables have it; the caller's. */
gchar *precision_operation_name(const struct precision_operation *operation);

#endif
