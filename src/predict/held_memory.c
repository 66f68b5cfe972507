/* held_memory: what is held of each memory of a rank, the host's and its devices', in the course of a replay.
 *
 * (1) What happens at one moment of a replay (in work that takes no time any more) happens in the order of the
 *     recording. So what is held between two changes of one moment counts as well.
 * (2) Memories are apart: of several devices each has its own, and what the host holds is in none of them. A peak is
 *     of one of them. */
#include <math.h>
#include <string.h>

#include "analyze/memory_blocks.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "graph/rank_copies.h"
#include "edit/graph_memory.h"
#include "predict/held_memory.h"

/* Points of a curve. Source: a rule: more than a terminal or page shows. If wrong, a curve is coarse; each point is its stretch's peak. */
#define N_POINTS 200
/* The most that memory is shown to hold.
 * Source: derived from G_MAXINT64, which is 9.2e18. */
#define MAX_SHOWN_BYTES 4e18

static gint compare_changes(gconstpointer a, gconstpointer b)
{
	const struct held_change *x = a, *y = b;

	/* of one time, what is given back comes first */
	return ORDER(x->device, y->device) ?: ORDER(x->time_ns, y->time_ns) ?:
	       ORDER(x->recorded_ns, y->recorded_ns) ?: ORDER(y->bytes < 0, x->bytes < 0) ?:
	       ORDER(x->block, y->block);
}

static gint64 replayed_ns(const TachoReplay *replay, const struct graph_moment *moment)
{
	gint64 begin_ns, length_ns;

	if (moment->node == TACHO_NONE)
		return moment->time_ns; /* before all, or after all */
	begin_ns = replay->begin_ns[moment->node];
	length_ns = replay->end_ns[moment->node] - begin_ns;
	return begin_ns + (gint64)(moment->share * (gdouble)length_ns);
}

static gboolean is_removed(const TachoGraph *graph, const struct graph_moment *moment)
{
	return moment->node != TACHO_NONE &&
	       graph_node_at(graph, moment->node)->kind == TACHO_NODE_REMOVED;
}

/* Bytes for a table, of a sum that a broken trace may have made larger than fits. */
static gint64 whole_bytes(gdouble bytes)
{
	return fabs(bytes) < 0x1p63 ? (gint64)bytes : bytes < 0 ? G_MININT64 : G_MAXINT64;
}

/* Sums of each memory; what a broken trace holds does not overflow. */
static void sum_up(GArray *changes)
{
	FOR_EACH_AT(struct held_change, change, i, changes) {
		change->held_bytes = (gdouble)change->bytes;
		if (i > 0 && change[-1].device == change->device)
			change->held_bytes += change[-1].held_bytes;
	}
}

GArray *held_memory_of_rank(const TachoReplay *replay, guint32 rank_index)
{
	const TachoGraph *graph = replay->graph;
	GArray *changes = g_array_new(FALSE, FALSE, sizeof(struct held_change));

	FOR_EACH_AT(const struct graph_block, block, i, graph->blocks) {
		struct held_change begin = { .time_ns = replayed_ns(replay, &block->begin),
					     .recorded_ns = block->begin.time_ns,
					     .bytes = block->bytes,
					     .device = block->device,
					     .block = i };
		struct held_change end = begin;

		if (block->rank_index != rank_index || block->bytes == 0 ||
		    is_removed(graph, &block->begin) || is_removed(graph, &block->end))
			continue;
		end.time_ns = MAX(replayed_ns(replay, &block->end), begin.time_ns);
		end.recorded_ns = block->end.time_ns;
		end.bytes = -block->bytes;
		g_array_append_val(changes, begin);
		g_array_append_val(changes, end);
	}
	g_array_sort(changes, compare_changes);
	sum_up(changes);
	return changes;
}

/* The end of the memory whose changes begin at `from`. */
static guint end_of_memory(const GArray *changes, guint from)
{
	guint to = from;

	while (to < changes->len && g_array_index(changes, struct held_change, to).device ==
					    g_array_index(changes, struct held_change, from).device)
		to++;
	return to;
}

/* The first change of [from, to) with which most is held. */
static guint find_peak(const GArray *changes, guint from, guint to)
{
	guint peak = from;

	for (guint i = from + 1; i < to; i++)
		if (g_array_index(changes, struct held_change, i).held_bytes >
		    g_array_index(changes, struct held_change, peak).held_bytes)
			peak = i;
	return peak;
}

/* --- owners ----------------------------------------------------------------------------------- */

/* The innermost operation around the block's slice, or that. */
static const gchar *owner_name(const TachoGraph *graph, const struct graph_block *block)
{
	const TachoSlices *slices = &graph->timeline->slices;
	guint32 slice = block->slice;

	if (block->owner)
		return tacho_timeline_string(graph->timeline, block->owner);
	if (slice == TACHO_NONE)
		return "outside of all";
	for (guint32 op = slice; op != TACHO_NONE; op = slices->parent[op])
		if (slices->kind[op] == TACHO_SLICE_OP)
			return tacho_slice_name(graph->timeline, op);
	return tacho_slice_name(graph->timeline, slice);
}

struct owner {
	const gchar *name;
	gint64 n_blocks;
	gdouble bytes;
	gdouble recorded_bytes, cast_bytes; /* before what-ifs; of `bytes`, what they cast */
};

static gint compare_owners(gconstpointer a, gconstpointer b)
{
	const struct owner *x = a, *y = b;

	return ORDER(y->bytes, x->bytes) ?: strcmp(x->name, y->name);
}

/* Who holds what after the changes [from, to) of a memory. */
static GArray *find_owners(const TachoGraph *graph, const GArray *changes, guint from, guint to)
{
	g_autoptr(GHashTable) index_of = g_hash_table_new(g_str_hash, g_str_equal);
	GArray *owners = g_array_new(FALSE, FALSE, sizeof(struct owner));

	for (guint i = from; i < to; i++) {
		const struct held_change *change = &g_array_index(changes, struct held_change, i);
		const struct graph_block *block =
			&g_array_index(graph->blocks, struct graph_block, change->block);
		struct owner new_owner = { .name = owner_name(graph, block) }, *owner;
		gint sign = change->bytes > 0 ? 1 : -1;
		guint index = GPOINTER_TO_UINT(g_hash_table_lookup(index_of, new_owner.name));

		if (index == 0) {
			g_array_append_val(owners, new_owner);
			index = owners->len;
			g_hash_table_insert(index_of, (gpointer)new_owner.name,
					    GUINT_TO_POINTER(index));
		}
		owner = &g_array_index(owners, struct owner, index - 1);
		owner->bytes += (gdouble)change->bytes;
		owner->n_blocks += sign;
		owner->recorded_bytes += sign * (gdouble)block->recorded_bytes;
		owner->cast_bytes += block->is_cast ? (gdouble)change->bytes : 0;
	}
	g_array_sort(owners, compare_owners);
	return owners;
}

static TachoTable *owner_table(const TachoGraph *graph, const GArray *changes, guint from, guint to)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("name", "handed out in", .is_flexible = TRUE),
		INTEGER_COLUMN("blocks", "blocks"),
		INTEGER_COLUMN("bytes", "bytes"),
		INTEGER_COLUMN("recorded_bytes", "recorded B"),
		INTEGER_COLUMN("cast_bytes", "casts B"),
	};
	TachoTable *table = tacho_table_new("peak_owners", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) owners = find_owners(graph, changes, from, to);
	gboolean is_changed = FALSE;

	FOR_EACH(const struct owner, owner, owners) {
		if (owner->n_blocks <= 0)
			continue;
		tacho_table_row(table);
		tacho_table_text(table, owner->name);
		tacho_table_integer(table, owner->n_blocks);
		tacho_table_integer(table, whole_bytes(owner->bytes));
		tacho_table_integer(table, whole_bytes(owner->recorded_bytes));
		tacho_table_integer(table, whole_bytes(owner->cast_bytes));
		is_changed |= owner->bytes != owner->recorded_bytes;
	}
	if (!is_changed) {
		table_hide_column(table, "recorded_bytes");
		table_hide_column(table, "cast_bytes");
	}
	return table;
}

/* --- the curve -------------------------------------------------------------------------------- */

/* When a change of a memory is in the replay; G_MAXINT64: after its end. */
static gint64 shown_ns(const struct held_change *change)
{
	return MAX(change->time_ns, 0);
}

/* The changes [from, to) of a memory, but for those behind the replay, in stretches of time of one length: of each
 * in which something changes, the moment at which most is held. */
static TachoTable *curve_table(const GArray *changes, guint from, guint to)
{
	static const TachoColumn columns[] = {
		NUMBER_COLUMN("at_ms", "at ms", 3),
		INTEGER_COLUMN("held_bytes", "held B"),
	};
	TachoTable *table = tacho_table_new("memory_curve", columns, G_N_ELEMENTS(columns));
	const struct held_change *rows = &g_array_index(changes, struct held_change, 0);
	gdouble length_ns;
	guint next;

	while (to > from && rows[to - 1].time_ns == G_MAXINT64)
		to--;
	length_ns = to > from ? (gdouble)shown_ns(&rows[to - 1]) + 1 : 1;
	for (guint i = from; i < to; i = next) {
		guint stretch = (guint)((gdouble)shown_ns(&rows[i]) / length_ns * N_POINTS), most;

		for (next = i + 1; next < to; next++)
			if ((guint)((gdouble)shown_ns(&rows[next]) / length_ns * N_POINTS) !=
			    stretch)
				break;
		most = find_peak(changes, i, next);
		tacho_table_row(table);
		tacho_table_number(table, MS(shown_ns(&rows[most])));
		tacho_table_integer(table, (gint64)MIN(rows[most].held_bytes, MAX_SHOWN_BYTES));
	}
	return table;
}

/* --- the peak --------------------------------------------------------------------------------- */

static TachoTable *new_peaks(void)
{
	static const TachoColumn columns[] = {
		INTEGER_COLUMN("rank", "rank"),
		TEXT_COLUMN("memory", "memory"),
		INTEGER_COLUMN("peak_bytes", "peak B"),
		NUMBER_COLUMN("at_ms", "at ms", 3),
	};

	return tacho_table_new("memory_peaks", columns, G_N_ELEMENTS(columns));
}

static void add_peak(TachoTable *peaks, gint32 rank, const struct held_change *most, gint64 bytes)
{
	g_autofree gchar *label = memory_label(most->device);

	tacho_table_row(peaks);
	tacho_table_integer(peaks, rank);
	tacho_table_text(peaks, label);
	tacho_table_integer(peaks, bytes);
	tacho_table_number(peaks, MS(shown_ns(most)));
}

/* The memories of a rank; the fullest of all so far is kept. */
static void look_at_rank(const TachoReplay *replay, guint32 rank_index, gboolean with_tables,
			 struct memory_peak *peak)
{
	const TachoGraph *graph = replay->graph;
	g_autoptr(GArray) changes = held_memory_of_rank(replay, rank_index);

	peak->bytes = MAX(peak->bytes, 0);
	for (guint from = 0, to; from < changes->len; from = to) {
		guint at = find_peak(changes, from, to = end_of_memory(changes, from));
		const struct held_change *most = &g_array_index(changes, struct held_change, at);
		gint64 bytes = (gint64)MIN(most->held_bytes, (gdouble)(G_MAXINT64 / 2));

		if (with_tables)
			add_peak(peak->peaks, rank_copies_number(graph, rank_index), most, bytes);
		if (bytes <= peak->bytes)
			continue;
		peak->bytes = bytes;
		peak->rank_index = rank_index;
		peak->device = most->device;
		if (!with_tables)
			continue;
		g_clear_pointer(&peak->owners, tacho_table_free);
		g_clear_pointer(&peak->curve, tacho_table_free);
		peak->owners = owner_table(graph, changes, from, at + 1);
		peak->curve = curve_table(changes, from, to);
	}
}

struct memory_peak replay_memory_peak(const TachoReplay *replay, gboolean with_tables)
{
	const TachoGraph *graph = replay->graph;
	g_autofree guint32 *weights = rank_copies_weights(graph);
	struct memory_peak peak = { .bytes = -1 };

	if (graph->blocks->len == 0)
		return peak;
	if (with_tables)
		peak.peaks = new_peaks();
	for (guint32 i = 0; i < graph_n_own_ranks(graph); i++)
		if (weights[i] > 0)
			look_at_rank(replay, i, with_tables, &peak);
	return peak;
}
