/* bucket_plan: DDP's buckets, as PyTorch packs them after the first step.
 *
 * Gradients in the order they came in that step; one bucket under way for each data type; a bucket
 * is closed once it holds at least its cap, which is small for the first bucket closed of a type,
 * so that communication begins early, and `bucket_cap_mb` for the others; what is left makes a
 * last bucket each. Buckets are sent in the order closed, each when all before it have been.
 * (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size)
 *
 * Horovod's buffers are packed otherwise: a gradient joins the one under way if it still fits into the threshold, and begins
 * another where it does not (controller.cc, FuseResponses). Its cycles are not modelled: a buffer goes when the last of its
 * gradients is there. */
#include <string.h>

#include "base/for_each.h"
#include "graph/rank_copies.h"
#include "edit/bucket_calls.h"
#include "edit/collective_plan.h"
#include "edit/change_internal.h"
#include "edit/bucket_plan.h"
#include "trace/operation.h"

/* The size of the first bucket of a type.
 * Source: cited from torch/csrc/distributed/c10d/reducer.hpp: kDefaultFirstBucketBytes. */
#define FIRST_CAP_BYTES (1024 * 1024)
/* Types that have buckets of their own.
 * Source: a rule: a model has gradients of one type or two. If wrong, types beyond share buckets. */
#define MAX_DTYPES 16
/* Source: a rule: a terabyte is more than a model has. If wrong, the words are refused. */
#define MAX_MIB 1e6 /* of a bucket */

struct open_bucket {
	const gchar *dtype;
	guint32 bucket; /* number, or TACHO_NONE: none under way */
	guint64 size_bytes;
	gboolean is_later; /* than the first of this type */
};

/* The one of the data type; types beyond MAX_DTYPES share the last. */
static struct open_bucket *find_open(struct open_bucket *open, guint *n_open, const gchar *dtype)
{
	for (guint i = 0; i < *n_open; i++)
		if (strcmp(open[i].dtype, dtype) == 0)
			return &open[i];
	if (*n_open == MAX_DTYPES)
		return &open[MAX_DTYPES - 1];
	open[*n_open] = (struct open_bucket){ dtype, TACHO_NONE, 0, FALSE };
	return &open[(*n_open)++];
}

guint32 bucket_plan(const struct graph_gradient *gradients, guint32 n_gradients,
		    guint64 first_cap_bytes, guint64 cap_bytes, guint32 *buckets)
{
	struct open_bucket open[MAX_DTYPES];
	g_autofree guint32 *number = g_new(guint32, MAX(n_gradients, 1u)); /* by when begun */
	guint32 n_begun = 0, n_closed = 0;
	guint n_open = 0;

	for (guint32 i = 0; i < n_gradients; i++) {
		struct open_bucket *bucket = find_open(open, &n_open, gradients[i].dtype);

		if (bucket->bucket == TACHO_NONE) {
			bucket->bucket = n_begun++;
			bucket->size_bytes = 0;
		}
		buckets[i] = bucket->bucket;
		bucket->size_bytes += gradients[i].bytes;
		if (bucket->size_bytes < (bucket->is_later ? cap_bytes : first_cap_bytes))
			continue;
		number[bucket->bucket] = n_closed++;
		bucket->bucket = TACHO_NONE;
		bucket->is_later = TRUE;
	}
	for (guint i = 0; i < n_open; i++)
		if (open[i].bucket != TACHO_NONE)
			number[open[i].bucket] = n_closed++;
	for (guint32 i = 0; i < n_gradients; i++)
		buckets[i] = number[buckets[i]];
	return n_closed;
}

guint32 buffer_plan(const struct graph_gradient *gradients, guint32 n_gradients,
		    guint64 threshold_bytes, guint32 *buckets)
{
	struct open_bucket open[MAX_DTYPES];
	guint32 n_begun = 0;
	guint n_open = 0;

	for (guint32 i = 0; i < n_gradients; i++) {
		struct open_bucket *buffer = find_open(open, &n_open, gradients[i].dtype);

		if (buffer->bucket == TACHO_NONE ||
		    buffer->size_bytes + gradients[i].bytes > threshold_bytes) {
			buffer->bucket = n_begun++;
			buffer->size_bytes = 0;
		}
		buckets[i] = buffer->bucket;
		buffer->size_bytes += gradients[i].bytes;
	}
	return n_begun;
}

/* --- editing the graph ---------------------------------------------------------------------- */

/* How gradients are packed. */
struct bucket_rule {
	const struct change *change; /* for messages */
	guint64 cap_bytes;	     /* PyTorch's rule */
	/* guint32, gradients in each bucket, in their order, then all others; or NULL */
	const GArray *counts;
	gboolean is_modelled; /* buckets that are as recorded are modelled, too */
};

/* A bucket, as rank 0 has it: as all have. */
struct bucket_summary {
	guint64 bytes;
	guint32 first; /* gradient of it */
	guint32 last;  /* gradient of it or of a bucket before: when it can be queued */
};

/* Rows of a table by the ordinal of the pass that they belong to: of pass p, rows[first[p]] up to rows[first[p + 1]]. */
struct rows_by_ordinal {
	guint32 *first, *rows;
};

/* One backward pass after the other, on all ranks. */
struct pass_edit {
	TachoGraph *graph;
	const struct bucket_rule *rule;
	guint32 n_ranks;
	const guint32 *weights;		  /* 0: there is no such rank */
	const struct graph_pass **passes; /* one a rank */
	GArray *transfers;		  /* guint32, of the pass, in order queued */
	guint32 n_gradients, n_buckets;
	guint32 *buckets;	     /* of each gradient */
	struct bucket_summary *sums; /* of each bucket */
	struct bucket_calls *calls;
	guint32 n_ordinals; /* of passes */
	struct rows_by_ordinal passes_of, transfers_of;
};

static const struct graph_gradient *gradients_of(const struct pass_edit *edit, guint32 rank)
{
	return &g_array_index(edit->graph->gradients, struct graph_gradient,
			      edit->passes[rank]->first_gradient);
}

static gboolean refuse(const struct pass_edit *edit, GError **error, const gchar *reason)
{
	return change_refuse(error, edit->rule->change, "in step %u, %s",
			     edit->passes[0] ? edit->passes[0]->step
					     : g_array_index(edit->graph->steps, guint32, 0),
			     reason);
}

static gboolean check_ranks(const struct pass_edit *edit, GError **error)
{
	for (guint32 rank = 0; rank < edit->n_ranks; rank++) {
		if (edit->weights[rank] == 0)
			continue;
		if (!edit->passes[rank])
			return refuse(edit, error, "not every rank has this backward pass");
		if (edit->passes[rank]->n_gradients != edit->n_gradients)
			return refuse(edit, error, "ranks have different numbers of gradients");
		for (guint32 i = 0; i < edit->n_gradients; i++)
			if (gradients_of(edit, rank)[i].bytes != gradients_of(edit, 0)[i].bytes)
				return refuse(edit, error,
					      "gradients come in different orders on the ranks");
	}
	return TRUE;
}

/* What the recorded buckets held is what the gradients are. */
static gboolean check_bytes(const struct pass_edit *edit, GError **error)
{
	guint64 gradient_bytes = 0, bucket_bytes = 0;
	g_autofree gchar *reason = NULL;

	for (guint32 i = 0; i < edit->n_gradients; i++)
		gradient_bytes += gradients_of(edit, 0)[i].bytes;
	for (guint i = 0; i < edit->transfers->len; i++)
		bucket_bytes +=
			graph_transfer_at(edit->graph, g_array_index(edit->transfers, guint32, i))
				->bytes;
	if (gradient_bytes == bucket_bytes)
		return TRUE;
	reason = g_strdup_printf("the recorded gradients have %" G_GUINT64_FORMAT
				 " bytes, but the buckets held %" G_GUINT64_FORMAT,
				 gradient_bytes, bucket_bytes);
	return refuse(edit, error, reason);
}

/* Sum up the buckets; every bucket has a gradient. */
static struct bucket_summary *summarise_buckets(const struct pass_edit *edit)
{
	struct bucket_summary *sums = g_new0(struct bucket_summary, MAX(edit->n_buckets, 1u));
	const struct graph_gradient *gradients = gradients_of(edit, 0);

	for (guint32 i = edit->n_gradients; i-- > 0;) {
		struct bucket_summary *sum = &sums[edit->buckets[i]];

		sum->bytes += gradients[i].bytes;
		sum->first = i;
		sum->last = MAX(sum->last, i);
	}
	for (guint32 i = 1; i < edit->n_buckets; i++)
		sums[i].last = MAX(sums[i].last, sums[i - 1].last);
	return sums;
}

/* The buckets are as recorded: the same number with the same bytes, in order. */
static gboolean is_unchanged(const struct pass_edit *edit)
{
	if (edit->transfers->len != edit->n_buckets)
		return FALSE;
	for (guint32 i = 0; i < edit->n_buckets; i++)
		if (graph_transfer_at(edit->graph, g_array_index(edit->transfers, guint32, i))
			    ->bytes != edit->sums[i].bytes)
			return FALSE;
	return TRUE;
}

/* After which node a rank queues the bucket: its last gradient's, and those before it. */
static guint32 ready_node(const struct pass_edit *edit, guint32 rank, guint32 bucket)
{
	return gradients_of(edit, rank)[edit->sums[bucket].last].ready_node;
}

/* What waits for the bucket: the first copy of one of its gradients that is known, or the end of the pass. */
static guint32 waiting_node(const struct pass_edit *edit, guint32 rank, guint32 bucket)
{
	const struct graph_gradient *gradients = gradients_of(edit, rank);

	for (guint32 i = edit->sums[bucket].first; i < edit->n_gradients; i++)
		if (edit->buckets[i] == bucket && gradients[i].copy_node != TACHO_NONE)
			return gradients[i].copy_node;
	return edit->passes[rank]->finish_node;
}

/* What is kept of the recorded buckets: names, lanes, workers. */
struct pattern {
	struct graph_node transfer;
	struct graph_node *queue, *complete; /* one a rank */
	guint8 *has;			     /* a rank took part */
};

static void pattern_init(struct pattern *pattern, const TachoGraph *graph, guint32 first)
{
	gsize n_ranks = MAX(graph_n_own_ranks(graph), 1u);

	pattern->queue = g_new0(struct graph_node, n_ranks);
	pattern->complete = g_new0(struct graph_node, n_ranks);
	pattern->has = g_new0(guint8, n_ranks);
	pattern->transfer = *graph_node_at(graph, graph_transfer_at(graph, first)->node);
	FOR_EACH(const struct graph_node, node, graph->nodes) {
		guint32 rank = graph_lane_at(graph, node->lane)->rank_index;

		if (node->transfer != first || rank == TACHO_NONE ||
		    node->kind == TACHO_NODE_REMOVED)
			continue;
		if (node->kind == TACHO_NODE_QUEUE)
			pattern->queue[rank] = *node;
		else if (node->kind == TACHO_NODE_COMPLETE)
			pattern->complete[rank] = *node;
		pattern->has[rank] = 1;
	}
}

static void pattern_release(struct pattern *pattern)
{
	g_free(pattern->queue);
	g_free(pattern->complete);
	g_free(pattern->has);
}

static void connect_rank(const struct pass_edit *edit, const struct pattern *pattern,
			 guint32 bucket, guint32 rank, guint32 transfer_node)
{
	TachoGraph *graph = edit->graph;
	struct graph_node queue = pattern->queue[rank], complete = pattern->complete[rank];
	guint32 ready = ready_node(edit, rank, bucket);
	guint32 queue_node, complete_node;

	queue.transfer = complete.transfer = graph->transfers->len - 1;
	queue.step = complete.step = edit->passes[rank]->step;
	queue.begin_ns =
		graph_node_at(graph, ready)->begin_ns + graph_node_at(graph, ready)->duration_ns;
	complete.begin_ns = queue.begin_ns;
	queue_node = graph_add_node(graph, queue);
	complete_node = graph_add_node(graph, complete);
	graph_add_edge(graph, ready, queue_node, TACHO_EDGE_QUEUE);
	graph_add_edge(graph, queue_node, transfer_node, TACHO_EDGE_TRANSFER);
	graph_add_edge(graph, transfer_node, complete_node, TACHO_EDGE_TRANSFER);
	graph_add_edge(graph, complete_node, waiting_node(edit, rank, bucket), TACHO_EDGE_WAIT);
	bucket_calls_add(edit->calls, ready, queue_node);
}

static void add_bucket(const struct pass_edit *edit, const struct pattern *pattern, guint32 bucket)
{
	TachoGraph *graph = edit->graph;
	struct graph_transfer transfer =
		*graph_transfer_at(graph, g_array_index(edit->transfers, guint32, 0));
	enum collective_operation operation = operation_of_name(graph->timeline, transfer.name);
	struct collective_time time;
	struct graph_node node = pattern->transfer;

	transfer.bytes = edit->sums[bucket].bytes;
	transfer.core_wait_off = 0;
	transfer.fixed_origin = MAX(transfer.fixed_origin, ORIGIN_MODELLED);
	transfer.work_origin = MAX(transfer.work_origin, ORIGIN_MODELLED);
	node.transfer = graph->transfers->len;
	node.step = transfer.step;
	node.begin_ns = graph_node_at(graph, ready_node(edit, 0, bucket))->begin_ns;
	transfer.node = graph_add_node(graph, node);
	g_array_append_val(graph->transfers, transfer);
	time = group_new_transfer_like(
		graph_group_at(graph, transfer.group),
		graph_transfer_at(graph, g_array_index(edit->transfers, guint32, 0)), operation,
		transfer.bytes, transfer.n_ranks);
	graph_set_transfer(graph, graph->transfers->len - 1, time.fixed_ns, time.work_ns);
	for (guint32 rank = 0; rank < edit->n_ranks; rank++)
		if (pattern->has[rank])
			connect_rank(edit, pattern, bucket, rank, transfer.node);
}

static void replace_buckets(const struct pass_edit *edit, const struct pattern *pattern,
			    guint8 *is_dropped)
{
	for (guint32 bucket = 0; bucket < edit->n_buckets; bucket++)
		add_bucket(edit, pattern, bucket);
	for (guint i = 0; i < edit->transfers->len; i++)
		is_dropped[g_array_index(edit->transfers, guint32, i)] = 1;
}

/* Gradients up to the bucket's end stand in `counts`, and are of one type, as a bucket is. */
static gboolean check_counts(const struct pass_edit *edit, GError **error)
{
	const struct graph_gradient *gradients = gradients_of(edit, 0);
	guint32 first = 0;

	for (guint i = 0; edit->rule->counts && i < edit->rule->counts->len; i++) {
		guint32 n = g_array_index(edit->rule->counts, guint32, i);

		if (n > edit->n_gradients - first)
			return refuse(edit, error,
				      "there are fewer gradients than the buckets name");
		for (guint32 j = 1; j < n; j++)
			if (strcmp(gradients[first + j].dtype, gradients[first].dtype) != 0)
				return refuse(edit, error,
					      "a bucket would hold gradients of two data types");
		first += n;
	}
	return TRUE;
}

static gboolean check_pass(struct pass_edit *edit, GError **error)
{
	if (!edit->passes[0])
		return refuse(edit, error, "rank 0 has no such backward pass");
	edit->n_gradients = edit->passes[0]->n_gradients;
	if (edit->n_gradients == 0)
		return refuse(edit, error,
			      "the trace shows no gradients (torch::autograd::AccumulateGrad), and "
			      "no file names them (gradient_name_list.json of a trial, shapes in a "
			      "Horovod timeline)");
	for (guint32 i = 0; i < edit->n_gradients; i++)
		if (gradients_of(edit, 0)[i].bytes == 0)
			return refuse(edit, error,
				      "the sizes of the gradients are not known; a trial has them "
				      "in metadata.json and gradient_name_list.json");
	if (edit->passes[0]->packing == TACHO_PACKED_IN_PARTS && !edit->rule->counts)
		return refuse(edit, error,
			      "BytePS sends each gradient by itself; use partition_mb=N to cut "
			      "them into other parts, or fusion=N,N... to join them");
	return check_ranks(edit, error) && check_bytes(edit, error) && check_counts(edit, error);
}

static void rows_by_ordinal_init(struct rows_by_ordinal *rows, guint32 n_ordinals,
				 const guint32 *ordinal_of, guint32 n)
{
	rows->first = g_new0(guint32, (gsize)n_ordinals + 2);
	rows->rows = g_new(guint32, MAX(n, 1u));
	for (guint32 i = 0; i < n; i++)
		if (ordinal_of[i] < n_ordinals)
			rows->first[ordinal_of[i] + 2]++;
	for (guint32 i = 2; i < n_ordinals + 2; i++)
		rows->first[i] += rows->first[i - 1];
	for (guint32 i = 0; i < n; i++)
		if (ordinal_of[i] < n_ordinals)
			rows->rows[rows->first[ordinal_of[i] + 1]++] = i;
}

static void rows_by_ordinal_release(struct rows_by_ordinal *rows)
{
	g_free(rows->first);
	g_free(rows->rows);
}

/* Which passes of ranks, and which transfers as recorded, belong to the same pass of the job. */
static void index_ordinals(struct pass_edit *edit)
{
	const TachoGraph *graph = edit->graph;
	guint32 n_passes = graph->passes->len, n_transfers = graph->transfers->len;
	g_autofree guint32 *of_pass = g_new(guint32, MAX(n_passes, 1u));
	g_autofree guint32 *of_transfer = g_new(guint32, MAX(n_transfers, 1u));

	for (guint32 i = 0; i < n_passes; i++) {
		of_pass[i] = g_array_index(graph->passes, struct graph_pass, i).ordinal;
		edit->n_ordinals = MAX(edit->n_ordinals, of_pass[i] + 1);
	}
	for (guint32 i = 0; i < n_transfers; i++)
		of_transfer[i] = graph_transfer_at(graph, i)->is_removed
					 ? TACHO_NONE
					 : graph_transfer_at(graph, i)->pass;
	rows_by_ordinal_init(&edit->passes_of, edit->n_ordinals, of_pass, n_passes);
	rows_by_ordinal_init(&edit->transfers_of, edit->n_ordinals, of_transfer, n_transfers);
}

static void collect_pass(struct pass_edit *edit, guint32 ordinal)
{
	const struct rows_by_ordinal *passes = &edit->passes_of, *transfers = &edit->transfers_of;

	memset(edit->passes, 0, edit->n_ranks * sizeof(*edit->passes));
	for (guint32 i = passes->first[ordinal]; i < passes->first[ordinal + 1]; i++) {
		const struct graph_pass *pass =
			&g_array_index(edit->graph->passes, struct graph_pass, passes->rows[i]);

		edit->passes[pass->rank_index] = pass;
	}
	g_array_set_size(edit->transfers, 0);
	g_array_append_vals(edit->transfers, transfers->rows + transfers->first[ordinal],
			    transfers->first[ordinal + 1] - transfers->first[ordinal]);
	if (edit->transfers->len && edit->passes[0])
		edit->n_gradients = edit->passes[0]->n_gradients;
}

static void drop_transfers(TachoGraph *graph, const guint8 *is_dropped, guint32 n_transfers)
{
	g_autofree guint8 *is_removed = g_new0(guint8, MAX(graph->nodes->len, 1u));

	for (guint32 i = 0; i < graph->nodes->len; i++) {
		guint32 transfer = graph_node_at(graph, i)->transfer;

		is_removed[i] = transfer < n_transfers && is_dropped[transfer];
	}
	for (guint32 i = 0; i < n_transfers; i++)
		graph_transfer_at(graph, i)->is_removed |= is_dropped[i];
	graph_remove_nodes(graph, is_removed);
}

/* Which passes can be packed anew (`fits`, by ordinal), and a transfer to model the new ones on. Some
 * may not, where records were lost; where that are most, the first one's reason is the error. */
static gboolean check_passes(struct pass_edit *edit, guint8 *fits, guint32 *ret_model,
			     GError **error)
{
	g_autoptr(GError) first_error = NULL;
	guint32 n_fitting = 0, n_refused = 0;

	for (guint32 ordinal = 0; ordinal < edit->n_ordinals; ordinal++) {
		collect_pass(edit, ordinal);
		if (edit->transfers->len == 0)
			continue;
		fits[ordinal] = check_pass(edit, first_error ? NULL : &first_error);
		if (!fits[ordinal])
			n_refused++;
		else if (n_fitting++ == 0)
			*ret_model = g_array_index(edit->transfers, guint32, 0);
	}
	if (n_fitting == 0 && n_refused == 0)
		return change_refuse(
			error, edit->rule->change,
			"the trace shows no collective of gradients in a backward pass");
	if (n_refused >= MAX(n_fitting, 1u)) {
		g_propagate_error(error, g_steal_pointer(&first_error));
		return FALSE;
	}
	if (n_refused > 0)
		graph_note(edit->graph, "%u of %u backward passes keep their buckets: %s",
			   n_refused, n_refused + n_fitting, first_error->message);
	return TRUE;
}

/* The bucket of each gradient; returns how many buckets. */
static guint32 plan_buckets(const struct pass_edit *edit, guint32 *buckets)
{
	const GArray *counts = edit->rule->counts;
	guint32 gradient = 0;

	if (!counts && edit->passes[0]->packing == TACHO_PACKED_IN_BUFFERS)
		return buffer_plan(gradients_of(edit, 0), edit->n_gradients, edit->rule->cap_bytes,
				   buckets);
	if (!counts)
		return bucket_plan(gradients_of(edit, 0), edit->n_gradients, FIRST_CAP_BYTES,
				   edit->rule->cap_bytes, buckets);
	for (guint i = 0; i < counts->len; i++)
		for (guint32 j = 0; j < g_array_index(counts, guint32, i); j++)
			buckets[gradient++] = i;
	if (gradient == edit->n_gradients)
		return counts->len;
	while (gradient < edit->n_gradients)
		buckets[gradient++] = counts->len;
	return counts->len + 1;
}

static void edit_passes(struct pass_edit *edit, const guint8 *fits, guint32 model)
{
	TachoGraph *graph = edit->graph;
	guint32 n_transfers = graph->transfers->len;
	g_autofree guint8 *is_dropped = g_new0(guint8, MAX(n_transfers, 1u));
	struct bucket_calls calls;
	struct pattern pattern;

	bucket_calls_init(&calls, graph);
	edit->calls = &calls;
	pattern_init(&pattern, graph, model);
	for (guint32 ordinal = 0; ordinal < edit->n_ordinals; ordinal++) {
		g_autofree guint32 *buckets = NULL;
		g_autofree struct bucket_summary *sums = NULL;

		if (!fits[ordinal])
			continue;
		collect_pass(edit, ordinal);
		edit->buckets = buckets = g_new(guint32, edit->n_gradients);
		edit->n_buckets = plan_buckets(edit, buckets);
		edit->sums = sums = summarise_buckets(edit);
		if (edit->rule->is_modelled || !is_unchanged(edit))
			replace_buckets(edit, &pattern, is_dropped);
	}
	pattern_release(&pattern);
	bucket_calls_finish(&calls, is_dropped, n_transfers);
	bucket_calls_release(&calls);
	drop_transfers(graph, is_dropped, n_transfers);
}

static gboolean rebucket(TachoGraph *graph, const struct bucket_rule *rule, GError **error)
{
	guint32 n_ranks = graph_n_own_ranks(graph), model = 0;
	g_autofree const struct graph_pass **passes =
		g_new0(const struct graph_pass *, MAX(n_ranks, 1u));
	g_autoptr(GArray) transfers = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autofree guint32 *weights = rank_copies_weights(graph);
	struct pass_edit edit = { .graph = graph,
				  .rule = rule,
				  .n_ranks = n_ranks,
				  .weights = weights,
				  .passes = passes,
				  .transfers = transfers };
	g_autofree guint8 *fits = NULL;
	gboolean is_done;

	graph_fold_hops(graph);
	index_ordinals(&edit);
	fits = g_new0(guint8, MAX(edit.n_ordinals, 1u));
	is_done = check_passes(&edit, fits, &model, error);
	if (is_done)
		edit_passes(&edit, fits, model);
	rows_by_ordinal_release(&edit.passes_of);
	rows_by_ordinal_release(&edit.transfers_of);
	return is_done;
}

gboolean parse_bucket_mb(struct change *change, const gchar *text, GError **error)
{
	struct quantity value;

	if (!quantity_parse(text, UNITS_NONE, &value) || value.form != QUANTITY_PLAIN ||
	    value.number <= 0 || value.number > MAX_MIB)
		return change_refuse(
			error, change,
			"write bucket_mb=N, with N in MiB, more than 0 and at most %.0f", MAX_MIB);
	change->value.bytes = (guint64)(value.number * 1024 * 1024);
	return TRUE;
}

gboolean apply_bucket_mb(TachoGraph *graph, const struct change *change, GError **error)
{
	struct bucket_rule rule = { .change = change, .cap_bytes = change->value.bytes };

	return rebucket(graph, &rule, error);
}

gboolean parse_fusion(struct change *change, const gchar *text, GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	change->counts = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint i = 0; words[i]; i++) {
		guint32 n;

		if (!quantity_parse_count(words[i], 1, G_MAXINT32, &n))
			return change_refuse(error, change,
					     "write fusion=N,N..., the number of gradients in each "
					     "bucket, in the order in which they come");
		g_array_append_val(change->counts, n);
	}
	return change->counts->len > 0 ||
	       change_refuse(error, change, "the list names no bucket; write fusion=N,N...");
}

gboolean apply_fusion(TachoGraph *graph, const struct change *change, GError **error)
{
	struct bucket_rule rule = { .change = change, .counts = change->counts };

	return rebucket(graph, &rule, error);
}

gboolean bucket_plan_model(TachoGraph *graph, const struct change *change, GError **error)
{
	struct bucket_rule rule = { .change = change,
				    .cap_bytes = change->counts ? 0 : change->value.bytes,
				    .counts = change->counts,
				    .is_modelled = TRUE };

	return rebucket(graph, &rule, error);
}
