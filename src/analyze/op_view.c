/* op_view: framework operations, by name.
 *
 * A row is a name in a phase. Backward is what autograd's engine runs: nodes and hooks, and what
 * follows them on the thread for as long as it makes no autograd node (hooks at backward's end).
 * Optimizer is what runs in the region "Optimizer.step...", comm what queues communication, and
 * forward is the rest.
 * (1) total counts time once: an op inside an op of the same row adds nothing to it.
 * (2) self is without the ops inside; over all rows it adds up to the time in any op. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/rank_activity.h"
#include "analyze/selection.h"

#define MS(ns) ((gdouble)(ns) / 1e6)
#define US(ns) ((gdouble)(ns) / 1e3)

typedef enum {
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
	PHASE_COMM,
} Phase;

static const gchar *const phase_names[] = { "forward", "backward", "optimizer", "comm" };

struct op_group {
	gint64 key; /* its place in the hash table */
	guint32 name;
	Phase phase;
	const gchar *shape; /* in `shapes`, NULL: rows are not by shape */
	guint64 count;
	gint64 sum_ns; /* of all calls, those inside others too */
	gint64 total_ns, self_ns, min_ns, max_ns;
};

struct op_groups {
	const struct selection *selection;
	GArray *groups;	    /* struct op_group */
	GHashTable *by_key; /* gint64 key -> index + 1 */
	GHashTable *shapes; /* text -> number; owns the texts */
};

static const TachoColumn columns[] = {
	{ .key = "name", .title = "op", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "phase", .title = "phase", .type = TACHO_COLUMN_TEXT },
	{ .key = "shapes", .title = "shapes", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "share_pct",
	  .title = "% step",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 1,
	  .is_share = TRUE },
	{ .key = "self_ms", .title = "self ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "total_ms", .title = "total ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "count", .title = "count", .type = TACHO_COLUMN_INTEGER },
	{ .key = "calls_per_step", .title = "/step", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "mean_us", .title = "mean us", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "min_us", .title = "min us", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
	{ .key = "max_us", .title = "max us", .type = TACHO_COLUMN_NUMBER, .decimals = 1 },
};

/* The same without shapes, which is how it is mostly asked for. */
enum { SHAPES_COLUMN = 2 };

static void append_tensor(GString *text, const TachoTensor *tensor)
{
	if (text->len)
		g_string_append_c(text, ' ');
	for (guint32 i = 0; i < tensor->n_dims; i++)
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? "x" : "", tensor->shape[i]);
	if (tensor->n_dims == 0)
		g_string_append(text, "scalar");
}

/* "64x128 128x10": the input tensors' sizes. */
static gchar *shapes_text(const TachoTimeline *timeline, guint32 slice)
{
	GString *text = g_string_new(NULL);
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		append_tensor(text, &tensor);
	return g_string_free(text, FALSE);
}

/* The number of a shape, from 1; its text is then the table's. */
static gint64 shape_number(struct op_groups *groups, guint32 slice, const gchar **ret_text)
{
	g_autofree gchar *text = shapes_text(groups->selection->timeline, slice);
	gpointer known, number;

	if (!g_hash_table_lookup_extended(groups->shapes, text, &known, &number)) {
		known = g_steal_pointer(&text);
		number = GUINT_TO_POINTER(g_hash_table_size(groups->shapes) + 1);
		g_hash_table_insert(groups->shapes, known, number);
	}
	*ret_text = known;
	return GPOINTER_TO_UINT(number);
}

static guint find_group(struct op_groups *groups, guint32 slice, Phase phase)
{
	struct op_group group = { .name = groups->selection->timeline->slices.name[slice],
				  .phase = phase };
	gint64 shape = 0;
	guint index;

	if (groups->selection->filter->by_shape)
		shape = shape_number(groups, slice, &group.shape);
	group.key = shape << 34 | (gint64)group.name << 2 | phase;
	index = GPOINTER_TO_UINT(g_hash_table_lookup(groups->by_key, &group.key));
	if (index)
		return index - 1;
	group.min_ns = G_MAXINT64;
	g_array_append_val(groups->groups, group);
	g_hash_table_insert(groups->by_key, g_memdup2(&group.key, sizeof(group.key)),
			    GUINT_TO_POINTER(groups->groups->len));
	return groups->groups->len - 1;
}

/* Whether autograd gave it a number: then it is forward, and makes a node. */
static gboolean makes_node(const TachoTimeline *timeline, guint32 slice)
{
	TachoOpArgs args = { .sequence = -1 };

	tacho_slice_op(timeline, slice, &args);
	return args.sequence >= 0;
}

/* Autograd's nodes, its engine around a node and its hooks, and DDP's reducer, which is a hook. */
static gboolean is_backward(const TachoTimeline *timeline, guint32 slice)
{
	const gchar *name = tacho_slice_name(timeline, slice);

	return (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD) ||
	       g_str_has_prefix(name, "autograd::engine::") ||
	       g_str_has_prefix(name, "torch.distributed.ddp.reducer::");
}

/* `outside` is the phase around it; of a slice with none around, that of the one before. */
static Phase phase_of(const TachoTimeline *timeline, guint32 slice, Phase outside)
{
	gboolean is_op = timeline->slices.kind[slice] == TACHO_SLICE_OP;

	if (is_backward(timeline, slice))
		return PHASE_BACKWARD;
	if (timeline->slices.kind[slice] == TACHO_SLICE_ANNOTATION &&
	    g_str_has_prefix(tacho_slice_name(timeline, slice), "Optimizer.step"))
		return PHASE_OPTIMIZER;
	if (timeline->slices.parent[slice] != TACHO_NONE ||
	    timeline->slices.kind[slice] == TACHO_SLICE_MESSAGE)
		return outside;
	if (outside == PHASE_BACKWARD && is_op && !makes_node(timeline, slice))
		return PHASE_BACKWARD;
	return PHASE_FORWARD;
}

/* What was found out about the slices of one track, by their place on it. */
struct op_track {
	const TachoTrack *track;
	guint8 *phases;
	guint32 *groups; /* of selected ops; TACHO_NONE */
};

/* The place of the innermost selected op around `slice`, or TACHO_NONE. */
static guint32 op_around(const TachoTimeline *timeline, const struct op_track *on, guint32 slice)
{
	guint32 parent = timeline->slices.parent[slice];

	while (parent != TACHO_NONE && on->groups[parent - on->track->first_slice] == TACHO_NONE)
		parent = timeline->slices.parent[parent];
	return parent == TACHO_NONE ? TACHO_NONE : parent - on->track->first_slice;
}

static gboolean is_inside_group(const TachoTimeline *timeline, const struct op_track *on,
				guint32 around, guint32 group)
{
	while (around != TACHO_NONE && on->groups[around] != group)
		around = op_around(timeline, on, on->track->first_slice + around);
	return around != TACHO_NONE;
}

static void count_op(struct op_groups *groups, struct op_track *on, guint32 place)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	guint32 slice = on->track->first_slice + place;
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	guint32 around = op_around(timeline, on, slice);
	Phase phase = is_communication_name(tacho_slice_name(timeline, slice)) ? PHASE_COMM
									       : on->phases[place];
	guint32 index = find_group(groups, slice, phase);
	struct op_group *group = &g_array_index(groups->groups, struct op_group, index);

	group->count++;
	group->sum_ns += duration_ns;
	group->self_ns += duration_ns;
	group->min_ns = MIN(group->min_ns, duration_ns);
	group->max_ns = MAX(group->max_ns, duration_ns);
	if (!is_inside_group(timeline, on, around, index))
		group->total_ns += duration_ns;
	if (around != TACHO_NONE)
		g_array_index(groups->groups, struct op_group, on->groups[around]).self_ns -=
			duration_ns;
	on->groups[place] = index;
}

static void count_track(struct op_groups *groups, const TachoTrack *track)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	guint rank_index =
		g_array_index(timeline->processes, TachoProcess, track->process).rank_index;
	g_autofree guint8 *phases = g_new0(guint8, track->n_slices);
	g_autofree guint32 *indices = g_new(guint32, track->n_slices);
	struct op_track on = { track, phases, indices };
	Phase before = PHASE_FORWARD;
	guint cursor = 0;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		guint32 parent = timeline->slices.parent[slice];
		Phase outside = parent == TACHO_NONE ? before : phases[parent - track->first_slice];

		phases[i] = (guint8)phase_of(timeline, slice, outside);
		if (parent == TACHO_NONE)
			before = phases[i];
		indices[i] = TACHO_NONE;
		if (timeline->slices.kind[slice] == TACHO_SLICE_OP &&
		    selection_takes_time(groups->selection, rank_index,
					 timeline->slices.start_ns[slice], &cursor))
			count_op(groups, &on, i);
	}
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct op_group *group)
{
	guint n_steps = selection_n_steps(selection);

	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(selection->timeline, group->name));
	tacho_table_text(table, phase_names[group->phase]);
	tacho_table_text(table, group->shape);
	tacho_table_number(table, 100.0 * (gdouble)group->self_ns / (gdouble)selection->total_ns);
	tacho_table_number(table, MS(group->self_ns));
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, (gdouble)group->count / n_steps);
	tacho_table_number(table, US(group->sum_ns) / (gdouble)group->count);
	tacho_table_number(table, US(group->min_ns));
	tacho_table_number(table, US(group->max_ns));
}

static TachoTable *new_table(gboolean by_shape)
{
	static TachoColumn without_shapes[G_N_ELEMENTS(columns)];

	if (by_shape)
		return tacho_table_new("op", columns, G_N_ELEMENTS(columns));
	memcpy(without_shapes, columns, sizeof(columns));
	without_shapes[SHAPES_COLUMN].is_json_only = TRUE;
	return tacho_table_new("op", without_shapes, G_N_ELEMENTS(columns));
}

TachoTable *tacho_view_op(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = new_table(filter && filter->by_shape);
	struct op_groups groups = {
		.groups = g_array_new(FALSE, FALSE, sizeof(struct op_group)),
		.by_key = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
		.shapes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
	};
	struct selection selection;

	selection_init(&selection, timeline, filter);
	groups.selection = &selection;
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (selection_takes_track(&selection, tacho_timeline_track(timeline, i)))
			count_track(&groups, tacho_timeline_track(timeline, i));
	for (guint i = 0; i < groups.groups->len; i++) {
		const struct op_group *group = &g_array_index(groups.groups, struct op_group, i);

		if (selection_takes_name(&selection, tacho_timeline_string(timeline, group->name)))
			add_row(table, &selection, group);
	}
	tacho_table_sort(table, "self_ms", TRUE);
	selection_note_empty(&selection, table, "operations");
	selection_note(&selection, table);
	selection_release(&selection);
	g_array_unref(groups.groups);
	g_hash_table_unref(groups.by_key);
	g_hash_table_unref(groups.shapes);
	return table;
}
