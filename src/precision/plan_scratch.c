#include "precision/plan_scratch.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/quantile.h"
#include "precision/plan_memory.h"

/* What a pass of an operation holds becomes more, or less. */
struct change {
	guint32 place; /* pass * operations + operation */
	guint32 cell;
	gint64 time_ns, bytes;
};

/* TACHO_NONE: of none. */
static guint32 place_of(const struct layers *layers, guint32 node)
{
	guint32 operation = node == TACHO_NONE ? TACHO_NONE : layers->operation_of[node];

	return operation == TACHO_NONE ? TACHO_NONE
				       : layers->pass_of[node] * layers->n_operations + operation;
}

gboolean plan_scratch_has(const struct layers *layers, const struct graph_block *block)
{
	guint32 place = place_of(layers, block->begin.node);

	return place != TACHO_NONE && place == place_of(layers, block->end.node) &&
	       layers_cell(layers->graph, graph_node_at(layers->graph, block->begin.node)) ==
		       layers_cell(layers->graph, graph_node_at(layers->graph, block->end.node));
}

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct change *x = a, *y = b;

	return ORDER(x->place, y->place) ?: ORDER(x->cell, y->cell) ?:
	       ORDER(x->time_ns, y->time_ns) ?: ORDER(x->bytes, y->bytes);
}

/* In the pass in which a moment is, if it is in one. */
static void add_change(GArray *changes, const struct job_run *run,
		       const struct graph_moment *moment, gint64 bytes)
{
	struct change change = { .place = place_of(&run->layers, moment->node),
				 .time_ns = moment->time_ns,
				 .bytes = bytes };

	if (change.place == TACHO_NONE)
		return;
	change.cell = layers_cell(run->graph, graph_node_at(run->graph, moment->node));
	g_array_append_val(changes, change);
}

static GArray *find_changes(const struct job_run *run)
{
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct change));

	FOR_EACH(const struct graph_block, block, run->graph->blocks) {
		add_change(changes, run, &block->begin, block->bytes);
		add_change(changes, run, &block->end, -block->bytes);
	}
	g_array_sort(changes, compare_changes);
	return changes;
}

/* (1) */
static void find_peaks(const struct job_run *run, gdouble *peaks)
{
	g_autoptr(GArray) changes = find_changes(run);
	g_autoptr(GArray) of_cells = g_array_new(FALSE, FALSE, sizeof(gint64));
	gint64 held = 0, most = 0;

	FOR_EACH_AT(const struct change, change, i, changes) {
		gboolean is_last = i + 1 == changes->len || change[1].place != change->place;

		held += change->bytes;
		most = MAX(most, held);
		if (!is_last && change[1].cell == change->cell)
			continue;
		g_array_append_val(of_cells, most);
		held = most = 0;
		if (!is_last)
			continue;
		peaks[change->place] = quantile(of_cells, 0.5);
		g_array_set_size(of_cells, 0);
	}
}

/* (2): what is handed out in each pass and outlasts it, and copies, in a step. [place] */
static gdouble *find_planned(const struct precision_job *job, const struct job_run *run)
{
	const struct layers *layers = &job->reference->layers;
	gdouble *planned = g_new0(gdouble, MAX(N_LAYER_PASSES * layers->n_operations, 1u));
	guint8 *formats = g_memdup2(run->formats, MAX(layers->n_operations, 1u));
	TachoGraph *graph = graph_copy(job->reference->graph);
	gdouble n_cells = MAX(graph->timeline->ranks->len * graph->steps->len, 1u);

	precision_job_follow(job, formats);
	plan_memory_edit(job, graph, formats, NULL, 0);
	FOR_EACH(const struct graph_block, block, graph->blocks) {
		guint32 place = place_of(layers, block->begin.node);

		if (place != TACHO_NONE && (block->is_cast || !plan_scratch_has(layers, block)))
			planned[place] += (gdouble)block->bytes / n_cells;
	}
	tacho_graph_free(graph);
	g_free(formats);
	return planned;
}

gdouble *plan_scratch_of_run(const struct precision_job *job, const struct job_run *run)
{
	guint32 n = run->layers.n_operations;
	g_autofree gdouble *planned = NULL;
	gdouble *scratch;

	if (run->graph->blocks->len == 0 || job->reference->graph->blocks->len == 0)
		return NULL;
	scratch = g_new0(gdouble, MAX(N_LAYER_PASSES * n, 1u));
	find_peaks(run, scratch);
	planned = find_planned(job, run);
	for (guint32 i = 0; i < N_LAYER_PASSES * n; i++)
		scratch[i] = run->layers.n_found[i % n] > 0 ? MAX(scratch[i] - planned[i], 0) : -1;
	return scratch;
}
