/* part_receiver: rows of other processes, checked, and put into the graph of the first one. */
#include "graph/graph_parts.h"

#include "trace/run_share.h"

void part_receiver_begin(struct part_receiver *receiver, guint from)
{
	const TachoGraph *graph = receiver->builder->graph;

	receiver->from = from;
	receiver->difference = graph->nodes->len - receiver->builder->n_ranks;
	receiver->first_gradient = graph->gradients->len;
	g_array_set_size(receiver->names, 0);
}

/* FALSE: there is no such node. */
static gboolean take_node_number(const struct part_receiver *receiver, guint32 *node)
{
	guint32 n_nodes = receiver->builder->graph->nodes->len;

	if (*node < receiver->builder->n_ranks)
		return TRUE;
	if (*node >= n_nodes - receiver->difference)
		return FALSE;
	*node += receiver->difference;
	return TRUE;
}

static gboolean take_name_number(const struct part_receiver *receiver, guint32 *name)
{
	guint32 n_strings = receiver->builder->timeline->share->n_strings;

	if (*name < n_strings)
		return TRUE;
	if (*name - n_strings >= receiver->names->len)
		return FALSE;
	*name = g_array_index(receiver->names, guint32, *name - n_strings);
	return TRUE;
}

static gboolean is_others_rank(const struct part_receiver *receiver, guint32 rank_index)
{
	return rank_index < receiver->builder->n_ranks &&
	       !run_share_owns_rank(receiver->builder->timeline, rank_index);
}

static gboolean is_time(gint64 time_ns)
{
	return time_ns >= -TACHO_MAX_TIME_NS && time_ns <= TACHO_MAX_TIME_NS;
}

gboolean part_take_name(struct part_receiver *receiver, struct packed_bytes *packed)
{
	g_autofree gchar *text = unpack_text(packed);
	guint32 name;

	if (!text)
		return FALSE;
	name = tacho_timeline_intern(receiver->builder->timeline, text, -1);
	g_array_append_val(receiver->names, name);
	return TRUE;
}

static gboolean is_step(const struct part_receiver *receiver, guint32 step)
{
	return step == TACHO_NONE || graph_step_index(receiver->builder->graph, step) != TACHO_NONE;
}

/* Each pass of a rank has a part in a collective. */
static gboolean is_ordinal(const struct part_receiver *receiver, guint32 ordinal)
{
	return ordinal == TACHO_NONE || ordinal < receiver->builder->members->len;
}

/* What a thread of another process's did while it was looked at. */
static gboolean is_piece(const struct part_receiver *receiver, const struct sent_node *node)
{
	const struct graph_builder *builder = receiver->builder;
	const struct build_thread *thread;

	if (node->lane >= builder->threads->len)
		return FALSE;
	thread = build_thread_at(builder, node->lane);
	return thread->lane == node->lane && !thread->is_own && node->duration_ns >= 0 &&
	       node->duration_ns <= thread->to_ns - thread->from_ns &&
	       node->begin_ns >= thread->from_ns - builder->graph->origin_ns &&
	       node->begin_ns <= thread->to_ns - builder->graph->origin_ns &&
	       (node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL ||
		node->kind == TACHO_NODE_HOST || node->kind == TACHO_NODE_WAIT);
}

gboolean part_take_node(struct part_receiver *receiver, struct packed_bytes *packed)
{
	struct graph_builder *builder = receiver->builder;
	struct sent_node sent;
	struct graph_node node;

	if (!unpack_bytes(packed, &sent, sizeof(sent)) || !take_name_number(receiver, &sent.name) ||
	    !is_piece(receiver, &sent) || sent.origin >= N_ORIGINS ||
	    !is_step(receiver, sent.step) || builder->graph->nodes->len >= GRAPH_MAX_NODES)
		return FALSE;
	node = (struct graph_node){
		.duration_ns = sent.duration_ns,
		.begin_ns = sent.begin_ns,
		.name = sent.name,
		.slice = TACHO_NONE,
		.lane = sent.lane,
		.origin = sent.origin,
		.kind = sent.kind,
		.step = sent.step,
		.transfer = TACHO_NONE,
		.pool = TACHO_NONE,
	};
	graph_add_node(builder->graph, node);
	g_array_append_val(builder->told_kinds, sent.kind_of_contention);
	return TRUE;
}

gboolean part_take_edge(struct part_receiver *receiver, struct packed_bytes *packed)
{
	struct graph_edge edge;

	if (!unpack_bytes(packed, &edge, sizeof(edge)) || !take_node_number(receiver, &edge.from) ||
	    !take_node_number(receiver, &edge.to) || edge.kind >= TACHO_N_EDGE_KINDS ||
	    receiver->builder->graph->edges->len == G_MAXUINT)
		return FALSE;
	graph_add_edge(receiver->builder->graph, edge.from, edge.to, (TachoEdgeKind)edge.kind);
	return TRUE;
}

gboolean part_take_member(struct part_receiver *receiver, struct packed_bytes *packed)
{
	struct graph_builder *builder = receiver->builder;
	struct build_member *member;
	struct sent_member sent;

	if (!unpack_bytes(packed, &sent, sizeof(sent)) || sent.index >= builder->members->len ||
	    !is_time(sent.end_ns) || !is_ordinal(receiver, sent.ordinal) ||
	    !take_node_number(receiver, &sent.from_node) ||
	    (sent.wait_node != TACHO_NONE && !take_node_number(receiver, &sent.wait_node)) ||
	    (sent.sequel_node != TACHO_NONE && !take_node_number(receiver, &sent.sequel_node)))
		return FALSE;
	member = build_member_at(builder, sent.index);
	if (!is_others_rank(receiver, member->rank_index))
		return FALSE;
	member->end_ns = sent.end_ns;
	member->from_node = sent.from_node;
	member->wait_node = sent.wait_node;
	member->sequel_node = sent.sequel_node;
	member->ordinal = sent.ordinal;
	return TRUE;
}

gboolean part_take_gradient(struct part_receiver *receiver, struct packed_bytes *packed)
{
	struct graph_gradient gradient = { 0 };
	g_autofree gchar *dtype = NULL;
	struct sent_gradient sent;

	if (!unpack_bytes(packed, &sent, sizeof(sent)) ||
	    !take_node_number(receiver, &sent.ready_node) ||
	    (sent.copy_node != TACHO_NONE && !take_node_number(receiver, &sent.copy_node)))
		return FALSE;
	dtype = unpack_text(packed);
	if (!dtype)
		return FALSE;
	gradient.bytes = sent.bytes;
	gradient.ready_node = sent.ready_node;
	gradient.copy_node = sent.copy_node;
	gradient.dtype = g_intern_string(dtype); /* one of few */
	g_array_append_val(receiver->builder->graph->gradients, gradient);
	return TRUE;
}

/* By rank and ordinal. */
static gboolean is_next_pass(const TachoGraph *graph, const struct sent_pass *sent)
{
	const struct graph_pass *last;

	if (graph->passes->len == 0)
		return TRUE;
	last = &g_array_index(graph->passes, struct graph_pass, graph->passes->len - 1);
	return sent->rank_index > last->rank_index ||
	       (sent->rank_index == last->rank_index && sent->ordinal > last->ordinal);
}

gboolean part_take_pass(struct part_receiver *receiver, struct packed_bytes *packed)
{
	TachoGraph *graph = receiver->builder->graph;
	struct graph_pass pass = { 0 };
	struct sent_pass sent;

	if (!unpack_bytes(packed, &sent, sizeof(sent)) ||
	    !is_others_rank(receiver, sent.rank_index) || !is_next_pass(graph, &sent) ||
	    !is_step(receiver, sent.step) || !is_ordinal(receiver, sent.ordinal) ||
	    !take_node_number(receiver, &sent.finish_node) ||
	    sent.packing > TACHO_PACKED_IN_PARTS ||
	    sent.first_gradient > graph->gradients->len - receiver->first_gradient ||
	    sent.n_gradients >
		    graph->gradients->len - receiver->first_gradient - sent.first_gradient)
		return FALSE;
	pass.rank_index = sent.rank_index;
	pass.ordinal = sent.ordinal;
	pass.step = sent.step;
	pass.first_gradient = receiver->first_gradient + sent.first_gradient;
	pass.n_gradients = sent.n_gradients;
	pass.finish_node = sent.finish_node;
	pass.packing = (guint8)sent.packing;
	g_array_append_val(graph->passes, pass);
	return TRUE;
}

gboolean part_take_call(struct part_receiver *receiver, struct packed_bytes *packed)
{
	TachoGraph *graph = receiver->builder->graph;
	struct graph_call call;

	if (!unpack_bytes(packed, &call, sizeof(call)) || call.transfer >= graph->transfers->len ||
	    !take_node_number(receiver, &call.node) || graph->calls->len == G_MAXUINT)
		return FALSE;
	g_array_append_val(graph->calls, call);
	return TRUE;
}

void part_tell_rank(struct graph_told *told, const struct sent_rank *facts)
{
	told->n_slices[facts->rank_index] = facts->n_slices;
	told->peak_bytes = MAX(told->peak_bytes, facts->peak_bytes);
}

gboolean part_take_rank(struct part_receiver *receiver, struct packed_bytes *packed)
{
	struct sent_rank sent;

	if (!unpack_bytes(packed, &sent, sizeof(sent)) ||
	    !is_others_rank(receiver, sent.rank_index))
		return FALSE;
	part_tell_rank(receiver->builder->graph->told, &sent);
	return TRUE;
}

static gboolean is_track(const struct part_receiver *receiver, guint32 track)
{
	return track == TACHO_NONE || track < receiver->builder->timeline->tracks->len;
}

gboolean part_take_block(struct part_receiver *receiver, struct packed_bytes *packed)
{
	GArray *blocks = receiver->builder->graph->told->blocks;
	struct told_block block;

	if (!unpack_bytes(packed, &block, sizeof(block)) ||
	    !is_others_rank(receiver, block.rank_index) || !is_track(receiver, block.begin_track) ||
	    !is_track(receiver, block.end_track) || !take_name_number(receiver, &block.owner) ||
	    block.bytes <= 0 || !is_time(block.begin_ns) ||
	    (block.end_ns != G_MAXINT64 && !is_time(block.end_ns)) ||
	    (blocks->len > 0 &&
	     g_array_index(blocks, struct told_block, blocks->len - 1).rank_index >
		     block.rank_index))
		return FALSE;
	g_array_append_val(blocks, block);
	return TRUE;
}
