#include "analyze/order_lanes.h"

#include "base/for_each.h"
#include "trace/run_share.h"

struct order_lane *order_lane_new(void)
{
	struct order_lane *lane = g_new0(struct order_lane, 1);

	lane->items = g_array_new(FALSE, FALSE, sizeof(struct order_item));
	return lane;
}

void order_lane_free(gpointer lane_pointer)
{
	struct order_lane *lane = lane_pointer;

	g_free(lane->name);
	g_array_unref(lane->items);
	g_free(lane);
}

/* Names come once, and items by the number of theirs. */
static void pack_lanes(GByteArray *bytes, const GPtrArray *all)
{
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL); /* name -> number + 1 */
	g_autoptr(GByteArray) lanes = g_byte_array_new();
	g_autoptr(GByteArray) names = g_byte_array_new();

	FOR_EACH_POINTER(const struct order_lane, lane, all) {
		pack_bytes(lanes, &lane->rank, sizeof(lane->rank));
		pack_text(lanes, lane->name);
		pack_uint32(lanes, lane->items->len);
		FOR_EACH(const struct order_item, item, lane->items) {
			gpointer number = g_hash_table_lookup(numbers, item->name);

			if (!number) {
				number = GUINT_TO_POINTER(g_hash_table_size(numbers) + 1);
				g_hash_table_insert(numbers, (gpointer)item->name, number);
				pack_text(names, item->name);
			}
			pack_uint32(lanes, GPOINTER_TO_UINT(number) - 1);
			pack_uint32(lanes, item->step);
		}
	}
	pack_uint32(bytes, g_hash_table_size(numbers));
	pack_bytes(bytes, names->data, names->len);
	pack_bytes(bytes, lanes->data, lanes->len);
}

struct taking {
	GPtrArray *lanes;
	GStringChunk *names;
};

/* The names of one process's items, by their numbers; NULL: they cannot be such. */
static GPtrArray *take_names(struct packed_bytes *packed, GStringChunk *kept)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(guint32)))
		return NULL;
	while (n--) {
		g_autofree gchar *name = unpack_text(packed);

		if (!name)
			return NULL;
		g_ptr_array_add(names, g_string_chunk_insert_const(kept, name));
	}
	return g_steal_pointer(&names);
}

static gboolean take_items(struct packed_bytes *packed, const GPtrArray *names, GArray *items)
{
	guint32 n, name;

	if (!unpack_count(packed, &n, 2 * sizeof(guint32)))
		return FALSE;
	while (n--) {
		struct order_item item;

		if (!unpack_bytes(packed, &name, sizeof(name)) || name >= names->len ||
		    !unpack_bytes(packed, &item.step, sizeof(item.step)))
			return FALSE;
		item.name = g_ptr_array_index(names, name);
		g_array_append_val(items, item);
	}
	return TRUE;
}

static gboolean take_lane(struct packed_bytes *packed, const GPtrArray *names,
			  struct order_lane *lane)
{
	if (!unpack_bytes(packed, &lane->rank, sizeof(lane->rank)))
		return FALSE;
	lane->name = unpack_text(packed);
	return lane->name && take_items(packed, names, lane->items);
}

static gboolean take_lanes(guint from, const guint8 *bytes, gsize n_bytes, gpointer taking_pointer)
{
	const struct taking *taking = taking_pointer;
	struct packed_bytes packed = { bytes, n_bytes };
	g_autoptr(GPtrArray) names = take_names(&packed, taking->names);

	(void)from;
	if (!names)
		return FALSE;
	while (packed.n_left) {
		struct order_lane *lane = order_lane_new();

		if (!take_lane(&packed, names, lane)) {
			order_lane_free(lane);
			return FALSE;
		}
		g_ptr_array_add(taking->lanes, lane);
	}
	return TRUE;
}

void order_lanes_share(GPtrArray *lanes, GStringChunk *names, const TachoTimeline *timeline)
{
	struct taking taking = { lanes, names };
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	pack_lanes(bytes, lanes);
	g_ptr_array_set_size(lanes, 0);
	run_share_exchange(timeline, "order of work", bytes, take_lanes, &taking);
}
