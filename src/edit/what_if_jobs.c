/* what_if_jobs: another job beside this one, on the same links, and on the same cores where they are counted.
 *
 * The other job's recording becomes a graph of its own, whose nodes, lanes, groups and transfers are put into
 * this one as a guest's. What the jobs share they share by name: links and cores of hosts that are called
 * the same. So nothing in the simulator knows of jobs.
 *
 * (1) A guest goes on for as long as this job does: what it recorded is repeated, round after round. In a later
 *     round, what had waited for nothing (the first work of each rank) follows the last of its rank's main
 *     thread, and the first on each thread and stream what was last there.
 * (2) How many rounds are enough follows from the replay: tacho_predict() multiplies edit_state's guest_rounds by what
 *     replay_guests_need() says until every guest outlasts this job. A rank of this job that begins hours after
 *     another one, as those of unrelated traces, asks for more than can be, and is refused after one replay.
 * (3) How far its devices are behind its hosts when a step is over (step_times.c) is what they are in a replay of all its
 *     rounds alone.
 * (4) A guest has no slices and no tracks, so that changes of work pass it by; those of links do not. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "replay/replay_internal.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"

/* Nodes of another job.
 * Source: a rule: 8 million nodes of 40 bytes, with edges, are half a gigabyte. If wrong, a change is refused though there was
 * room, or memory runs out. */
#define MAX_ADDED (8 * 1000 * 1000)
/* Times as long as this job was recorded, to begin with.
 * Source: a rule: a job beside another seldom takes more than twice as long; where it does, more rounds are played. If wrong, the
 * prediction takes longer to make; it is the same. */
#define ENOUGH_ROUNDS 2.0

struct visit {
	TachoGraph *graph; /* to be put into */
	const TachoGraph *other;
	struct graph_guest guest;
	guint32 n_rounds;
	gint64 round_ns;
	guint32 *host_of; /* rank of the other -> string */
	guint32 first_lane, first_group, first_pool;
	guint32 *n_waits_for; /* node of the other -> edges into it */
	guint32 *last_main;   /* rank of the other -> its last node in a step */
	guint32 *last_on;     /* lane of the other -> its last node; TACHO_NONE */
};

/* --- which host is which ---------------------------------------------------------------------- */

static GArray *hosts_of(const TachoTimeline *timeline)
{
	GArray *hosts = g_array_new(FALSE, FALSE, sizeof(guint32));

	for (guint i = 0; i < timeline->ranks->len; i++) {
		guint32 host = tacho_timeline_rank(timeline, i)->host;
		guint j = 0;

		while (j < hosts->len && g_array_index(hosts, guint32, j) != host)
			j++;
		if (j == hosts->len)
			g_array_append_val(hosts, host);
	}
	return hosts;
}

static const gchar *host_name(const TachoTimeline *timeline, const GArray *hosts, guint i)
{
	return tacho_timeline_string(timeline, g_array_index(hosts, guint32, i));
}

static gboolean have_common_host(const TachoTimeline *a, const GArray *hosts_a,
				 const TachoTimeline *b, const GArray *hosts_b)
{
	for (guint i = 0; i < hosts_a->len; i++)
		for (guint j = 0; j < hosts_b->len; j++)
			if (strcmp(host_name(a, hosts_a, i), host_name(b, hosts_b, j)) == 0)
				return TRUE;
	return FALSE;
}

/* Hosts of one name are one; where there are none, the first of the other job is the first of this one, and
 * so on. By string id of the other timeline, what it is called here. */
static GHashTable *pair_hosts(TachoGraph *graph, const TachoTimeline *other)
{
	TachoTimeline *timeline = graph->timeline;
	g_autoptr(GArray) ours = hosts_of(timeline);
	g_autoptr(GArray) theirs = hosts_of(other);
	gboolean by_name = have_common_host(timeline, ours, other, theirs);
	GHashTable *pairs = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < theirs->len; i++) {
		const gchar *name = host_name(other, theirs, i);
		gboolean is_taken = !by_name && i < ours->len;
		guint32 host = is_taken ? g_array_index(ours, guint32, i)
					: tacho_timeline_intern(timeline, name, -1);

		if (is_taken)
			graph_note(graph, "host %s of the other job is treated as %s", name,
				   host_name(timeline, ours, i));
		g_hash_table_insert(pairs, GUINT_TO_POINTER(g_array_index(theirs, guint32, i)),
				    GUINT_TO_POINTER(host));
	}
	return pairs;
}

/* The host here for the host that is this string of the other timeline. */
static guint32 take_host(struct visit *visit, GHashTable *pairs, guint32 host)
{
	gpointer known;

	if (g_hash_table_lookup_extended(pairs, GUINT_TO_POINTER(host), NULL, &known))
		return GPOINTER_TO_UINT(known);
	return tacho_timeline_intern(visit->graph->timeline,
				     tacho_timeline_string(visit->other->timeline, host), -1);
}

static guint32 take_string(struct visit *visit, guint32 id)
{
	return tacho_timeline_intern(visit->graph->timeline,
				     tacho_timeline_string(visit->other->timeline, id), -1);
}

/* --- lanes, groups, workers ------------------------------------------------------------------- */

static void add_lanes(struct visit *visit, GHashTable *hosts)
{
	visit->first_lane = visit->graph->lanes->len;
	for (guint32 i = 0; i < visit->other->lanes->len; i++) {
		struct graph_lane lane = *graph_lane_at(visit->other, i);

		lane.host = take_host(visit, hosts, lane.host);
		lane.name = take_string(visit, lane.name);
		lane.track = TACHO_NONE;
		if (lane.rank_index != TACHO_NONE)
			lane.rank_index += visit->guest.first_rank;
		g_array_append_val(visit->graph->lanes, lane);
	}
}

static gboolean has_link(const TachoGraph *graph, const struct graph_link *link, guint32 n_links)
{
	for (guint32 i = 0; i < n_links; i++) {
		const struct graph_link *known = &g_array_index(graph->links, struct graph_link, i);

		if (known->host == link->host && strcmp(known->direction, link->direction) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Returns whether the jobs have a link in common. */
static gboolean add_groups(struct visit *visit, GHashTable *hosts)
{
	TachoGraph *graph = visit->graph;
	guint32 n_links = graph->links->len;
	gboolean is_common = FALSE;

	visit->first_group = graph->groups->len;
	for (guint32 i = 0; i < visit->other->groups->len; i++) {
		struct graph_group group = *graph_group_at(visit->other, i);
		guint32 first = group.first_link, n = group.n_links;

		group.job = graph->guests->len + 1;
		if (group.sender) {
			group.sender += visit->guest.first_rank;
			group.receiver += visit->guest.first_rank;
		}
		group.first_link = group.n_links = 0;
		g_array_append_val(graph->groups, group);
		for (guint32 j = first; j < first + n; j++) {
			struct graph_link link =
				g_array_index(visit->other->links, struct graph_link,
					      g_array_index(visit->other->group_links, guint32, j));

			link.host = take_host(visit, hosts, link.host);
			is_common |= has_link(graph, &link, n_links);
			graph_add_group_link(graph, visit->first_group + i, link.host,
					     link.direction);
		}
	}
	return is_common;
}

static void add_pools(struct visit *visit)
{
	visit->first_pool = visit->graph->pools->len;
	for (guint i = 0; i < visit->other->pools->len; i++) {
		struct graph_pool pool = g_array_index(visit->other->pools, struct graph_pool, i);

		pool.rank_index += visit->guest.first_rank;
		pool.group += visit->first_group;
		g_array_append_val(visit->graph->pools, pool);
	}
}

/* --- rounds ----------------------------------------------------------------------------------- */

static void find_ends(struct visit *visit)
{
	const TachoGraph *other = visit->other;

	visit->n_waits_for = g_new0(guint32, MAX(other->nodes->len, 1u));
	visit->last_main = g_new(guint32, MAX(visit->guest.n_ranks, 1u));
	visit->last_on = g_new(guint32, MAX(other->lanes->len, 1u));
	for (guint32 i = 0; i < visit->guest.n_ranks; i++)
		visit->last_main[i] = TACHO_NONE;
	for (guint32 i = 0; i < other->lanes->len; i++)
		visit->last_on[i] = TACHO_NONE;
	for (guint i = 0; i < other->edges->len; i++)
		visit->n_waits_for[g_array_index(other->edges, struct graph_edge, i).to]++;
	FOR_EACH_AT(const struct graph_node, node, i, other->nodes) {
		const struct graph_lane *lane = graph_lane_at(other, node->lane);

		if (node->kind == TACHO_NODE_REMOVED || lane->track == TACHO_NONE)
			continue;
		visit->last_on[node->lane] = i;
		if (lane->is_main && node->step != TACHO_NONE)
			visit->last_main[lane->rank_index] = i;
	}
}

static void release_ends(struct visit *visit)
{
	g_free(visit->n_waits_for);
	g_free(visit->last_main);
	g_free(visit->last_on);
}

static void add_node(struct visit *visit, guint32 index, guint32 round, guint32 first_transfer)
{
	struct graph_node node = *graph_node_at(visit->other, index);

	node.begin_ns += visit->guest.offset_ns + round * visit->round_ns;
	node.name = take_string(visit, node.name);
	node.slice = TACHO_NONE;
	node.lane += visit->first_lane;
	if (node.kind == TACHO_NODE_START && round > 0)
		node.duration_ns = 0; /* the ranks are already apart */
	if (node.step != TACHO_NONE)
		node.step = graph_step_index(visit->other, node.step) +
			    round * visit->other->steps->len;
	if (node.transfer != TACHO_NONE)
		node.transfer += first_transfer;
	if (node.pool != TACHO_NONE)
		node.pool += visit->first_pool;
	graph_add_node(visit->graph, node);
}

static void add_transfers(struct visit *visit, guint32 first_node, guint32 round)
{
	gint64 later_ns = visit->guest.offset_ns + round * visit->round_ns;
	guint32 first = visit->graph->transfers->len;

	for (guint32 i = 0; i < visit->other->transfers->len; i++) {
		struct graph_transfer transfer = *graph_transfer_at(visit->other, i);

		transfer.node += first_node;
		transfer.whole += first; /* of a hop */
		transfer.group += visit->first_group;
		transfer.name = take_string(visit, transfer.name);
		transfer.step = transfer.pass = TACHO_NONE;
		transfer.begin_ns += later_ns;
		transfer.end_ns += later_ns;
		g_array_append_val(visit->graph->transfers, transfer);
	}
}

static void add_edges(struct visit *visit, guint32 first_node)
{
	for (guint i = 0; i < visit->other->edges->len; i++) {
		struct graph_edge edge = g_array_index(visit->other->edges, struct graph_edge, i);

		graph_add_edge(visit->graph, first_node + edge.from, first_node + edge.to,
			       edge.kind);
	}
}

/* Let the round follow the one before it, whose nodes begin at `before`. */
static void follow(struct visit *visit, guint32 first_node, guint32 before)
{
	const TachoGraph *other = visit->other;
	g_autofree guint8 *was_on = g_new0(guint8, MAX(other->lanes->len, 1u));

	FOR_EACH_AT(const struct graph_node, node, i, other->nodes) {
		guint32 rank = graph_lane_at(other, node->lane)->rank_index;

		if (node->kind == TACHO_NODE_REMOVED)
			continue;
		if (visit->n_waits_for[i] == 0 && rank != TACHO_NONE &&
		    visit->last_main[rank] != TACHO_NONE)
			graph_add_edge(visit->graph, before + visit->last_main[rank],
				       first_node + i, TACHO_EDGE_PROGRAM);
		if (visit->last_on[node->lane] == TACHO_NONE || was_on[node->lane])
			continue;
		was_on[node->lane] = 1;
		graph_add_edge(visit->graph, before + visit->last_on[node->lane], first_node + i,
			       TACHO_EDGE_STREAM);
	}
}

/* The first round begins when its time has come. */
static void delay(struct visit *visit, guint32 first_node)
{
	struct graph_node node = { .kind = TACHO_NODE_START,
				   .duration_ns = visit->guest.offset_ns,
				   .slice = TACHO_NONE,
				   .lane = visit->first_lane,
				   .step = TACHO_NONE,
				   .transfer = TACHO_NONE,
				   .pool = TACHO_NONE };
	guint32 start;

	if (visit->guest.offset_ns == 0)
		return;
	start = graph_add_node(visit->graph, node);
	for (guint32 i = 0; i < visit->other->nodes->len; i++)
		if (visit->n_waits_for[i] == 0 &&
		    graph_node_at(visit->other, i)->kind != TACHO_NODE_REMOVED)
			graph_add_edge(visit->graph, start, first_node + i, TACHO_EDGE_PROGRAM);
}

static void add_rounds(struct visit *visit)
{
	TachoGraph *graph = visit->graph;
	guint32 before = 0;

	find_ends(visit);
	for (guint32 round = 0; round < visit->n_rounds; round++) {
		guint32 first_node = graph->nodes->len, first_transfer = graph->transfers->len;

		for (guint32 i = 0; i < visit->other->nodes->len; i++)
			add_node(visit, i, round, first_transfer);
		add_transfers(visit, first_node, round);
		add_edges(visit, first_node);
		if (round == 0)
			delay(visit, first_node);
		else
			follow(visit, first_node, before);
		before = first_node;
	}
	release_ends(visit);
}

/* --- the change ------------------------------------------------------------------------------- */

/* Until when this job's, or the other graph's own, nodes were recorded. */
static gint64 span_ns(const TachoGraph *graph)
{
	gint64 end_ns = 0;

	FOR_EACH(const struct graph_node, node, graph->nodes)
		if (!graph_is_guest_node(graph, node))
			end_ns = MAX(end_ns, node->begin_ns + node->duration_ns);
	return end_ns;
}

static gboolean choose_rounds(struct visit *visit, const struct change *change, GError **error)
{
	gdouble n_rounds;

	visit->round_ns = span_ns(visit->other);
	if (visit->round_ns <= 0)
		return change_refuse(error, change, "the steps of the other job take no time");
	n_rounds = ceil(ENOUGH_ROUNDS * (gdouble)span_ns(visit->graph) / (gdouble)visit->round_ns) *
		   edit_state_read(visit->graph)->guest_rounds;
	n_rounds = MAX(n_rounds, 1);
	if (n_rounds * visit->other->nodes->len > MAX_ADDED)
		return change_refuse(
			error, change,
			"to last as long as this job, the other job would be repeated %.0f times, "
			"which makes %.0f nodes; choose one step with --step",
			n_rounds, n_rounds * visit->other->nodes->len);
	visit->n_rounds = (guint32)n_rounds;
	return TRUE;
}

static void note_what_is_shared(TachoGraph *graph, gboolean is_common)
{
	if (!is_common)
		graph_note(graph, "the two jobs have no link in common");
	if (graph->n_cores == 0)
		graph_note(graph, "the threads of the jobs do not share cores, unless cores=N says "
				  "how many cores there are");
}

/* `text` is RUN[@TIME]; a name that holds an @ but no time behind the last one is whole. */
static gchar *parse_name(const gchar *text, gint64 *ret_offset_ns)
{
	const gchar *at = strrchr(text, '@');
	struct quantity offset;

	*ret_offset_ns = 0;
	if (!at || !quantity_parse(at + 1, UNITS_TIME, &offset) || offset.form != QUANTITY_UNIT)
		return g_strdup(text);
	*ret_offset_ns = llround(offset.number);
	return g_strndup(text, (gsize)(at - text));
}

static void add_guest(struct visit *visit)
{
	GHashTable *hosts = pair_hosts(visit->graph, visit->other->timeline);
	gboolean is_common;

	visit->guest.first_rank = graph_n_ranks(visit->graph);
	add_lanes(visit, hosts);
	is_common = add_groups(visit, hosts);
	add_pools(visit);
	add_rounds(visit);
	g_array_append_val(visit->graph->guests, visit->guest);
	graph_renumber(visit->graph);
	note_what_is_shared(visit->graph, is_common);
	g_hash_table_unref(hosts);
}

/* How far the guest's devices are behind, over all its rounds, with nothing beside it: in an empty graph. */
static gboolean measure_lags(struct visit *visit, GError **error)
{
	g_autoptr(TachoGraph) empty = graph_new(visit->graph->timeline);
	g_autoptr(TachoReplay) replay = NULL;
	struct visit alone = *visit;
	struct step_marks marks;
	guint32 first = visit->graph->guest_lags->len;

	if (!graph_has_devices(visit->other))
		return TRUE;
	alone.graph = empty;
	add_guest(&alone);
	if (!graph_freeze(empty, error))
		return FALSE;
	replay = tacho_replay_run(empty, error);
	if (!replay)
		return FALSE;
	step_marks_init_guest(&marks, empty, &g_array_index(empty->guests, struct graph_guest, 0));
	step_marks_append_lags(&marks, replay->end_ns, visit->graph->guest_lags);
	step_marks_release(&marks);
	if (visit->graph->guest_lags->len > first)
		visit->guest.first_lag = first;
	return TRUE;
}

static gboolean put_beside(TachoGraph *graph, const struct change *change, GError **error)
{
	const TachoGraph *other = change->job;
	struct visit visit = { .graph = graph, .other = other };
	g_autoptr(TachoReplay) alone = tacho_replay_run(other, error);
	g_autoptr(GArray) steps = NULL;

	if (!alone || !choose_rounds(&visit, change, error))
		return FALSE;
	steps = replay_step_times(alone);
	visit.guest = (struct graph_guest){
		.name = tacho_timeline_intern(graph->timeline, change->name, -1),
		.n_ranks = other->timeline->ranks->len,
		.n_steps = steps->len * visit.n_rounds,
		.offset_ns = change->value.offset_ns,
		.first_alone_step = graph->guest_steps->len,
		.n_alone_steps = steps->len,
		.first_lag = TACHO_NONE,
		.taken_share = other->taken_share,
		.taken_by_bytes = other->taken_by_bytes,
		.device_taken_share = other->device_taken_share,
	};
	if (!measure_lags(&visit, error))
		return FALSE;
	g_array_append_vals(graph->guest_steps, steps->data, steps->len);
	add_guest(&visit);
	return TRUE;
}

gboolean parse_jobs(struct change *change, const gchar *text, GError **error)
{
	change->name = parse_name(text, &change->value.offset_ns);
	if (!*change->name)
		return change_refuse(error, change,
				     "write jobs=RUN or jobs=RUN@TIME, with TIME as in 5ms");
	return TRUE;
}

gboolean apply_jobs(TachoGraph *graph, const struct change *change, GError **error)
{
	return put_beside(graph, change, error);
}
