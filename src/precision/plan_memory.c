#include "precision/plan_memory.h"

#include <string.h>

#include "base/for_each.h"
#include "base/hash_mix.h"
#include "precision/operation_kind.h"
#include "precision/plan_scratch.h"
#include "precision/saved_bytes.h"
#include "predict/held_memory.h"
#include "trace/none_rows.h"

/* Where an operation's passes begin and end in a cell. */
struct span {
	guint32 first, last; /* nodes of a host's thread; TACHO_NONE */
};

struct editor {
	const struct precision_job *job;
	TachoGraph *graph;
	const guint8 *formats;
	const guint32 *set_of; /* [rank]; NULL: all ranks are of `set` */
	guint32 set;
	guint32 n_operations;
	struct span *spans;	  /* [(cell * N_LAYER_PASSES + pass) * n_operations + operation] */
	guint8 *is_released;	  /* [operation]: (3) */
	guint32 *last_reader;	  /* [operation]; TACHO_NONE */
	guint32 *devices;	  /* [rank]: the memory that casts are in */
	GHashTable *own_copies;	  /* copy_key() -> how many: (4) */
	GHashTable *kept_outputs; /* copy_key() */
};

static struct span *span_at(const struct editor *editor, guint32 cell, guint pass,
			    guint32 operation)
{
	return &editor->spans[((gsize)cell * N_LAYER_PASSES + pass) * editor->n_operations +
			      operation];
}

static void find_spans(struct editor *editor, guint32 n_cells)
{
	const struct layers *layers = &editor->job->reference->layers;
	gsize n = (gsize)n_cells * N_LAYER_PASSES * editor->n_operations;

	editor->spans = g_new(struct span, MAX(n, 1u));
	for (gsize i = 0; i < n; i++)
		editor->spans[i] = (struct span){ TACHO_NONE, TACHO_NONE };
	FOR_EACH_AT(const struct graph_node, node, i, editor->graph->nodes) {
		guint32 cell = layers->operation_of[i] == TACHO_NONE
				       ? TACHO_NONE
				       : layers_cell(editor->graph, node);
		struct span *span;

		if (cell == TACHO_NONE || node->kind == TACHO_NODE_DEVICE ||
		    node->kind == TACHO_NODE_COPY)
			continue;
		span = span_at(editor, cell, layers->pass_of[i], layers->operation_of[i]);
		span->first = span->first == TACHO_NONE ? i : span->first;
		span->last = i;
	}
}

static guint stored_by(const struct editor *editor, guint32 producer)
{
	return precision_job_stores(editor->job, producer, editor->formats[producer]);
}

static guint read_by(const struct editor *editor, guint32 operation)
{
	return precision_job_reads(editor->job, operation, editor->formats[operation]);
}

/* Whose memory each operation's output is: its own, or what it views. [operation], the caller's. */
static guint32 *find_makers(const struct editor *editor)
{
	const struct identity *identity = editor->job->identity;
	guint32 *makers = none_rows_new(editor->n_operations);

	for (guint32 i = 0; i < editor->n_operations; i++) {
		const struct identity_operation *own = identity_at(identity, i);
		guint32 from = own->n_inputs > 0
				       ? identity_input_at(identity, own->first_input)->producer
				       : IDENTITY_OUTSIDE;
		gboolean is_view = operation_kind_keeps(own->kind) & KEEPS_STORAGE && from < i;

		makers[i] = is_view ? makers[from] : i;
	}
	return makers;
}

/* Whose output somebody keeps as it is for the backward pass, with these formats. [operation], the caller's. */
static guint8 *find_kept(const struct editor *editor, const guint32 *makers, const guint8 *formats)
{
	const struct precision_job *job = editor->job;
	guint8 *is_kept = g_new0(guint8, MAX(editor->n_operations, 1u));

	for (guint32 i = 0; i < editor->n_operations; i++) {
		const struct identity_operation *own = identity_at(job->identity, i);
		guint keeps = operation_kind_keeps(own->kind);
		guint reads = precision_job_reads(job, i, formats[i]);

		is_kept[makers[i]] |= (keeps & (KEEPS_OUTPUT | KEEPS_UNKNOWN)) != 0;
		for (guint32 k = 0; k < own->n_inputs; k++) {
			guint32 from =
				identity_input_at(job->identity, own->first_input + k)->producer;

			if (from != IDENTITY_OUTSIDE && keeps & (KEEPS_INPUTS | KEEPS_UNKNOWN) &&
			    precision_job_stores(job, from, formats[from]) == reads)
				is_kept[makers[from]] = TRUE;
		}
	}
	return is_kept;
}

/* (3) */
static void find_released(struct editor *editor)
{
	const struct precision_job *job = editor->job;
	g_autofree guint32 *makers = find_makers(editor);
	g_autofree guint8 *reference = g_malloc(MAX(editor->n_operations, 1u));
	g_autofree guint8 *was_kept = NULL, *is_kept = NULL;

	memset(reference, job->reference->format, editor->n_operations);
	precision_job_follow(job, reference);
	was_kept = find_kept(editor, makers, reference);
	is_kept = find_kept(editor, makers, editor->formats);
	for (guint32 i = 0; i < editor->n_operations; i++) {
		const struct identity_operation *own = identity_at(job->identity, i);

		editor->is_released[i] = was_kept[makers[i]] && !is_kept[makers[i]];
		for (guint32 k = 0; k < own->n_inputs; k++) {
			guint32 from =
				identity_input_at(job->identity, own->first_input + k)->producer;

			if (from != IDENTITY_OUTSIDE)
				editor->last_reader[makers[from]] = i;
		}
	}
	for (guint32 i = 0; i < editor->n_operations; i++) /* a view that had to be copied */
		editor->last_reader[i] = editor->last_reader[makers[i]];
}

/* --- blocks that are there ---------------------------------------------------------------------- */

static gdouble width_ratio(guint to, guint from)
{
	return (gdouble)number_format_bytes(to) / number_format_bytes(from);
}

static void resize(const struct editor *editor, struct graph_block *block, guint32 operation,
		   guint pass)
{
	const struct identity_operation *own = identity_at(editor->job->identity, operation);
	enum number_format reference = editor->job->reference->format;
	gdouble weight_bytes = own->weight * number_format_bytes(FORMAT_FP32);
	gdouble ratio =
		pass == LAYER_FORWARD
			? width_ratio(stored_by(editor, operation), number_format_result(reference))
			: width_ratio(read_by(editor, operation), format_reads(reference));

	if (operation_kind_keeps(own->kind) & KEEPS_MASK &&
	    (gdouble)block->bytes == own->elements_out)
		return;
	if (pass == LAYER_BACKWARD && (gdouble)block->bytes == weight_bytes)
		ratio = width_ratio(precision_job_weight_gradient(editor->job, operation,
								  editor->formats[operation]),
				    number_format_result(reference));
	block->bytes = (gint64)((gdouble)block->bytes * ratio);
}

static struct graph_moment moment_at(const struct editor *editor, guint32 node, gdouble share)
{
	const struct graph_node *there = graph_node_at(editor->graph, node);
	struct graph_moment moment = { editor->graph->origin_ns + there->begin_ns +
					       (share > 0 ? there->duration_ns : 0),
				       node, share };

	return moment;
}

static void release_early(const struct editor *editor, struct graph_block *block, guint32 operation,
			  guint32 cell)
{
	const struct layers *layers = &editor->job->reference->layers;
	guint32 end = block->end.node, last = editor->last_reader[operation];
	struct span *span;

	if (!editor->is_released[operation] || last == TACHO_NONE || end == TACHO_NONE ||
	    layers->operation_of[end] == TACHO_NONE || layers->pass_of[end] != LAYER_BACKWARD)
		return;
	span = span_at(editor, cell, LAYER_FORWARD, last);
	if (span->last != TACHO_NONE)
		block->end = moment_at(editor, span->last, 1);
}

static gboolean is_of_set(const struct editor *editor, guint32 cell)
{
	return !editor->set_of || editor->set_of[cell / editor->graph->steps->len] == editor->set;
}

/* (5): < 0: as in the reference. */
static gdouble scratch_of(const struct editor *editor, guint32 operation, guint pass)
{
	const struct job_run *run = editor->job->run_of[editor->formats[operation]];

	return run && run != editor->job->reference && run->scratch_bytes
		       ? run->scratch_bytes[pass * editor->n_operations + operation]
		       : -1;
}

static void edit_blocks(struct editor *editor)
{
	const struct layers *layers = &editor->job->reference->layers;

	FOR_EACH(struct graph_block, block, editor->graph->blocks) {
		guint32 node = block->begin.node, operation, cell;

		if (node == TACHO_NONE || layers->operation_of[node] == TACHO_NONE)
			continue;
		operation = layers->operation_of[node];
		cell = layers_cell(editor->graph, graph_node_at(editor->graph, node));
		if (cell == TACHO_NONE || !is_of_set(editor, cell))
			continue;
		if (scratch_of(editor, operation, layers->pass_of[node]) >= 0 &&
		    plan_scratch_has(layers, block)) {
			block->bytes = 0; /* hold_scratch() has that of the format instead */
			continue;
		}
		resize(editor, block, operation, layers->pass_of[node]);
		if (layers->pass_of[node] == LAYER_FORWARD)
			release_early(editor, block, operation, cell);
	}
}

/* --- what operations copy themselves ------------------------------------------------------------ */

static gpointer copy_key(guint32 cell, guint32 operation, gdouble bytes)
{
	return GSIZE_TO_POINTER(
		hash_mix(hash_mix(hash_mix(HASH_MIX_START, cell), operation), (guint64)bytes));
}

/* (4): what an operation hands out in its forward pass and gives back in its backward pass, and what outlasts the forward pass. */
static void find_own_copies(struct editor *editor)
{
	const struct layers *layers = &editor->job->reference->layers;

	FOR_EACH(const struct graph_block, block, editor->graph->blocks) {
		guint32 from = block->begin.node, to = block->end.node, operation, cell;
		gpointer key;
		guint n;

		operation = from == TACHO_NONE ? TACHO_NONE : layers->operation_of[from];
		if (operation == TACHO_NONE || to == TACHO_NONE ||
		    layers->pass_of[from] != LAYER_FORWARD || layers->pass_of[to] != LAYER_BACKWARD)
			continue;
		cell = layers_cell(editor->graph, graph_node_at(editor->graph, from));
		key = copy_key(cell, operation, (gdouble)block->recorded_bytes);
		g_hash_table_add(editor->kept_outputs, key);
		if (layers->operation_of[to] != operation)
			continue;
		n = GPOINTER_TO_UINT(g_hash_table_lookup(editor->own_copies, key));
		g_hash_table_insert(editor->own_copies, key, GUINT_TO_POINTER(n + 1));
	}
}

/* Whether the operation keeps a copy of its own of this tensor instead; each counts for one tensor. */
static gboolean take_own_copy(struct editor *editor, guint32 cell, guint32 operation,
			      const struct identity_input *input)
{
	gdouble bytes =
		input->elements * number_format_bytes(format_reads(editor->job->reference->format));
	gpointer key = copy_key(cell, operation, bytes);
	guint n = GPOINTER_TO_UINT(g_hash_table_lookup(editor->own_copies, key));

	if (n == 0 || input->producer == IDENTITY_OUTSIDE ||
	    g_hash_table_contains(editor->kept_outputs, copy_key(cell, input->producer, bytes)))
		return FALSE;
	g_hash_table_insert(editor->own_copies, key, GUINT_TO_POINTER(n - 1));
	return TRUE;
}

/* --- copies ------------------------------------------------------------------------------------- */

static void hold(struct editor *editor, guint32 cell, gdouble bytes, guint32 from, guint32 to)
{
	guint32 rank_index = cell / editor->graph->steps->len;
	struct graph_block block = { .rank_index = rank_index,
				     .slice = TACHO_NONE,
				     .device = editor->devices[rank_index],
				     .is_cast = TRUE };

	if (from == TACHO_NONE || to == TACHO_NONE || bytes < 1 || bytes > (gdouble)G_MAXINT64 / 2)
		return;
	block.bytes = (gint64)bytes;
	block.begin = moment_at(editor, from, 0);
	block.end = moment_at(editor, to, 1);
	g_array_append_val(editor->graph->blocks, block);
}

static void hold_copies(struct editor *editor, guint32 cell, guint32 operation)
{
	const struct identity_operation *own = identity_at(editor->job->identity, operation);
	const struct span *forward = span_at(editor, cell, LAYER_FORWARD, operation);
	const struct span *backward = span_at(editor, cell, LAYER_BACKWARD, operation);
	guint reads = read_by(editor, operation);
	guint32 kept_to = backward->last != TACHO_NONE ? backward->last : forward->last;
	gboolean keeps = saved_bytes_keeps_inputs(own) &&
			 precision_job_keeps(editor->job, operation, editor->formats[operation]) !=
				 N_NUMBER_FORMATS;

	if (own->rule == PRECISION_CHOSEN && reads != format_reads(editor->job->reference->format))
		hold(editor, cell, own->weight * number_format_bytes(reads), forward->first,
		     saved_bytes_keeps_weight(editor->job, operation, editor->formats[operation])
			     ? kept_to
			     : forward->last);
	for (guint32 i = 0; i < own->n_inputs; i++) {
		const struct identity_input *input =
			identity_input_at(editor->job->identity, own->first_input + i);
		guint stored = input->producer == IDENTITY_OUTSIDE
				       ? reads
				       : stored_by(editor, input->producer);
		gboolean is_own = take_own_copy(editor, cell, operation, input);

		if (stored == reads)
			continue;
		hold(editor, cell, input->elements * number_format_bytes(reads), forward->first,
		     keeps && !is_own ? kept_to : forward->last);
		hold(editor, cell, input->elements * number_format_bytes(stored), backward->first,
		     backward->last);
	}
}

static void hold_scratch(struct editor *editor, guint32 cell, guint32 operation)
{
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++) {
		const struct span *span = span_at(editor, cell, pass, operation);

		hold(editor, cell, scratch_of(editor, operation, pass), span->first, span->last);
	}
}

/* A device's memory, where the rank holds any; else the host's. */
static void find_devices(struct editor *editor)
{
	FOR_EACH(const struct graph_block, block, editor->graph->blocks)
		if (block->rank_index < editor->graph->timeline->ranks->len && block->device > 0)
			editor->devices[block->rank_index] = block->device;
}

void plan_memory_edit(const struct precision_job *job, TachoGraph *graph, const guint8 *formats,
		      const guint32 *set_of, guint32 set)
{
	struct editor editor = { .job = job,
				 .graph = graph,
				 .formats = formats,
				 .set_of = set_of,
				 .set = set,
				 .n_operations = job->identity->operations->len };
	guint32 n_cells = graph->timeline->ranks->len * graph->steps->len;

	if (graph->blocks->len == 0)
		return;
	editor.is_released = g_new0(guint8, editor.n_operations);
	editor.last_reader = none_rows_new(editor.n_operations);
	editor.devices = g_new0(guint32, MAX(graph->timeline->ranks->len, 1u));
	find_spans(&editor, n_cells);
	find_released(&editor);
	find_devices(&editor);
	editor.own_copies = g_hash_table_new(NULL, NULL);
	editor.kept_outputs = g_hash_table_new(NULL, NULL);
	find_own_copies(&editor);
	edit_blocks(&editor);
	for (guint32 cell = 0; cell < n_cells; cell++)
		for (guint32 i = 0; i < editor.n_operations && is_of_set(&editor, cell); i++) {
			hold_copies(&editor, cell, i);
			hold_scratch(&editor, cell, i);
		}
	g_free(editor.spans);
	g_free(editor.is_released);
	g_free(editor.last_reader);
	g_free(editor.devices);
	g_hash_table_unref(editor.own_copies);
	g_hash_table_unref(editor.kept_outputs);
}

gdouble plan_memory_peak(const TachoReplay *replay)
{
	return (gdouble)replay_memory_peak(replay, FALSE).bytes;
}
