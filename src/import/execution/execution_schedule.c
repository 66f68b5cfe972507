#include "import/execution/execution_schedule.h"

#include <string.h>

#include "base/for_each.h"

/* A thread or stream. */
struct lane {
	GSequence *ready; /* indexes of nodes that may begin, the least first */
	gboolean is_busy;
};

/* A node that runs, and when it will have ended. */
struct running {
	gint64 end_ns;
	guint32 index;
	struct lane *lane;
};

struct schedule {
	struct execution_trace *trace;
	GHashTable *lanes;  /* role, tid -> struct lane */
	GSequence *running; /* struct running, the first to end first */
	guint32 *n_waiting; /* of each node: dependencies that have not ended */
	guint32 *first_user,
		*users; /* of each node: who depends on it, at users[first_user[i]] on */
	gint64 now_ns;
};

static void free_lane(gpointer data)
{
	struct lane *lane = data;

	g_sequence_free(lane->ready);
	g_free(lane);
}

static struct lane *find_lane(struct schedule *schedule, const struct execution_node *node)
{
	gint64 key = (gint64)node->role << 32 | node->tid;
	struct lane *lane = g_hash_table_lookup(schedule->lanes, &key);

	if (lane)
		return lane;
	lane = g_new0(struct lane, 1);
	lane->ready = g_sequence_new(NULL);
	g_hash_table_insert(schedule->lanes, g_memdup2(&key, sizeof(key)), lane);
	return lane;
}

static gint compare_ready(gconstpointer first, gconstpointer second, gpointer data)
{
	guint a = GPOINTER_TO_UINT(first), b = GPOINTER_TO_UINT(second);

	(void)data;
	return a < b ? -1 : a > b;
}

static gint compare_running(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct running *a = first, *b = second;

	(void)data;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void begin_next(struct schedule *schedule, struct lane *lane)
{
	GSequenceIter *first = g_sequence_get_begin_iter(lane->ready);
	struct execution_node *node;
	struct running *running;

	if (lane->is_busy || g_sequence_iter_is_end(first))
		return;
	running = g_new(struct running, 1);
	running->index = GPOINTER_TO_UINT(g_sequence_get(first));
	running->lane = lane;
	g_sequence_remove(first);
	node = execution_trace_node(schedule->trace, running->index);
	node->start_ns = schedule->now_ns;
	if (__builtin_add_overflow(schedule->now_ns, MAX(node->duration_ns, 0), &running->end_ns) ||
	    running->end_ns > TACHO_MAX_TIME_NS)
		running->end_ns = schedule->now_ns;
	lane->is_busy = TRUE;
	g_sequence_insert_sorted(schedule->running, running, compare_running, NULL);
}

static void make_ready(struct schedule *schedule, guint32 index)
{
	struct lane *lane = find_lane(schedule, execution_trace_node(schedule->trace, index));

	g_sequence_insert_sorted(lane->ready, GUINT_TO_POINTER(index), compare_ready, NULL);
}

/* Let the first that ends end, and what waited for it begin. */
static void end_first(struct schedule *schedule)
{
	GSequenceIter *first = g_sequence_get_begin_iter(schedule->running);
	struct running ended = *(struct running *)g_sequence_get(first);
	guint32 from = schedule->first_user[ended.index];
	guint32 to = schedule->first_user[ended.index + 1];

	g_sequence_remove(first);
	schedule->now_ns = ended.end_ns;
	ended.lane->is_busy = FALSE;
	for (guint32 i = from; i < to; i++)
		if (--schedule->n_waiting[schedule->users[i]] == 0)
			make_ready(schedule, schedule->users[i]);
	begin_next(schedule, ended.lane);
	for (guint32 i = from; i < to; i++)
		if (schedule->n_waiting[schedule->users[i]] == 0)
			begin_next(schedule,
				   find_lane(schedule, execution_trace_node(schedule->trace,
									    schedule->users[i])));
}

/* --- who waits for whom --------------------------------------------------------------------- */

/* The index of the node's `k`-th data dependency; TACHO_NONE: it is not in the trace. */
static guint32 find_dependency(const struct execution_trace *trace,
			       const struct execution_node *node, guint32 k)
{
	return execution_trace_find(
		trace, g_array_index(trace->dependencies, guint64, node->first_dependency + k));
}

static void index_users(struct schedule *schedule)
{
	const struct execution_trace *trace = schedule->trace;
	guint32 n = trace->nodes->len, n_users = 0;
	g_autofree guint32 *at = NULL;

	for (guint32 i = 0; i < n; i++)
		for (guint32 k = 0; k < execution_trace_node(trace, i)->n_data_dependencies; k++) {
			guint32 from = find_dependency(trace, execution_trace_node(trace, i), k);

			if (from == TACHO_NONE || from == i)
				continue;
			schedule->first_user[from + 1]++;
			schedule->n_waiting[i]++;
			n_users++;
		}
	for (guint32 i = 0; i < n; i++)
		schedule->first_user[i + 1] += schedule->first_user[i];
	schedule->users = g_new(guint32, n_users + 1);
	at = g_memdup2(schedule->first_user, (n + 1) * sizeof(guint32));
	for (guint32 i = 0; i < n; i++)
		for (guint32 k = 0; k < execution_trace_node(trace, i)->n_data_dependencies; k++) {
			guint32 from = find_dependency(trace, execution_trace_node(trace, i), k);

			if (from != TACHO_NONE && from != i)
				schedule->users[at[from]++] = i;
		}
}

static guint32 place_rest(struct schedule *schedule)
{
	guint32 n_left = 0;

	FOR_EACH(struct execution_node, node, schedule->trace->nodes) {
		if (node->start_ns >= 0)
			continue;
		node->start_ns = schedule->now_ns;
		schedule->now_ns =
			MIN(schedule->now_ns + MAX(node->duration_ns, 0), TACHO_MAX_TIME_NS);
		n_left++;
	}
	return n_left;
}

guint32 execution_schedule(struct execution_trace *trace)
{
	struct schedule schedule = { .trace = trace };
	guint32 n = trace->nodes->len, n_left;

	schedule.lanes = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_lane);
	schedule.running = g_sequence_new(g_free);
	schedule.n_waiting = g_new0(guint32, n + 1);
	schedule.first_user = g_new0(guint32, n + 1);
	index_users(&schedule);
	for (guint32 i = 0; i < n; i++) {
		struct execution_node *node = execution_trace_node(trace, i);

		node->duration_ns = CLAMP(node->duration_ns, 0, TACHO_MAX_TIME_NS);
		node->start_ns = -1;
		if (!schedule.n_waiting[i])
			make_ready(&schedule, i);
	}
	FOR_EACH_ENTRY(entry, schedule.lanes)
		begin_next(&schedule, entry.value);
	while (!g_sequence_is_empty(schedule.running))
		end_first(&schedule);
	n_left = place_rest(&schedule);
	g_sequence_free(schedule.running);
	g_hash_table_unref(schedule.lanes);
	g_free(schedule.n_waiting);
	g_free(schedule.first_user);
	g_free(schedule.users);
	return n_left;
}
