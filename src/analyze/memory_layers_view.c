/* memory_layers_view: memory in each form in which it was told, one beside another: what a driver handed out, its pools, what an
 * allocator took and handed out by its own account, the blocks that were seen, chunks at the end, categories of tensors.
 *
 *     driver  >=  pools, or what an allocator has reserved  >=  what it has handed out  =  categories of tensors
 *
 * (1) A row is one form of one memory of one process: how much it was at most, when, and at the end.
 * (2) Blocks count from the begin of the recording, and an allocator's own account from its own: where both are there, the
 *     difference is what was handed out before.
 * (3) All of the recording is shown, warm-up included, since what is held lasts. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/memory_blocks.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "trace/counter_kind.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("memory", "memory"),
	TEXT_COLUMN("layer", "layer"),
	TEXT_COLUMN("name", "what", .is_flexible = TRUE),
	INTEGER_COLUMN("count", "told"),
	NUMBER_COLUMN("peak_bytes", "most B", 0),
	NUMBER_COLUMN("peak_at_ms", "at ms", 3),
	NUMBER_COLUMN("last_bytes", "at end B", 0),
	INTEGER_COLUMN("pid", "pid", .is_identifier = TRUE, .is_json_only = TRUE),
};

/* From what is nearest to the device to what is nearest to the program. */
enum layer { LAYER_DRIVER, LAYER_POOL, LAYER_ALLOCATOR, LAYER_CHUNKS, LAYER_CATEGORY };

static const gchar *const layer_names[] = { "driver", "pool", "allocator", "chunks", "category" };

/* NaN: not told. */
struct form {
	guint32 process;
	gchar *memory, *name;
	enum layer layer;
	guint64 n;
	gdouble most, last;
	gint64 most_ns;
};

struct layers {
	const struct selection *selection;
	GArray *forms; /* struct form */
};

static void clear_form(gpointer data)
{
	struct form *form = data;

	g_free(form->memory);
	g_free(form->name);
}

static void see(struct form *form, gdouble bytes, gint64 time_ns)
{
	form->last = bytes;
	if (bytes <= form->most)
		return;
	form->most = bytes;
	form->most_ns = time_ns;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void add_blocks(struct layers *layers, guint32 process)
{
	g_autoptr(GArray) blocks = memory_blocks_of_layers(layers->selection->timeline, process);
	g_autoptr(GArray) places = memory_places(blocks);

	FOR_EACH(const struct memory_place, place, places) {
		g_autoptr(GArray) own = memory_blocks_select(blocks, place->device, place->layer);
		g_autoptr(GArray) changes = memory_changes(own, MEMORY_ALL_DEVICES);
		struct form form = { .process = process, .n = own->len, .most = -INFINITY };
		gdouble held = 0;

		form.layer =
			place->layer == TACHO_MEMORY_OF_DRIVER ? LAYER_DRIVER : LAYER_ALLOCATOR;
		form.memory = memory_label(place->device);
		form.name = g_strdup("blocks handed out");
		FOR_EACH(const struct memory_change, change, changes) {
			held += (gdouble)change->bytes;
			see(&form, held, change->time_ns);
		}
		g_array_append_val(layers->forms, form);
	}
}

/* --- counters --------------------------------------------------------------------------------- */

/* FALSE: it tells no bytes of a memory. The texts are the caller's. */
static gboolean name_counter(const TachoTimeline *timeline, const TachoTrack *track,
			     struct form *form)
{
	enum counter_kind kind = counter_kind_of_name(timeline, track->name);
	const gchar *allocator;

	form->layer = LAYER_ALLOCATOR;
	switch (kind) {
	case COUNTER_ALLOCATED:
	case COUNTER_RESERVED:
		form->memory = memory_label(counter_memory(timeline, track->name));
		form->name = g_strdup(kind == COUNTER_ALLOCATED ? "handed out, its own account"
								: "reserved");
		return TRUE;
	case COUNTER_ALLOCATED_BY:
	case COUNTER_MOST_ALLOCATED_BY:
	case COUNTER_RESERVED_BY:
		form->memory = counter_owner(timeline, track->name);
		form->name = g_strdup(kind == COUNTER_RESERVED_BY    ? "reserved"
				      : kind == COUNTER_ALLOCATED_BY ? "handed out, its own account"
								     : "most since its begin");
		return TRUE;
	case COUNTER_POOL_RESERVED:
	case COUNTER_POOL_USED:
		form->layer = LAYER_POOL;
		form->memory = memory_label((guint32)(track->device + 1));
		form->name = g_strdup(kind == COUNTER_POOL_USED ? "used" : "reserved");
		return TRUE;
	case COUNTER_BIN_BYTES:
	case COUNTER_BIN_USED_BYTES:
	case COUNTER_BIN_REQUESTED_BYTES:
		if (counter_bin(timeline, track->name, &allocator) >= 0)
			return FALSE;
		form->layer = LAYER_CHUNKS;
		form->memory = g_strdup(allocator);
		form->name = g_strdup(kind == COUNTER_BIN_BYTES	       ? "all chunks"
				      : kind == COUNTER_BIN_USED_BYTES ? "chunks in use"
								       : "requested of them");
		return TRUE;
	default:
		if (kind < COUNTER_PARAMETER || kind > COUNTER_UNKNOWN)
			return FALSE;
		form->layer = LAYER_CATEGORY;
		form->memory = g_strdup("by category");
		form->name = g_strdup(tacho_timeline_string(timeline, track->name));
		return TRUE;
	}
}

static void add_counter(struct layers *layers, guint32 track_index)
{
	const TachoTimeline *timeline = layers->selection->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, track_index);
	struct form form = { .process = track->process, .most = -INFINITY };
	guint first, n = tacho_track_samples(timeline, track_index, &first);

	if (n == 0 || !name_counter(timeline, track, &form))
		return;
	form.n = n;
	for (guint i = first; i < first + n; i++) {
		const TachoSample *sample = &g_array_index(timeline->samples, TachoSample, i);

		see(&form, sample->value, sample->time_ns);
	}
	g_array_append_val(layers->forms, form);
}

/* --- chunks ----------------------------------------------------------------------------------- */

static void add_state(struct layers *layers, guint32 process, guint32 device, TachoChunkState state)
{
	static const gchar *const names[] = {
		[TACHO_CHUNK_SEGMENT] = "segments",
		[TACHO_CHUNK_USED] = "chunks in use",
		[TACHO_CHUNK_PENDING] = "chunks given back, still in use",
		[TACHO_CHUNK_FREE] = "free chunks",
	};
	struct form form = { .process = process, .layer = LAYER_CHUNKS, .most = NAN, .last = 0 };

	FOR_EACH(const TachoChunk, chunk, layers->selection->timeline->chunks)
		if (chunk->process == process && chunk->device == device && chunk->state == state) {
			form.n++;
			form.last += (gdouble)chunk->bytes;
		}
	if (!form.n)
		return;
	form.memory = memory_label(device);
	form.name = g_strdup(names[state]);
	g_array_append_val(layers->forms, form);
}

static void add_chunks(struct layers *layers, guint32 process)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	g_autoptr(GList) devices = NULL;

	FOR_EACH(const TachoChunk, chunk, layers->selection->timeline->chunks)
		if (chunk->process == process)
			g_hash_table_add(seen, GUINT_TO_POINTER(chunk->device));
	devices = g_list_sort(g_hash_table_get_keys(seen), order_pointer);
	for (GList *at = devices; at; at = at->next)
		for (guint state = TACHO_CHUNK_SEGMENT; state <= TACHO_CHUNK_FREE; state++)
			add_state(layers, process, GPOINTER_TO_UINT(at->data),
				  (TachoChunkState)state);
}

/* --- the table -------------------------------------------------------------------------------- */

static gint compare_forms(gconstpointer a, gconstpointer b)
{
	const struct form *x = a, *y = b;

	return ORDER(x->process, y->process) ?: ORDER(x->layer, y->layer);
}

static void add_row(TachoTable *table, const struct selection *selection, const struct form *form)
{
	const TachoProcess *process = tacho_timeline_process(selection->timeline, form->process);
	GRegex *regex = selection->filter->device;

	if (regex && !g_regex_match(regex, form->memory, 0, NULL))
		return;
	tacho_table_row(table);
	table_rank(table, selection->timeline, process->rank_index);
	tacho_table_text(table, form->memory);
	tacho_table_text(table, layer_names[form->layer]);
	tacho_table_text(table, form->name);
	tacho_table_integer(table, (gint64)form->n);
	table_number_if(table, isfinite(form->most), form->most);
	table_number_if(table, isfinite(form->most), MS(form->most_ns));
	tacho_table_number(table, form->last);
	tacho_table_integer(table, process->pid);
}

static void note_layers(TachoTable *table, const struct selection *selection)
{
	GRegex *regex = selection->filter->device;

	if (tacho_table_n_rows(table))
		tacho_table_note(table, "Blocks count from the begin of the recording, an "
					"allocator's own account from its own begin.");
	else if (regex)
		tacho_table_note(table, "No memory that matches '%s' was recorded.",
				 g_regex_get_pattern(regex));
	else
		tacho_table_note(table, "No memory was recorded in any form.");
}

TachoTable *tacho_view_memory_layers(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("memory_layers", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) forms = g_array_new(FALSE, FALSE, sizeof(struct form));
	struct selection selection;
	struct layers layers = { .selection = &selection, .forms = forms };

	g_array_set_clear_func(forms, clear_form);
	selection_init(&selection, timeline, filter);
	FOR_EACH_AT(const TachoProcess, process, i, timeline->processes) {
		if (!selection_takes_rank(&selection, process->rank_index))
			continue;
		if (timeline->memory->len)
			add_blocks(&layers, i);
		add_chunks(&layers, i);
	}
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->kind == TACHO_TRACK_COUNTER &&
		    selection_takes_rank(&selection,
					 tacho_track_process(timeline, track)->rank_index))
			add_counter(&layers, i);
	g_array_sort(forms, compare_forms); /* stable */
	FOR_EACH(const struct form, form, forms)
		add_row(table, &selection, form);
	note_layers(table, &selection);
	selection_release(&selection);
	return table;
}
