/* memory_view: memory by the operation that had it handed out, and who holds it at the peak.
 *
 * A block belongs to the innermost operation around its allocation, else to the innermost slice of another
 * kind. Each rank's memories (its host's, each device's) are told apart, and so is what a device's driver handed out from
 * what an allocator did with it. The peak is the first moment at which most is held.
 *
 * (1) What is held at the peak adds up to it over all owners of a memory; those that a name filter leaves
 *     out are in the whole.
 * (2) What is held is told of the whole recording, warm-up included, since most of it lasts; where steps are
 *     asked for by number, the peak is that within them. What was handed out counts in the chosen steps.
 * (3) What was handed out before the recording has no owner, and is in no row. Where the allocator's own
 *     totals were recorded, they say how much that was, and how much the allocator kept beside. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/allocator_totals.h"
#include "analyze/device_work.h"
#include "analyze/memory_blocks.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/time_units.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("memory", "memory"),
	TEXT_COLUMN("layer", "by"),
	TEXT_COLUMN("name", "handed out in", .is_flexible = TRUE),
	NUMBER_COLUMN("peak_bytes", "at peak B", 0),
	SHARE_COLUMN("peak_pct", "%", 1),
	JSON_INTEGER("peak_blocks"),
	INTEGER_COLUMN("count", "blocks"),
	NUMBER_COLUMN("allocated_bytes", "handed out B", 0),
	NUMBER_COLUMN("largest_bytes", "largest B", 0),
	NUMBER_COLUMN("mean_life_ms", "life ms", 2),
	NUMBER_COLUMN("kept_bytes", "never back B", 0),
	JSON_NUMBER("memory_peak_bytes"),
	JSON_NUMBER("peak_at_ms"),
	JSON_INTEGER("allocator_peak_bytes"),
	JSON_INTEGER("allocator_reserved_bytes"),
};

/* One memory of a rank, in one layer. */
struct memory {
	const struct selection *selection;
	const GArray *blocks; /* its own */
	guint rank_index;
	struct memory_place place;
	gdouble peak_bytes;
	gint64 peak_ns;
	struct allocator_totals totals;
	gchar label[32];
};

/* Bytes are doubles, so that no sum of what a broken trace holds overflows. */
struct owner {
	const gchar *name;
	gdouble peak_bytes, allocated_bytes, kept_bytes, largest_bytes, life_ns;
	guint64 n_peak, n, n_back;
};

/* --- the peak --------------------------------------------------------------------------------- */

static void see(struct memory *memory, gdouble held_bytes, gint64 time_ns)
{
	if (held_bytes <= memory->peak_bytes)
		return;
	memory->peak_bytes = held_bytes;
	memory->peak_ns = time_ns;
}

#define STRETCH(stretches, index) g_array_index(stretches, struct interval, index)

/* The peak within the stretches, which are in order; what is held where one begins counts, too. */
static void find_peak(struct memory *memory, const GArray *changes, const GArray *stretches)
{
	gdouble held_bytes = 0;
	guint entered = 0, at = 0;

	FOR_EACH(const struct memory_change, change, changes) {
		for (; entered < stretches->len &&
		       STRETCH(stretches, entered).begin_ns < change->time_ns;
		     entered++)
			see(memory, held_bytes, STRETCH(stretches, entered).begin_ns);
		held_bytes += (gdouble)change->bytes;
		while (at < stretches->len && STRETCH(stretches, at).end_ns <= change->time_ns)
			at++;
		if (at < stretches->len && STRETCH(stretches, at).begin_ns <= change->time_ns)
			see(memory, held_bytes, change->time_ns);
	}
	for (; entered < stretches->len; entered++)
		see(memory, held_bytes, STRETCH(stretches, entered).begin_ns);
}

static void find_peaks(struct memory *memory)
{
	g_autoptr(GArray) changes = memory_changes(memory->blocks, MEMORY_ALL_DEVICES);
	g_autoptr(GArray) stretches = selection_stretches(memory->selection, memory->rank_index);
	struct interval always = { G_MININT64, G_MAXINT64 };

	if (!selection_is_by_number(memory->selection)) {
		g_array_set_size(stretches, 0);
		g_array_append_val(stretches, always);
	}
	find_peak(memory, changes, stretches);
}

/* --- owners ----------------------------------------------------------------------------------- */

static const gchar *owner_name(const TachoTimeline *timeline, const struct memory_block *block)
{
	guint32 op = innermost_op(timeline, block->slice);

	if (op != TACHO_NONE)
		return tacho_slice_name(timeline, op);
	return block->slice == TACHO_NONE ? "(outside of all)"
					  : tacho_slice_name(timeline, block->slice);
}

static struct owner *find_owner(GHashTable *owners, const gchar *name)
{
	struct owner *owner = g_hash_table_lookup(owners, name);

	if (!owner) {
		owner = g_new0(struct owner, 1);
		owner->name = name;
		g_hash_table_insert(owners, (gpointer)name, owner);
	}
	return owner;
}

static void count_held(const struct memory *memory, struct owner *owner,
		       const struct memory_block *block)
{
	if (memory->peak_bytes > 0 && block->begin_ns <= memory->peak_ns &&
	    block->end_ns > memory->peak_ns) {
		owner->n_peak++;
		owner->peak_bytes += (gdouble)block->bytes;
	}
	if (block->end_ns == G_MAXINT64)
		owner->kept_bytes += (gdouble)block->bytes;
}

static void count_block(struct owner *owner, const struct memory_block *block)
{
	owner->n++;
	owner->allocated_bytes += (gdouble)block->bytes;
	owner->largest_bytes = MAX(owner->largest_bytes, (gdouble)block->bytes);
	if (block->end_ns == G_MAXINT64)
		return;
	owner->n_back++;
	owner->life_ns += (gdouble)(block->end_ns - block->begin_ns);
}

/* Name -> struct owner *. */
static GHashTable *find_owners(const struct memory *memory)
{
	const TachoTimeline *timeline = memory->selection->timeline;
	GHashTable *owners = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
	guint cursor = 0;

	FOR_EACH(const struct memory_block, block, memory->blocks) {
		struct owner *owner = find_owner(owners, owner_name(timeline, block));

		count_held(memory, owner, block);
		if (selection_takes_time(memory->selection, memory->rank_index, block->begin_ns,
					 &cursor))
			count_block(owner, block);
	}
	return owners;
}

/* --- the table -------------------------------------------------------------------------------- */

static gint32 rank_number(const struct memory *memory)
{
	return tacho_timeline_rank(memory->selection->timeline, memory->rank_index)->rank;
}

static void add_totals(TachoTable *table, const struct allocator_totals *totals)
{
	table_integer_if(table, totals->is_known, totals->allocated_bytes);
	table_integer_if(table, totals->reserved_bytes, totals->reserved_bytes);
}

static void add_owner(TachoTable *table, const struct memory *memory, const struct owner *owner)
{
	tacho_table_row(table);
	tacho_table_integer(table, rank_number(memory));
	tacho_table_text(table, memory->label);
	tacho_table_text(table, tacho_memory_layer_name(memory->place.layer));
	tacho_table_text(table, owner->name);
	tacho_table_number(table, owner->peak_bytes);
	table_share(table, owner->peak_bytes, memory->peak_bytes);
	tacho_table_integer(table, (gint64)owner->n_peak);
	tacho_table_integer(table, (gint64)owner->n);
	tacho_table_number(table, owner->allocated_bytes);
	tacho_table_number(table, owner->largest_bytes);
	table_number_if(table, owner->n_back, MS(owner->life_ns) / (gdouble)owner->n_back);
	tacho_table_number(table, owner->kept_bytes);
	tacho_table_number(table, memory->peak_bytes);
	table_number_if(table, memory->peak_bytes > 0, MS(memory->peak_ns));
	add_totals(table, &memory->totals);
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
	return strcmp(a, b);
}

/* An owner that neither holds nor was handed out anything there has no row. */
static void add_owners(TachoTable *table, const struct memory *memory)
{
	g_autoptr(GHashTable) owners = find_owners(memory);
	g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(owners), compare_names);

	for (GList *at = names; at; at = at->next) {
		const struct owner *owner = g_hash_table_lookup(owners, at->data);

		if (selection_takes_name(memory->selection, owner->name) &&
		    (owner->n || owner->n_peak || owner->kept_bytes > 0))
			add_owner(table, memory, owner);
	}
}

static gboolean takes_memory(const struct memory *memory)
{
	GRegex *regex = memory->selection->filter->device;

	return !regex || g_regex_match(regex, memory->label, 0, NULL);
}

/* `fullest` is the memory that held most so far. */
static void add_rank(TachoTable *table, const struct selection *selection, guint rank_index,
		     struct memory *fullest)
{
	const TachoTimeline *timeline = selection->timeline;
	guint32 process = tacho_timeline_rank(timeline, rank_index)->main_process;
	g_autoptr(GArray) blocks = memory_blocks_of_layers(timeline, process);
	g_autoptr(GArray) places = memory_places(blocks);

	FOR_EACH(const struct memory_place, place, places) {
		g_autoptr(GArray) own = memory_blocks_select(blocks, place->device, place->layer);
		g_autofree gchar *label = memory_label(place->device);
		struct memory memory = { .selection = selection,
					 .blocks = own,
					 .rank_index = rank_index,
					 .place = *place };

		g_strlcpy(memory.label, label, sizeof(memory.label));
		if (!takes_memory(&memory))
			continue;
		find_peaks(&memory);
		if (place->layer == TACHO_MEMORY_OF_ALLOCATOR)
			memory.totals = allocator_totals_find(timeline, process, place->device);
		add_owners(table, &memory);
		if (memory.peak_bytes > fullest->peak_bytes)
			*fullest = memory;
	}
}

static void note_totals(TachoTable *table, const struct allocator_totals *totals)
{
	gdouble allocated = (gdouble)totals->allocated_bytes;
	gdouble reserved = (gdouble)totals->reserved_bytes;

	if (reserved > 0)
		tacho_table_note(table,
				 "Its allocator had handed out %.3f MB at most, of %.3f MB "
				 "reserved then; %.0f %% of that was free.",
				 allocated / 1e6, reserved / 1e6,
				 100.0 * MAX(reserved - allocated, 0) / reserved);
	else if (totals->is_known)
		tacho_table_note(table, "Its allocator had handed out %.3f MB at most.",
				 allocated / 1e6);
}

static void note_memory(TachoTable *table, const struct memory *fullest)
{
	if (fullest->peak_bytes > 0)
		tacho_table_note(
			table,
			"Rank %d, %s%s, held most: %.3f MB, at %.3f ms%s (1 MB is 10^6 bytes).",
			rank_number(fullest), fullest->label,
			fullest->place.layer == TACHO_MEMORY_OF_DRIVER ? " (driver)" : "",
			fullest->peak_bytes / 1e6, MS(fullest->peak_ns),
			selection_is_by_number(fullest->selection) ? ", within these steps" : "");
	note_totals(table, &fullest->totals);
}

TachoTable *tacho_view_memory(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("memory", columns, G_N_ELEMENTS(columns));
	struct memory fullest = { 0 };
	struct selection selection;

	if (!has_driver_memory(timeline))
		table_hide_column(table, "layer");
	selection_init(&selection, timeline, filter);
	fullest.selection = &selection;
	for (guint rank = 0; rank < timeline->ranks->len && timeline->memory->len; rank++)
		if (selection_takes_rank(&selection, rank))
			add_rank(table, &selection, rank, &fullest);
	tacho_table_sort(table, "peak_bytes", TRUE);
	note_memory(table, &fullest);
	if (tacho_table_n_rows(table) == 0 && selection.filter->device)
		tacho_table_note(table,
				 "No allocations were recorded in a memory that matches '%s'.",
				 g_regex_get_pattern(selection.filter->device));
	else
		selection_note_empty(&selection, table, "allocations");
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
