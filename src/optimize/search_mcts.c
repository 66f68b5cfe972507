/* search_mcts: Monte Carlo tree search. A node of the tree is the begin of a partition: the buckets up to some gradient. Its children are ends
 * of the next bucket. A try goes down the tree to a node with a child that was never tried, by the upper confidence bound (L. Kocsis and C.
 * Szepesvari, Bandit based Monte-Carlo planning, 2006), completes the partition from there, and tells all nodes on its way what came of it.
 *
 * (1) The ends offered are one to sixteen gradients on, and from there on each about a fourth further than the one before: what is left of
 *     fineness, the walks that follow find.
 * (2) What follows behind a node is, in turns, as in the best partition so far, or buckets of about one size that is drawn.
 * (3) The reward is the step of what was best before the search by the step that came; of a node the mean counts, or the largest
 *     (ucb_is_max).
 * (4) Nodes below which all was tried are passed by, so that a small tree is tried whole.
 * (5) There are always TREES trees with draws of their own, on as many cores as there are; after each round what they kept is joined. So what
 *     comes out depends on the seed and the number of rounds alone. */
#include "optimize/bucket_search.h"

#include <math.h>
#include <string.h>

#include "base/worker_pool.h"
#include "optimize/random_stream.h"

#define TREES		    4
#define TRIES_OF_A_ROUND    1000
#define ROUNDS_WITHOUT_GAIN 10
#define MAX_NODES	    (1u << 19) /* of a tree: 40 MB; a full one is searched on without new nodes */
#define FINE_WIDTH	    16
#define NO_NODE		    G_MAXUINT32

struct tree_node {
	guint32 end;	     /* of the buckets so far */
	guint32 first_child; /* the other ones behind it by `sibling` */
	guint32 sibling;
	guint32 next_end;     /* the next child to be made; 0: all are there */
	guint32 n;	      /* tries that went through it */
	gboolean is_done;     /* all below it was tried */
	gdouble sum, largest; /* of rewards */
};

struct tree {
	struct bucket_search search; /* its own: tries and what it kept */
	struct random_stream random;
	GArray *nodes; /* struct tree_node; the first is the root */
	guint32 *ends; /* room for n */
	guint32 *path; /* nodes of the try, room for n + 1 */
	gdouble base_ns;
};

struct trees {
	struct tree tree[TREES];
};

static struct tree_node *node_at(const struct tree *tree, guint32 node)
{
	return &g_array_index(tree->nodes, struct tree_node, node);
}

/* The end of a bucket that begins at `begin` may be up to here: types are not mixed. */
static guint32 last_end(const struct bucket_problem *problem, guint32 begin)
{
	guint32 end = begin + 1;

	while (end < problem->n && !problem->begins_bucket[end])
		end++;
	return end;
}

/* The end that is offered behind `end`, of a bucket that begins at `begin`; 0: there is none. */
static guint32 following_end(const struct bucket_problem *problem, guint32 begin, guint32 end)
{
	guint32 last = last_end(problem, begin), width = end - begin;

	if (end >= last)
		return 0;
	return MIN(begin + (width < FINE_WIDTH ? width + 1 : width + width / 4), last);
}

static guint32 add_node(struct tree *tree, guint32 end)
{
	const struct bucket_problem *problem = tree->search.problem;
	struct tree_node node = { .end = end, .first_child = NO_NODE, .sibling = NO_NODE };

	node.next_end = end < problem->n ? end + 1 : 0;
	g_array_append_val(tree->nodes, node);
	return tree->nodes->len - 1;
}

static gdouble bound(const struct tree *tree, const struct tree_node *parent,
		     const struct tree_node *child)
{
	const struct bucket_search *search = &tree->search;
	gdouble value = search->ucb_is_max ? child->largest : child->sum / child->n;

	return value + search->ucb_gamma * sqrt(2 * log(parent->n) / child->n);
}

static guint32 best_child(const struct tree *tree, guint32 node)
{
	const struct tree_node *parent = node_at(tree, node);
	guint32 best = NO_NODE;
	gdouble best_bound = -1;

	for (guint32 child = parent->first_child; child != NO_NODE;
	     child = node_at(tree, child)->sibling) {
		gdouble value = bound(tree, parent, node_at(tree, child));

		if (value > best_bound && !node_at(tree, child)->is_done) {
			best_bound = value;
			best = child;
		}
	}
	return best;
}

/* The node is a whole partition, or all that it has below it are done. */
static gboolean is_done(const struct tree *tree, guint32 node)
{
	const struct tree_node *at = node_at(tree, node);

	if (at->end == tree->search.problem->n)
		return TRUE;
	if (at->next_end > 0)
		return FALSE;
	for (guint32 child = at->first_child; child != NO_NODE;
	     child = node_at(tree, child)->sibling)
		if (!node_at(tree, child)->is_done)
			return FALSE;
	return TRUE;
}

/* The node's next child, which was never tried. */
static guint32 grow(struct tree *tree, guint32 node)
{
	guint32 end = node_at(tree, node)->next_end, child = add_node(tree, end);
	struct tree_node *parent = node_at(tree, node);

	node_at(tree, child)->sibling = parent->first_child;
	parent->first_child = child;
	parent->next_end = following_end(tree->search.problem, parent->end, end);
	return child;
}

/* Behind `end` as the best partition so far has it. */
static guint32 complete_as_best(const struct tree *tree, guint32 n, guint32 end)
{
	const struct bucket_candidate *best = &tree->search.kept[0];

	for (guint32 i = 0; i < best->n_buckets; i++)
		if (best->ends[i] > end)
			tree->ends[n++] = best->ends[i];
	return n;
}

/* Behind `end` in buckets of about one size. */
static guint32 complete_evenly(struct tree *tree, guint32 n, guint32 end)
{
	const struct bucket_problem *problem = tree->search.problem;
	guint32 n_left = problem->n - end;
	gdouble width = pow(n_left, random_stream_share(&tree->random));

	for (gdouble at = end + width; at < problem->n; at += MAX(width, 1.0)) {
		guint32 place = (guint32)at;

		while (end < place && end < problem->n) {
			end++;
			if (end == place || (end < problem->n && problem->begins_bucket[end]))
				tree->ends[n++] = end;
		}
	}
	for (end++; end <= problem->n; end++)
		if (end == problem->n || problem->begins_bucket[end])
			tree->ends[n++] = end;
	return n;
}

/* The way to a node with a new child, and what follows behind it. Returns the length of the way; the buckets are in tree->ends. */
static guint32 walk(struct tree *tree, guint32 *ret_n_buckets)
{
	const struct bucket_problem *problem = tree->search.problem;
	guint32 node = 0, depth = 0, n = 0;
	gboolean is_new = FALSE;

	tree->path[depth++] = node;
	while (!is_new && node_at(tree, node)->end < problem->n) {
		gboolean may_grow =
			node_at(tree, node)->next_end > 0 && tree->nodes->len < MAX_NODES;

		is_new = may_grow;
		node = may_grow ? grow(tree, node) : best_child(tree, node);
		if (node == NO_NODE)
			break;
		tree->path[depth++] = node;
		tree->ends[n++] = node_at(tree, node)->end;
	}
	if (n > 0 && tree->ends[n - 1] == problem->n)
		*ret_n_buckets = n;
	else if (random_stream_below(&tree->random, 2) == 0)
		*ret_n_buckets = complete_as_best(tree, n, n > 0 ? tree->ends[n - 1] : 0);
	else
		*ret_n_buckets = complete_evenly(tree, n, n > 0 ? tree->ends[n - 1] : 0);
	return depth;
}

static void try_once(struct tree *tree)
{
	guint32 n_buckets, depth = walk(tree, &n_buckets);
	gdouble step_ns = bucket_search_try(&tree->search, "mcts", tree->ends, n_buckets);
	gdouble reward = step_ns > 0 ? tree->base_ns / step_ns : 0;

	for (guint32 i = depth; i-- > 0;) {
		struct tree_node *node = node_at(tree, tree->path[i]);

		node->is_done = is_done(tree, tree->path[i]);

		node->n++;
		node->sum += reward;
		node->largest = MAX(node->largest, reward);
	}
}

static void run_round(guint index, gpointer data)
{
	struct tree *tree = &((struct trees *)data)->tree[index];
	guint64 first = tree->search.tries;

	while (tree->search.tries - first < TRIES_OF_A_ROUND && !node_at(tree, 0)->is_done)
		try_once(tree);
}

static void tree_init(struct tree *tree, const struct bucket_search *search, guint number)
{
	guint32 n = search->problem->n;

	bucket_search_init(&tree->search, search->problem, search->seed, 0, 0);
	tree->search.ucb_gamma = search->ucb_gamma;
	tree->search.ucb_is_max = search->ucb_is_max;
	bucket_search_join(&tree->search, search);
	tree->search.tries = 0;
	tree->random = random_stream_of(search->seed, TREES + number);
	tree->nodes = g_array_new(FALSE, FALSE, sizeof(struct tree_node));
	tree->ends = g_new(guint32, (gsize)n + 1);
	tree->path = g_new(guint32, (gsize)n + 2);
	tree->base_ns = search->kept[0].step_ns;
	add_node(tree, 0);
}

static void tree_release(struct tree *tree)
{
	bucket_search_release(&tree->search);
	g_array_unref(tree->nodes);
	g_free(tree->ends);
	g_free(tree->path);
}

/* All trees then know the best of all. */
static void join_trees(struct bucket_search *search, struct trees *trees)
{
	for (guint i = 0; i < TREES; i++) {
		bucket_search_join(search, &trees->tree[i].search);
		trees->tree[i].search.tries = 0;
	}
	for (guint i = 0; i < TREES; i++) {
		bucket_search_join(&trees->tree[i].search, search);
		trees->tree[i].search.tries = 0;
	}
}

void search_mcts(struct bucket_search *search)
{
	struct trees trees;
	guint n_idle = 0;

	if (search->n_kept == 0) {
		g_autofree guint32 *ends = g_new(guint32, search->problem->n);

		bucket_search_try(search, "mcts", ends,
				  bucket_search_allow(search->problem, ends, 0));
	}
	for (guint i = 0; i < TREES; i++)
		tree_init(&trees.tree[i], search, i);
	while (!bucket_search_is_over(search) && n_idle < ROUNDS_WITHOUT_GAIN) {
		gdouble before_ns = search->kept[0].step_ns;

		worker_pool_run(TREES, run_round, &trees);
		join_trees(search, &trees);
		n_idle = search->kept[0].step_ns < before_ns ? 0 : n_idle + 1;
	}
	for (guint i = 0; i < TREES; i++)
		tree_release(&trees.tree[i]);
}
