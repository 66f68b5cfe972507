#include "replay/replay_trial.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/quantile.h"
#include "base/time_units.h"
#include "base/worker_pool.h"
#include "replay/shared_run.h"

/* The bits of a word of a set.
 * Source: derived from the width of a guint64. */
#define BITS 64

struct trial_base {
	const TachoGraph *graph;
	TachoReplay *replay;
	struct step_marks marks;
	guint32 *position;		/* in graph->order; NULL: a node's is its number */
	struct shared_history *history; /* where resources are shared */
};

/* How a node was before the trial. */
struct played_node {
	gint64 begin_ns, end_ns;
	guint32 node, cause;
};

struct replay_trial {
	const struct trial_base *base;
	TachoGraph view; /* of the base's graph, with durations and transfers of its own */
	TachoReplay *replay;
	GArray *steps; /* gint64 */
	guint32 n_played;
	GArray *edited; /* struct trial_edit, as they were */

	/* Where nothing is shared. */
	guint64 *reached; /* a bit a node, by position */
	GArray *undo;	  /* struct played_node */

	struct shared_run *run; /* where something is */
};

/* --- the base --------------------------------------------------------------------------------- */

static gboolean play_base(struct trial_base *base, GError **error)
{
	struct shared_run *run;
	gboolean is_done;

	if (!base->graph->is_shared) {
		base->replay = tacho_replay_run(base->graph, error);
		return base->replay != NULL;
	}
	base->replay = replay_new(base->graph);
	base->history = shared_history_new(base->graph);
	run = shared_run_new(base->replay, NULL);
	run->history = base->history;
	is_done = shared_run_play(run, error);
	shared_run_free(run);
	return is_done;
}

struct trial_base *trial_base_new(const TachoGraph *graph, GError **error)
{
	struct trial_base *base = g_new0(struct trial_base, 1);

	base->graph = graph;
	if (!play_base(base, error)) {
		trial_base_free(base);
		return NULL;
	}
	step_marks_init(&base->marks, graph);
	if (graph->order) {
		base->position = g_new(guint32, MAX(graph->n_frozen, 1u));
		for (guint32 i = 0; i < graph->n_frozen; i++)
			base->position[graph->order[i]] = i;
	}
	return base;
}

void trial_base_free(struct trial_base *base)
{
	if (!base)
		return;
	step_marks_release(&base->marks);
	shared_history_free(base->history);
	tacho_replay_free(base->replay);
	g_free(base->position);
	g_free(base);
}

const TachoReplay *trial_base_borrow_replay(const struct trial_base *base)
{
	return base->replay;
}

/* --- a trial ---------------------------------------------------------------------------------- */

struct replay_trial *replay_trial_new(const struct trial_base *base)
{
	struct replay_trial *trial = g_new0(struct replay_trial, 1);
	gsize n = base->replay->n_nodes;

	trial->base = base;
	trial->view = *base->graph;
	trial->view.duration_ns = g_memdup2(base->graph->duration_ns, n * sizeof(gint64));
	trial->view.transfers = g_array_copy(base->graph->transfers);
	trial->replay = replay_new(&trial->view);
	trial->steps = g_array_new(FALSE, FALSE, sizeof(gint64));
	trial->edited = g_array_new(FALSE, FALSE, sizeof(struct trial_edit));
	if (base->graph->is_shared) {
		trial->run = shared_run_new(trial->replay, NULL);
		return trial;
	}
	memcpy(trial->replay->begin_ns, base->replay->begin_ns, n * sizeof(gint64));
	memcpy(trial->replay->end_ns, base->replay->end_ns, n * sizeof(gint64));
	memcpy(trial->replay->cause, base->replay->cause, n * sizeof(guint32));
	trial->reached = g_new0(guint64, n / BITS + 1);
	trial->undo = g_array_new(FALSE, FALSE, sizeof(struct played_node));
	return trial;
}

void replay_trial_free(struct replay_trial *trial)
{
	if (!trial)
		return;
	shared_run_free(trial->run);
	tacho_replay_free(trial->replay);
	g_free(trial->view.duration_ns);
	g_array_unref(trial->view.transfers);
	g_array_unref(trial->steps);
	g_array_unref(trial->edited);
	g_clear_pointer(&trial->undo, g_array_unref);
	g_free(trial->reached);
	g_free(trial);
}

static void set_duration(struct replay_trial *trial, const struct trial_edit *edit)
{
	const struct graph_node *node = graph_node_at(&trial->view, edit->node);

	trial->view.duration_ns[edit->node] = edit->duration_ns;
	if (node->kind == TACHO_NODE_TRANSFER) {
		struct graph_transfer *transfer = graph_transfer_at(&trial->view, node->transfer);

		transfer->fixed_ns = MAX(edit->fixed_ns, 0.0);
		transfer->work_ns = MAX(edit->work_ns, 0.0);
		trial->view.duration_ns[edit->node] =
			rounded_ns(transfer->fixed_ns + transfer->work_ns);
	}
}

/* What the node has now, as an edit. */
static struct trial_edit current_duration(const struct replay_trial *trial, guint32 index)
{
	const struct graph_node *node = graph_node_at(&trial->view, index);
	struct trial_edit edit = { index, trial->view.duration_ns[index], 0, 0 };

	if (node->kind == TACHO_NODE_TRANSFER) {
		edit.fixed_ns = graph_transfer_at(&trial->view, node->transfer)->fixed_ns;
		edit.work_ns = graph_transfer_at(&trial->view, node->transfer)->work_ns;
	}
	return edit;
}

/* Backwards: of a node edited twice, the first is what it was. */
static void undo_edits(struct replay_trial *trial)
{
	while (trial->edited->len > 0) {
		set_duration(trial, &g_array_index(trial->edited, struct trial_edit,
						   trial->edited->len - 1));
		g_array_set_size(trial->edited, trial->edited->len - 1);
	}
}

static void make_edits(struct replay_trial *trial, const struct trial_edit *edits, guint n_edits)
{
	for (guint i = 0; i < n_edits; i++) {
		struct trial_edit before = current_duration(trial, edits[i].node);

		g_array_append_val(trial->edited, before);
		set_duration(trial, &edits[i]);
	}
}

/* --- where nothing is shared ------------------------------------------------------------------ */

static guint32 position_of(const struct trial_base *base, guint32 node)
{
	return base->position ? base->position[node] : node;
}

static void reach(struct replay_trial *trial, guint32 node)
{
	guint32 position = position_of(trial->base, node);

	trial->reached[position / BITS] |= G_GUINT64_CONSTANT(1) << position % BITS;
}

static void undo_nodes(struct replay_trial *trial)
{
	TachoReplay *replay = trial->replay;

	FOR_EACH(const struct played_node, before, trial->undo) {
		replay->begin_ns[before->node] = before->begin_ns;
		replay->end_ns[before->node] = before->end_ns;
		replay->cause[before->node] = before->cause;
	}
	g_array_set_size(trial->undo, 0);
}

/* Play the node; whom it moves is reached. */
static void play_again(struct replay_trial *trial, guint32 node)
{
	TachoReplay *replay = trial->replay;
	const TachoGraph *graph = &trial->view;
	struct played_node before = { replay->begin_ns[node], replay->end_ns[node], node,
				      replay->cause[node] };

	g_array_append_val(trial->undo, before);
	trial->n_played++;
	replay_play_node(replay, node);
	if (replay->end_ns[node] == before.end_ns)
		return;
	for (guint32 j = graph->succ_first[node]; j < graph->succ_first[node + 1]; j++)
		reach(trial, graph->succ[j]);
}

/* A node's successors stand behind it, so one walk over the bits meets all. */
static void play_reached(struct replay_trial *trial, guint32 first_position)
{
	guint32 n_words = trial->replay->n_nodes / BITS + 1;

	for (guint32 word = first_position / BITS; word < n_words; word++)
		while (trial->reached[word]) {
			guint32 position =
				word * BITS + (guint32)__builtin_ctzll(trial->reached[word]);

			trial->reached[word] &= trial->reached[word] - 1;
			play_again(trial, trial->base->graph->order
						  ? trial->base->graph->order[position]
						  : position);
		}
}

static void play_ordered(struct replay_trial *trial)
{
	guint32 first = G_MAXUINT32;

	undo_nodes(trial);
	for (guint i = 0; i < trial->edited->len; i++) {
		guint32 node = g_array_index(trial->edited, struct trial_edit, i).node;

		reach(trial, node);
		first = MIN(first, position_of(trial->base, node));
	}
	if (first != G_MAXUINT32)
		play_reached(trial, first);
}

/* --- where something is ----------------------------------------------------------------------- */

static gboolean play_shared(struct replay_trial *trial, GError **error)
{
	const struct shared_history *history = trial->base->history;
	guint32 begun = trial->replay->n_nodes;

	for (guint i = 0; i < trial->edited->len; i++)
		begun = MIN(
			begun,
			history->begun[g_array_index(trial->edited, struct trial_edit, i).node]);
	shared_history_go_back(history, begun, trial->run);
	trial->n_played = trial->replay->n_nodes - trial->run->n_begun;
	return shared_run_play(trial->run, error);
}

gboolean replay_trial_play(struct replay_trial *trial, const struct trial_edit *edits,
			   guint n_edits, GError **error)
{
	undo_edits(trial);
	make_edits(trial, edits, n_edits);
	trial->n_played = 0;
	if (trial->run)
		return play_shared(trial, error);
	play_ordered(trial);
	return TRUE;
}

const TachoReplay *replay_trial_borrow_replay(const struct replay_trial *trial)
{
	return trial->replay;
}

guint32 replay_trial_n_played(const struct replay_trial *trial)
{
	return trial->n_played;
}

gdouble replay_trial_step_ns(struct replay_trial *trial)
{
	const struct step_marks *marks = &trial->base->marks;

	g_array_set_size(trial->steps, marks->n_steps);
	step_marks_mean_ns(marks, trial->replay->end_ns, (gint64 *)(void *)trial->steps->data);
	return quantile(trial->steps, 0.5);
}

/* --- many ------------------------------------------------------------------------------------- */

struct trials {
	const struct trial_base *base;
	struct trial_change *changes;
	guint n_changes;
	guint next; /* atomic */
};

static void run_trials(guint index, gpointer data)
{
	struct trials *trials = data;
	struct replay_trial *trial = replay_trial_new(trials->base);
	guint i;

	(void)index;
	while ((i = __atomic_fetch_add(&trials->next, 1, __ATOMIC_RELAXED)) < trials->n_changes) {
		struct trial_change *change = &trials->changes[i];

		change->step_ns = replay_trial_play(trial, change->edits, change->n_edits, NULL)
					  ? replay_trial_step_ns(trial)
					  : NAN;
	}
	replay_trial_free(trial);
}

void replay_trials_run(const struct trial_base *base, struct trial_change *changes, guint n_changes)
{
	struct trials trials = { base, changes, n_changes, 0 };

	worker_pool_run(MIN(worker_pool_n_workers(), n_changes), run_trials, &trials);
}
