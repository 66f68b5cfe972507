/* part_sender: what a process made of the ranks that it owns, row by row. */
#include "graph/graph_parts.h"

#include <string.h>

#include "analyze/device_work.h"
#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "trace/run_share.h"

/* The number under which the first process finds a string. */
static guint32 sent_name(const struct part_sender *sender, guint32 name)
{
	guint32 n_strings = sender->builder->timeline->share->n_strings;

	if (name < n_strings)
		return name;
	return n_strings +
	       GPOINTER_TO_UINT(g_hash_table_lookup(sender->name_rows, GUINT_TO_POINTER(name))) - 1;
}

static void add_name(struct part_sender *sender, guint32 name)
{
	gpointer key = GUINT_TO_POINTER(name);

	if (name < sender->builder->timeline->share->n_strings ||
	    g_hash_table_contains(sender->name_rows, key))
		return;
	g_array_append_val(sender->names, name);
	g_hash_table_insert(sender->name_rows, key, GUINT_TO_POINTER(sender->names->len));
}

/* Who handed memory out: the innermost operation, or what was open; 0: nothing was. */
static guint32 owner_of(const TachoTimeline *timeline, guint32 slice)
{
	guint32 op = slice == TACHO_NONE ? TACHO_NONE : innermost_op(timeline, slice);

	if (slice == TACHO_NONE)
		return 0;
	return timeline->slices.name[op == TACHO_NONE ? slice : op];
}

static void add_blocks(struct part_sender *sender, guint32 rank_index)
{
	const struct graph_builder *builder = sender->builder;
	const struct build_window *window = &builder->windows[rank_index];
	g_autoptr(GArray) blocks = memory_blocks_of_process(
		builder->timeline,
		tacho_timeline_rank(builder->timeline, rank_index)->main_process);

	FOR_EACH(const struct memory_block, block, blocks) {
		struct told_block told;

		if (block->end_ns < window->from_ns || block->begin_ns > window->to_ns)
			continue;
		memset(&told, 0, sizeof(told));
		told.begin_ns = block->begin_ns;
		told.end_ns = block->end_ns;
		told.bytes = block->bytes;
		told.address = block->address;
		told.rank_index = rank_index;
		told.device = block->device;
		told.owner = owner_of(builder->timeline, block->slice);
		told.begin_track = block->begin_track;
		told.end_track = block->end_track;
		add_name(sender, told.owner);
		g_array_append_val(sender->blocks, told);
	}
}

struct sent_rank part_rank_facts(const struct graph_builder *builder, guint32 rank_index)
{
	struct sent_rank facts = { .rank_index = rank_index };

	facts.n_slices = graph_slices_of_rank(builder->graph, rank_index);
	facts.peak_bytes = memory_peak_of_process(
		builder->timeline,
		tacho_timeline_rank(builder->timeline, rank_index)->main_process);
	return facts;
}

void part_sender_init(struct part_sender *sender, const struct graph_builder *builder)
{
	*sender = (struct part_sender){ .builder = builder };
	sender->names = g_array_new(FALSE, FALSE, sizeof(guint32));
	sender->name_rows = g_hash_table_new(NULL, NULL);
	sender->members = g_array_new(FALSE, FALSE, sizeof(guint32));
	sender->blocks = g_array_new(FALSE, FALSE, sizeof(struct told_block));
	sender->ranks = g_array_new(FALSE, FALSE, sizeof(struct sent_rank));
	for (guint32 i = builder->n_ranks; i < builder->graph->nodes->len; i++)
		add_name(sender, graph_node_at(builder->graph, i)->name);
	FOR_EACH_AT(const struct build_member, member, i, builder->members)
		if (build_thread_at(builder, member->thread)->is_own)
			g_array_append_val(sender->members, i);
	for (guint32 i = 0; i < builder->n_ranks; i++) {
		struct sent_rank facts;

		if (!run_share_owns_rank(builder->timeline, i))
			continue;
		facts = part_rank_facts(builder, i);
		g_array_append_val(sender->ranks, facts);
		add_blocks(sender, i);
	}
}

void part_sender_release(struct part_sender *sender)
{
	g_array_unref(sender->names);
	g_hash_table_unref(sender->name_rows);
	g_array_unref(sender->members);
	g_array_unref(sender->blocks);
	g_array_unref(sender->ranks);
}

void part_pack_name(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	pack_text(bytes, tacho_timeline_string(sender->builder->timeline,
					       g_array_index(sender->names, guint32, row)));
}

void part_pack_node(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	guint32 index = sender->builder->n_ranks + row;
	const struct graph_node *node = graph_node_at(sender->builder->graph, index);
	struct sent_node sent = {
		.duration_ns = node->duration_ns,
		.begin_ns = node->begin_ns,
		.kind_of_contention = builder_contention_kind(sender->builder, index, FALSE),
		.name = sent_name(sender, node->name),
		.lane = node->lane,
		.step = node->step,
		.kind = node->kind,
		.origin = node->origin,
	};

	pack_bytes(bytes, &sent, sizeof(sent));
}

void part_pack_edge(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	pack_bytes(bytes, &g_array_index(sender->builder->graph->edges, struct graph_edge, row),
		   sizeof(struct graph_edge));
}

void part_pack_member(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	guint32 index = g_array_index(sender->members, guint32, row);
	const struct build_member *member = build_member_at(sender->builder, index);
	struct sent_member sent = { .end_ns = member->end_ns,
				    .index = index,
				    .from_node = member->from_node,
				    .wait_node = member->wait_node,
				    .sequel_node = member->sequel_node,
				    .ordinal = member->ordinal };

	pack_bytes(bytes, &sent, sizeof(sent));
}

void part_pack_gradient(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	const struct graph_gradient *gradient =
		&g_array_index(sender->builder->graph->gradients, struct graph_gradient, row);
	struct sent_gradient sent = { gradient->bytes, gradient->ready_node, gradient->copy_node };

	pack_bytes(bytes, &sent, sizeof(sent));
	pack_text(bytes, gradient->dtype);
}

void part_pack_pass(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	const struct graph_pass *pass =
		&g_array_index(sender->builder->graph->passes, struct graph_pass, row);
	struct sent_pass sent = { pass->rank_index,	pass->ordinal,	   pass->step,
				  pass->first_gradient, pass->n_gradients, pass->finish_node,
				  pass->packing };

	pack_bytes(bytes, &sent, sizeof(sent));
}

void part_pack_call(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	pack_bytes(bytes, &g_array_index(sender->builder->graph->calls, struct graph_call, row),
		   sizeof(struct graph_call));
}

void part_pack_rank(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	pack_bytes(bytes, &g_array_index(sender->ranks, struct sent_rank, row),
		   sizeof(struct sent_rank));
}

void part_pack_block(const struct part_sender *sender, GByteArray *bytes, guint32 row)
{
	struct told_block block = g_array_index(sender->blocks, struct told_block, row);

	block.owner = sent_name(sender, block.owner);
	pack_bytes(bytes, &block, sizeof(block));
}

guint32 part_count_name(const struct part_sender *sender)
{
	return sender->names->len;
}

guint32 part_count_node(const struct part_sender *sender)
{
	return sender->builder->graph->nodes->len - sender->builder->n_ranks;
}

guint32 part_count_edge(const struct part_sender *sender)
{
	return sender->builder->graph->edges->len;
}

guint32 part_count_member(const struct part_sender *sender)
{
	return sender->members->len;
}

guint32 part_count_gradient(const struct part_sender *sender)
{
	return sender->builder->graph->gradients->len;
}

guint32 part_count_pass(const struct part_sender *sender)
{
	return sender->builder->graph->passes->len;
}

guint32 part_count_call(const struct part_sender *sender)
{
	return sender->builder->graph->calls->len;
}

guint32 part_count_rank(const struct part_sender *sender)
{
	return sender->ranks->len;
}

guint32 part_count_block(const struct part_sender *sender)
{
	return sender->blocks->len;
}
