/* shared_state: what a shared replay was like at some moments, to play only the rest of it again.
 *
 * (1) How long a node takes is not read before it begins. So of two graphs that differ in durations
 *     alone, the replays are the same until the first node that differs begins.
 * (2) A moment is kept where no node is ready, and nobody is still to be told of cores, so that lists of these need not be. */
#include <string.h>

#include "replay/shared_run.h"

/* Moments that are kept.
 * Source: a rule: with 32 moments a trial plays a 64th more than it must, in the mean; the bytes bound them for large graphs. If
 * wrong, trials take longer; their results are the same. */
#define MAX_STATES	      32
#define MAX_STATES_KEPT_BYTES (64u * 1024 * 1024) /* in all */
/* The bytes that a moment takes for each node.
 * Source: derived from the columns of struct shared_state. */
#define BYTES_A_NODE (2 * sizeof(gint64) + 2 * sizeof(guint32) + 1)

struct shared_state {
	guint32 n_begun, n_done;
	gint64 *begin_ns, *end_ns;
	guint32 *cause, *n_waiting;
	guint8 *has_come;
	struct event_heap begins;
	GArray *active;
	struct link_load *loads;
	guint32 *n_moving;
	gdouble links_at_ns, links_next_ns, now_ns;
	guint32 n_core_sets, n_pools;
	struct core_set *cores;
	struct worker_pool *pools;
};

static void copy_heap(struct event_heap *to, const struct event_heap *from)
{
	if (to->capacity < from->n) {
		to->capacity = from->n;
		to->events = g_renew(struct event, to->events, to->capacity);
	}
	to->n = from->n;
	if (from->n > 0)
		memcpy(to->events, from->events, from->n * sizeof(*from->events));
}

static void copy_cores(struct core_set *to, const struct core_set *from)
{
	copy_heap(&to->heap, &from->heap);
	to->done_ns = from->done_ns;
	to->at_ns = from->at_ns;
	to->n_moving = from->n_moving;
	to->is_busy = from->is_busy;
	to->is_noted = FALSE;
	to->is_alone_known = FALSE;
}

/* `to` has room for all workers. */
static void copy_pool(struct worker_pool *to, const struct worker_pool *from)
{
	to->next = from->next;
	to->n_free = from->n_free;
	if (from->n_free == 0) /* of whom there may be no array */
		return;
	memcpy(to->free_ns, from->free_ns, from->n_free * sizeof(*from->free_ns));
	memcpy(to->freed_by, from->freed_by, from->n_free * sizeof(*from->freed_by));
}

static struct worker_pool *keep_pools(const struct shared_run *run)
{
	guint n_pools = run->graph->pools->len;
	struct worker_pool *pools = g_new0(struct worker_pool, MAX(n_pools, 1u));

	for (guint i = 0; i < n_pools; i++) {
		pools[i].free_ns = g_new(gdouble, run->pools[i].n_free);
		pools[i].freed_by = g_new(guint32, run->pools[i].n_free);
		copy_pool(&pools[i], &run->pools[i]);
	}
	return pools;
}

static struct shared_state *keep_state(const struct shared_run *run)
{
	struct shared_state *state = g_new0(struct shared_state, 1);
	const TachoReplay *replay = run->replay;
	gsize n = replay->n_nodes;

	state->n_begun = run->n_begun;
	state->n_done = run->n_done;
	state->begin_ns = g_memdup2(replay->begin_ns, n * sizeof(*replay->begin_ns));
	state->end_ns = g_memdup2(replay->end_ns, n * sizeof(*replay->end_ns));
	state->cause = g_memdup2(replay->cause, n * sizeof(*replay->cause));
	state->n_waiting = g_memdup2(run->n_waiting, n * sizeof(*run->n_waiting));
	state->has_come = g_memdup2(run->has_come, n);
	state->active = g_array_copy(run->active);
	state->loads = g_memdup2(run->loads, graph_n_loads(run->graph) * sizeof(*run->loads));
	state->n_moving =
		g_memdup2(run->n_moving, 2 * (gsize)run->n_ranks * sizeof(*run->n_moving));
	state->links_at_ns = run->links_at_ns;
	state->links_next_ns = run->links_next_ns;
	state->now_ns = run->now_ns;
	copy_heap(&state->begins, &run->begins);
	state->n_core_sets = run->n_core_sets;
	state->cores = g_new0(struct core_set, MAX(run->n_core_sets, 1u));
	for (guint32 i = 0; i < run->n_core_sets; i++)
		copy_cores(&state->cores[i], &run->cores[i]);
	state->n_pools = run->graph->pools->len;
	state->pools = keep_pools(run);
	return state;
}

static void state_free(gpointer pointer)
{
	struct shared_state *state = pointer;

	for (guint32 i = 0; i < state->n_core_sets; i++)
		event_heap_release(&state->cores[i].heap);
	for (guint32 i = 0; i < state->n_pools; i++) {
		g_free(state->pools[i].free_ns);
		g_free(state->pools[i].freed_by);
	}
	event_heap_release(&state->begins);
	g_array_unref(state->active);
	g_free(state->begin_ns);
	g_free(state->end_ns);
	g_free(state->cause);
	g_free(state->n_waiting);
	g_free(state->has_come);
	g_free(state->loads);
	g_free(state->n_moving);
	g_free(state->cores);
	g_free(state->pools);
	g_free(state);
}

/* How many sets each group waits for: those that are busy. */
static void count_computing(struct shared_run *run)
{
	memset(run->n_computing, 0, run->graph->groups->len * sizeof(*run->n_computing));
	run->n_changed = 0;
	for (guint32 set = 0; set < run->n_core_sets; set++)
		for (guint32 i = run->cores[set].first_waiting;
		     i < run->cores[set].end_waiting && run->cores[set].is_busy; i++)
			run->n_computing[run->waiting[i]]++;
}

/* The group of a transfer that is under way. */
static guint32 group_of(const struct shared_run *run, guint active)
{
	guint32 transfer = g_array_index(run->active, struct active_transfer, active).transfer;

	return graph_transfer_at(run->graph, transfer)->group;
}

static void go_back_to(const struct shared_state *state, struct shared_run *run)
{
	TachoReplay *replay = run->replay;
	gsize n = replay->n_nodes;

	run->n_ready = 0;
	run->n_begun = state->n_begun;
	run->n_done = state->n_done;
	memcpy(replay->begin_ns, state->begin_ns, n * sizeof(*replay->begin_ns));
	memcpy(replay->end_ns, state->end_ns, n * sizeof(*replay->end_ns));
	memcpy(replay->cause, state->cause, n * sizeof(*replay->cause));
	memcpy(run->n_waiting, state->n_waiting, n * sizeof(*run->n_waiting));
	memcpy(run->has_come, state->has_come, n);
	g_array_set_size(run->active, 0);
	if (state->active->len > 0)
		g_array_append_vals(run->active, state->active->data, state->active->len);
	memset(run->n_active, 0, run->graph->groups->len * sizeof(*run->n_active));
	for (guint i = 0; i < run->active->len; i++)
		run->n_active[group_of(run, i)]++;
	memcpy(run->loads, state->loads, graph_n_loads(run->graph) * sizeof(*run->loads));
	if (state->n_moving)
		memcpy(run->n_moving, state->n_moving,
		       2 * (gsize)run->n_ranks * sizeof(*run->n_moving));
	run->links_at_ns = state->links_at_ns;
	run->links_next_ns = state->links_next_ns;
	run->now_ns = state->now_ns;
	copy_heap(&run->begins, &state->begins);
	for (guint32 i = 0; i < run->n_core_sets; i++)
		copy_cores(&run->cores[i], &state->cores[i]);
	count_computing(run);
	for (guint32 i = 0; i < state->n_pools; i++)
		copy_pool(&run->pools[i], &state->pools[i]);
	shared_cores_schedule(run);
}

struct shared_history *shared_history_new(const TachoGraph *graph)
{
	struct shared_history *history = g_new0(struct shared_history, 1);
	guint32 n = MAX(graph->n_frozen, 1u);
	gsize n_states = CLAMP(MAX_STATES_KEPT_BYTES / ((gsize)n * BYTES_A_NODE), 1, MAX_STATES);

	history->begun = g_new0(guint32, n);
	history->states = g_ptr_array_new_with_free_func(state_free);
	history->stride = n / ((guint32)n_states + 1) + 1;
	history->next = history->stride;
	return history;
}

void shared_history_free(struct shared_history *history)
{
	if (!history)
		return;
	g_free(history->begun);
	g_ptr_array_unref(history->states);
	g_free(history);
}

void shared_history_keep(struct shared_history *history, const struct shared_run *run)
{
	g_ptr_array_add(history->states, keep_state(run));
	history->next = run->n_begun + history->stride;
}

void shared_history_go_back(const struct shared_history *history, guint32 begun,
			    struct shared_run *run)
{
	guint i = history->states->len;

	while (i > 0) {
		const struct shared_state *state = g_ptr_array_index(history->states, --i);

		if (state->n_begun <= begun) {
			go_back_to(state, run);
			return;
		}
	}
	shared_run_rewind(run);
}
