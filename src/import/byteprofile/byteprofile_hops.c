#include "import/byteprofile/byteprofile_hops.h"

#include <stdlib.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/partition_point.h"
#include "import/byteprofile/byteprofile_tensors.h"
#include "import/byteprofile/nccl_topology.h"

enum {
	MAX_NUMBERS = 4096, /* of tensors that are moved as one */
};

/* The parts that NCCL moves tensors in. */
struct parts {
	guint32 n_chunks, n_loops, n_parts; /* the largest number seen, and 1 more */
	guint8 has_channel[HOP_MAX_CHANNELS];
	guint32 n_channels;
};

struct linking {
	TachoTimeline *timeline;
	const GArray *records;
	struct nccl_topology *topology;
	GHashTable *parts_of;	 /* tensors -> struct parts */
	GHashTable *is_recorded; /* channel and sender: its way to the next was */
	gint32 n_ranks;
	guint64 n_lost;
};

/* --- names ---------------------------------------------------------------------------------- */

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return ORDER(x, y);
}

guint32 hop_tensors(TachoTimeline *timeline, const gchar *text)
{
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GString) name = g_string_new(NULL);

	while (g_ascii_isdigit(*text) && numbers->len < MAX_NUMBERS) {
		gchar *end;
		guint64 number = g_ascii_strtoull(text, &end, 10);

		g_array_append_val(numbers, number);
		text = *end == '+' ? end + 1 : end;
		if (*end != '+')
			break;
	}
	g_array_sort(numbers, compare_numbers);
	for (guint i = 0; i < numbers->len; i++)
		g_string_append_printf(name, "%s%" G_GUINT64_FORMAT, i ? "+" : "",
				       g_array_index(numbers, guint64, i));
	return tacho_timeline_intern(timeline, name->str, -1);
}

void hop_record_init(struct hop_record *record, guint32 process, gint32 rank)
{
	record->process = process;
	record->rank = rank;
	record->collectives = g_array_new(FALSE, FALSE, sizeof(struct hop_collective));
	record->pieces = g_array_new(FALSE, FALSE, sizeof(struct hop_piece));
}

void hop_record_release(struct hop_record *record)
{
	g_clear_pointer(&record->collectives, g_array_unref);
	g_clear_pointer(&record->pieces, g_array_unref);
}

static struct hop_record *record_at(const struct linking *linking, guint i)
{
	return &g_array_index(linking->records, struct hop_record, i);
}

static struct hop_collective *collective_at(const struct hop_record *record, guint i)
{
	return &g_array_index(record->collectives, struct hop_collective, i);
}

static const struct hop_piece *piece_at(const struct hop_record *record, guint i)
{
	return &g_array_index(record->pieces, struct hop_piece, i);
}

/* --- what was seen -------------------------------------------------------------------------- */

static gint64 *new_key(guint32 high, guint32 low)
{
	gint64 *key = g_new(gint64, 1);

	*key = (gint64)((guint64)high << 32 | low);
	return key;
}

/* Without a file, a ring in the order of the ranks. */
static void make_ring(struct linking *linking)
{
	if (nccl_topology_has_ring(linking->topology) || linking->n_ranks < 2)
		return;
	for (guint32 channel = 0; channel < HOP_MAX_CHANNELS; channel++)
		for (gint32 rank = 0; rank < linking->n_ranks; rank++)
			nccl_topology_add_ring(linking->topology, channel, (guint32)rank,
					       (guint32)((rank + 1) % linking->n_ranks));
}

static void see_piece(struct linking *linking, const struct hop_record *record,
		      const struct hop_piece *piece)
{
	gpointer key = GUINT_TO_POINTER(piece->tensors);
	struct parts *parts = g_hash_table_lookup(linking->parts_of, key);
	gint32 sender = piece->is_receive ? nccl_topology_previous(linking->topology,
								   piece->channel, record->rank)
					  : record->rank;

	if (!parts) {
		parts = g_new0(struct parts, 1);
		g_hash_table_insert(linking->parts_of, key, parts);
	}
	parts->n_chunks = MAX(parts->n_chunks, piece->chunk + 1);
	parts->n_loops = MAX(parts->n_loops, piece->loop + 1);
	parts->n_parts = MAX(parts->n_parts, piece->part + 1);
	parts->n_channels += !parts->has_channel[piece->channel];
	parts->has_channel[piece->channel] = 1;
	if (sender >= 0)
		g_hash_table_add(linking->is_recorded, new_key(piece->channel, (guint32)sender));
}

/* --- tensors that were moved as one ----------------------------------------------------------- */

static gint64 begin_of(const struct linking *linking, guint32 slice)
{
	return linking->timeline->slices.start_ns[slice];
}

static gint64 end_of(const struct linking *linking, guint32 slice)
{
	return tacho_slice_end_ns(linking->timeline, slice);
}

static guint64 bytes_of(const struct linking *linking, guint32 slice)
{
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(linking->timeline, slice, &args);
	return args.bytes;
}

/* The record's collective of those tensors that lies over the one given; NULL: there is none. */
static struct hop_collective *find_beside(const struct linking *linking,
					  const struct hop_record *record, guint32 tensors,
					  guint32 slice)
{
	FOR_EACH(struct hop_collective, other, record->collectives)
		if (other->tensors == tensors && other->slice != slice &&
		    begin_of(linking, other->slice) < end_of(linking, slice) &&
		    end_of(linking, other->slice) > begin_of(linking, slice))
			return other;
	return NULL;
}

static void take_inputs(const TachoTimeline *timeline, guint32 slice, GArray *inputs)
{
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		g_array_append_val(inputs, tensor);
}

/* Let `first` stand for the collectives of all its tensors; unless one of them is not there. */
static void fuse(struct linking *linking, const struct hop_record *record,
		 struct hop_collective *first, guint32 tensors, gchar *const *names)
{
	TachoTimeline *timeline = linking->timeline;
	TachoCollectiveArgs args = { .bytes = bytes_of(linking, first->slice),
				     .packing = TACHO_PACKED_IN_BUFFERS };
	g_autoptr(GArray) inputs = g_array_new(FALSE, FALSE, sizeof(TachoTensor));
	gboolean is_known = args.bytes > 0;

	for (guint i = 1; names[i]; i++)
		if (!find_beside(linking, record, tacho_timeline_intern(timeline, names[i], -1),
				 first->slice))
			return;
	take_inputs(timeline, first->slice, inputs);
	for (guint i = 1; names[i]; i++) {
		struct hop_collective *other =
			find_beside(linking, record, tacho_timeline_intern(timeline, names[i], -1),
				    first->slice);
		guint64 bytes = bytes_of(linking, other->slice);

		is_known &= bytes > 0 && !__builtin_add_overflow(args.bytes, bytes, &args.bytes);
		take_inputs(timeline, other->slice, inputs);
		timeline->slices.kind[other->slice] = TACHO_SLICE_EVENT;
		other->tensors = 0;
	}
	first->tensors = tensors;
	if (!is_known)
		args.bytes = 0;
	args.n_inputs = inputs->len;
	timeline->slices.source[first->slice] =
		inputs->len || is_known
			? tacho_timeline_keep_collective(timeline, &args,
							 (const TachoTensor *)inputs->data)
			: 0;
}

static void fuse_tensors(struct linking *linking, guint32 tensors)
{
	g_auto(GStrv) names =
		g_strsplit(tacho_timeline_string(linking->timeline, tensors), "+", -1);
	guint32 first = tacho_timeline_intern(linking->timeline, names[0], -1);

	for (guint i = 0; names[1] && i < linking->records->len; i++) {
		struct hop_record *record = record_at(linking, i);

		for (guint j = 0; j < record->collectives->len; j++)
			if (collective_at(record, j)->tensors == first)
				fuse(linking, record, collective_at(record, j), tensors, names);
	}
}

/* What asked for a collective that stands for itself no more. */
static void forget_queues(TachoTimeline *timeline)
{
	FOR_EACH(TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_QUEUE_COLLECTIVE &&
		    timeline->slices.kind[flow->to] != TACHO_SLICE_COLLECTIVE)
			flow->kind = TACHO_FLOW_OTHER;
}

/* --- rings ---------------------------------------------------------------------------------- */

/* Who must have received what before `rank` has what it sends at `step`: (1). */
static void find_feeder(const struct linking *linking, guint32 channel, gint32 rank, guint32 step,
			TachoHop *hop)
{
	hop->fed_by = -1;
	for (gint32 n_left = linking->n_ranks; step-- > 0 && n_left > 0; n_left--) {
		gint32 sender = nccl_topology_previous(linking->topology, channel, rank);
		g_autofree gint64 *key = new_key(channel, (guint32)sender);

		if (sender < 0)
			return;
		if (g_hash_table_contains(linking->is_recorded, key)) {
			hop->fed_by = rank;
			hop->fed_step = step;
			return;
		}
		rank = sender;
	}
}

static void place_in_ring(const struct linking *linking, const struct hop_record *record,
			  const struct hop_piece *piece, TachoHop *hop)
{
	hop->way = TACHO_HOP_RING;
	hop->step = piece->chunk;
	if (piece->is_receive) {
		hop->peer = nccl_topology_previous(linking->topology, piece->channel, record->rank);
	} else {
		hop->peer = nccl_topology_next(linking->topology, piece->channel, record->rank);
		find_feeder(linking, piece->channel, record->rank, piece->chunk, hop);
	}
}

/* What each rank's part in the collective ends with, a row for each channel. */
static void add_ring_ends(struct linking *linking, const struct hop_record *record, guint32 slice,
			  const struct parts *parts)
{
	for (guint32 channel = 0; channel < HOP_MAX_CHANNELS; channel++) {
		TachoHop end = { .slice = TACHO_NONE,
				 .collective = slice,
				 .peer = -1,
				 .channel = channel,
				 .is_receive = TRUE,
				 .way = TACHO_HOP_RING };

		if (!parts->has_channel[channel])
			continue;
		find_feeder(linking, channel, record->rank, parts->n_chunks, &end);
		if (end.fed_by >= 0)
			g_array_append_val(linking->timeline->hops, end);
	}
}

/* --- trees ---------------------------------------------------------------------------------- */

static guint32 host_of(const struct linking *linking, gint32 rank)
{
	for (guint i = 0; i < linking->records->len; i++)
		if (record_at(linking, i)->rank == rank)
			return tacho_timeline_process(linking->timeline,
						      record_at(linking, i)->process)
				->host;
	return TACHO_NONE;
}

static gboolean is_over_network(const struct linking *linking, gint32 rank, gint32 other)
{
	return other >= 0 && host_of(linking, rank) != host_of(linking, other);
}

/* The rank's `index`-th neighbour below over a network; -1: it has not so many. */
static gint32 find_child(const struct linking *linking, guint32 channel, gint32 rank, guint index)
{
	for (guint i = 0; i < NCCL_MAX_CHILDREN; i++) {
		gint32 child = nccl_topology_child(linking->topology, channel, rank, i);

		if (is_over_network(linking, rank, child) && index-- == 0)
			return child;
	}
	return -1;
}

static guint count_children(const struct linking *linking, guint32 channel, gint32 rank)
{
	guint n = 0;

	while (find_child(linking, channel, rank, n) >= 0)
		n++;
	return n;
}

/* The `index`-th that the rank sent, or received, of one part of a collective: (3). */
static void place_in_tree(const struct linking *linking, const struct hop_record *record,
			  const struct hop_piece *piece, guint index, TachoHop *hop)
{
	gint32 parent = nccl_topology_parent(linking->topology, piece->channel, record->rank);
	guint n_children = count_children(linking, piece->channel, record->rank);
	guint n_up = n_children;

	if (!piece->is_receive)
		n_up = is_over_network(linking, record->rank, parent) ? 1 : 0;
	hop->way = TACHO_HOP_TREE;
	hop->fed_by = -1;
	hop->peer = -1;
	hop->step = index >= n_up;
	if ((hop->step == 0) != piece->is_receive) /* to or from above */
		hop->peer = is_over_network(linking, record->rank, parent) &&
					    index - n_up * hop->step == 0
				    ? parent
				    : -1;
	else
		hop->peer =
			find_child(linking, piece->channel, record->rank, index - n_up * hop->step);
}

/* --- pieces --------------------------------------------------------------------------------- */

/* By tensors and begin. */
static gint compare_collectives(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoSlices *slices = data;
	const struct hop_collective *x = a, *y = b;

	return ORDER(x->tensors, y->tensors)
		       ?: ORDER(slices->start_ns[x->slice], slices->start_ns[y->slice]);
}

/* The record's collective of the tensors in which the slice began; NULL: there is none. They are in order. */
static const struct hop_collective *find_collective(const struct linking *linking,
						    const struct hop_record *record,
						    const struct hop_piece *piece)
{
	struct hop_collective key = { piece->tensors, piece->slice };
	const struct hop_collective *found =
		LAST_BEFORE(record->collectives, struct hop_collective, row,
			    compare_collectives(row, &key, &linking->timeline->slices) <= 0);

	return found && found->tensors == piece->tensors &&
			       end_of(linking, found->slice) >= begin_of(linking, piece->slice)
		       ? found
		       : NULL;
}

/* As many-th piece of its sort before it: of its collective, channel, loop, part and direction. */
static guint count_before(GHashTable *counts, const struct hop_piece *piece, guint32 collective)
{
	g_autofree gchar *key = g_strdup_printf("%u %u %u %u %d", collective, piece->channel,
						piece->loop, piece->part, piece->is_receive != 0);
	guint n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key));

	g_hash_table_insert(counts, g_steal_pointer(&key), GUINT_TO_POINTER(n + 1));
	return n;
}

static gboolean is_tree(const struct linking *linking, const struct parts *parts)
{
	return parts->n_chunks == 1 && g_hash_table_size(linking->topology->children) > 0;
}

static guint64 bytes_of_hop(const struct linking *linking, guint32 collective,
			    const struct parts *parts)
{
	guint64 n = (guint64)parts->n_channels * parts->n_loops;

	if (__builtin_mul_overflow(n, (guint64)parts->n_parts, &n))
		return 0;
	if (!is_tree(linking, parts) && __builtin_mul_overflow(n, (guint64)linking->n_ranks, &n))
		return 0;
	return n ? bytes_of(linking, collective) / n : 0;
}

static void link_piece(struct linking *linking, const struct hop_record *record,
		       const struct hop_piece *piece, GHashTable *counts)
{
	const struct parts *parts =
		g_hash_table_lookup(linking->parts_of, GUINT_TO_POINTER(piece->tensors));
	const struct hop_collective *collective = find_collective(linking, record, piece);
	TachoHop hop = { .slice = piece->slice,
			 .fed_by = -1,
			 .channel = piece->channel,
			 .loop = piece->loop,
			 .part = piece->part,
			 .is_receive = piece->is_receive != 0 };

	if (!collective) {
		linking->n_lost++;
		return;
	}
	hop.collective = collective->slice;
	hop.bytes = bytes_of_hop(linking, collective->slice, parts);
	if (is_tree(linking, parts))
		place_in_tree(linking, record, piece,
			      count_before(counts, piece, collective->slice), &hop);
	else
		place_in_ring(linking, record, piece, &hop);
	if (hop.peer < 0)
		linking->n_lost++;
	else
		g_array_append_val(linking->timeline->hops, hop);
}

static gint compare_pieces(gconstpointer a, gconstpointer b, gpointer data)
{
	const TachoSlices *slices = data;
	const struct hop_piece *x = a, *y = b;

	return ORDER(slices->start_ns[x->slice], slices->start_ns[y->slice])
		       ?: ORDER(x->slice, y->slice);
}

static void link_record(struct linking *linking, const struct hop_record *record)
{
	g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	g_array_sort_with_data(record->collectives, compare_collectives,
			       &linking->timeline->slices);
	g_array_sort_with_data(record->pieces, compare_pieces, &linking->timeline->slices);
	for (guint i = 0; i < record->pieces->len; i++)
		link_piece(linking, record, piece_at(record, i), counts);
	FOR_EACH(const struct hop_collective, collective, record->collectives) {
		const struct parts *parts = g_hash_table_lookup(
			linking->parts_of, GUINT_TO_POINTER(collective->tensors));

		if (collective->tensors && parts && !is_tree(linking, parts))
			add_ring_ends(linking, record, collective->slice, parts);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

static void read_topology(struct linking *linking, const gchar *const *folders)
{
	for (; *folders; folders++) {
		g_autofree gchar *path = g_build_filename(*folders, "nccl_rank_graph.json", NULL);

		if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
			nccl_topology_read(linking->topology, path);
	}
	make_ring(linking);
}

static void see_pieces(struct linking *linking)
{
	FOR_EACH(const struct hop_record, record, linking->records)
		for (guint j = 0; j < record->pieces->len; j++)
			see_piece(linking, record, piece_at(record, j));
}

static void link_all(struct linking *linking)
{
	g_autoptr(GList) tensors = g_hash_table_get_keys(linking->parts_of);

	for (GList *at = tensors; at; at = at->next)
		fuse_tensors(linking, GPOINTER_TO_UINT(at->data));
	forget_queues(linking->timeline);
	for (guint i = 0; i < linking->records->len; i++)
		link_record(linking, record_at(linking, i));
	if (linking->n_lost > 0)
		tacho_timeline_add_problem(linking->timeline, TACHO_PROBLEM_UNMATCHED_MESSAGE,
					   linking->n_lost,
					   "sends and receives of NCCL without a collective, or "
					   "without a place in its rings and trees");
}

void byteprofile_hops_link(TachoTimeline *timeline, const GArray *records,
			   const gchar *const *folders)
{
	struct linking linking = { .timeline = timeline, .records = records };

	for (guint i = 0; i < records->len; i++)
		linking.n_ranks = MAX(linking.n_ranks, record_at(&linking, i)->rank + 1);
	linking.topology = nccl_topology_new();
	linking.parts_of = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	linking.is_recorded = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	read_topology(&linking, folders);
	see_pieces(&linking);
	if (g_hash_table_size(linking.parts_of) > 0)
		link_all(&linking);
	g_hash_table_unref(linking.parts_of);
	g_hash_table_unref(linking.is_recorded);
	nccl_topology_free(linking.topology);
}
