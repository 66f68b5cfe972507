/* graph_parts: what each of several processes made of the ranks that it owns (trace/run_share.h), brought to the first one.
 *
 * (1) A part is the nodes of its ranks' threads with the edges among them, what the collectives of its ranks hang on, their
 *     gradients, memory and numbers of slices. Pieces of time and slices stay with their owner, so nodes of others have no slice.
 * (2) All have the same threads, lanes, members and collectives under the same numbers. Of nodes they have the same begins of
 *     ranks; those of an owner's threads follow each other, so that they have other numbers by the same difference.
 * (3) Parts are added in the order of their ranks, so nodes and edges stand where one process would have put them.
 * (4) What comes is checked like a file. */
#include "graph/graph_parts.h"

#include <string.h>

#include "base/for_each.h"
#include "trace/run_share.h"

guint64 graph_slices_of_rank(const TachoGraph *graph, guint32 rank_index)
{
	guint32 process = tacho_timeline_rank(graph->timeline, rank_index)->main_process;
	guint64 n = 0;

	if (graph->told)
		return graph->told->n_slices[rank_index];
	FOR_EACH(const TachoTrack, track, graph->timeline->tracks)
		if (track->process == process)
			n += track->n_slices;
	return n;
}

static const struct stage {
	guint32 (*count)(const struct part_sender *sender);
	void (*pack)(const struct part_sender *sender, GByteArray *bytes, guint32 row);
	gboolean (*take)(struct part_receiver *receiver, struct packed_bytes *packed);
} stages[] = {
#define PART_STAGE(what) { part_count_##what, part_pack_##what, part_take_##what },
	PART_STAGES(PART_STAGE)
#undef PART_STAGE
};

struct exchange {
	struct part_sender sender;
	struct part_receiver receiver;
};

/* Rows of one stage: which one, how many, and these. */
static void pack_part(GByteArray *bytes, gpointer exchange_pointer)
{
	struct part_sender *sender = &((struct exchange *)exchange_pointer)->sender;
	guint32 n = 0;

	for (; sender->stage < G_N_ELEMENTS(stages); sender->stage++, sender->next = 0) {
		guint32 n_rows = stages[sender->stage].count(sender);

		if (sender->next == n_rows)
			continue;
		pack_uint32(bytes, sender->stage);
		pack_uint32(bytes, 0);
		for (; sender->next < n_rows && bytes->len < TACHO_PEERS_PIECE_BYTES; n++)
			stages[sender->stage].pack(sender, bytes, sender->next++);
		memcpy(bytes->data + sizeof(guint32), &n, sizeof(n));
		return;
	}
}

static gboolean take_part(guint from, const guint8 *bytes, gsize n_bytes, gpointer exchange_pointer)
{
	struct part_receiver *receiver = &((struct exchange *)exchange_pointer)->receiver;
	struct packed_bytes packed = { bytes, n_bytes };
	guint32 stage, n;

	if (from != receiver->from)
		part_receiver_begin(receiver, from);
	if (!unpack_bytes(&packed, &stage, sizeof(stage)) || stage >= G_N_ELEMENTS(stages) ||
	    !unpack_bytes(&packed, &n, sizeof(n)))
		return FALSE;
	while (n-- > 0)
		if (!stages[stage].take(receiver, &packed))
			return FALSE;
	return packed.n_left == 0;
}

/* What the first process has of its own ranks beside what comes. */
static void begin_whole(struct graph_builder *builder)
{
	struct graph_told *told = graph_told_new(builder->timeline);

	for (guint32 i = 0; i < builder->n_ranks; i++)
		if (run_share_owns_rank(builder->timeline, i)) {
			struct sent_rank facts = part_rank_facts(builder, i);

			part_tell_rank(told, &facts);
		}
	builder->graph->told = told;
	builder->told_kinds = g_array_new(FALSE, FALSE, sizeof(gint64));
	builder->first_told = builder->graph->nodes->len;
}

/* Every part in a collective has its place. */
static gboolean has_all_members(const struct graph_builder *builder)
{
	FOR_EACH(const struct build_member, member, builder->members)
		if (member->work == TACHO_NONE && member->from_node == TACHO_NONE)
			return FALSE;
	return TRUE;
}

gboolean builder_share_parts(struct graph_builder *builder, GError **error)
{
	static const gchar incomplete[] = "tacho's processes do not have all parts of the graph";
	TachoPeers *peers = run_share_borrow_peers(builder->timeline);
	gboolean is_first = tacho_peers_index(peers) == 0, is_done;
	struct exchange exchange = { .receiver = { .builder = builder } };

	exchange.receiver.names = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (is_first)
		begin_whole(builder);
	else
		part_sender_init(&exchange.sender, builder);
	is_done = tacho_peers_collect(peers, "parts of a graph", pack_part, take_part, &exchange);
	g_array_unref(exchange.receiver.names);
	if (!is_first)
		part_sender_release(&exchange.sender);
	if (is_done && is_first && !has_all_members(builder)) {
		tacho_peers_fail(peers, incomplete);
		is_done = FALSE;
	}
	return is_done || run_share_fail(builder->timeline, incomplete, error);
}
