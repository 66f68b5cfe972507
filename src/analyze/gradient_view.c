/* gradient_view: the gradients in each bucket, and when each was ready.
 *
 * A row is a gradient of a rank: one shape of one module at one place of one bucket, over the chosen
 * steps. The moment is since the step began; times are means. */
#include <tacho/analyze.h>

#include <math.h>

#include "analyze/bucket_steps.h"
#include "analyze/keyed_rows.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"

struct gradient_group {
	guint32 rank_index, index;
	guint32 order; /* among those of its bucket, by when it was ready, at first */
	guint64 bucket_bytes, bytes, offset_bytes;
	guint32 module; /* slice, or TACHO_NONE */
	gchar *shape;
	guint64 count, n_exact, n_in_step;
	gdouble ready_ns;  /* of those in a step */
	gdouble waited_ns; /* until its bucket was queued */
};

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	INTEGER_COLUMN("bucket", "bucket"),
	TEXT_COLUMN("module", "module", .is_flexible = TRUE),
	TEXT_COLUMN("shape", "gradient"),
	INTEGER_COLUMN("bytes", "bytes"),
	INTEGER_COLUMN("offset_bytes", "at byte"),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("ready_ms", "ready ms", 2),
	NUMBER_COLUMN("wait_ms", "waits ms", 2),
	JSON_INTEGER("bucket_bytes"),
	JSON_NUMBER("exact_pct"),
};

/* "float32[64,3,7,7]" */
static gchar *shape_text(const TachoTimeline *timeline, const TachoGradient *gradient)
{
	GString *text = g_string_new(NULL);
	TachoTensor tensor;

	if (!tacho_slice_input(timeline, gradient->slice, 0, &tensor))
		return g_string_free(text, FALSE);
	g_string_append_printf(text, "%s[", tensor.dtype);
	for (guint32 i = 0; i < MIN(tensor.n_dims, TACHO_MAX_DIMS); i++)
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? "," : "", tensor.shape[i]);
	g_string_append_c(text, ']');
	return g_string_free(text, FALSE);
}

/* The forward operations of autograd's nodes: slice -> slice + 1. */
static GHashTable *index_forward(const TachoTimeline *timeline)
{
	GHashTable *forward = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < timeline->flows->len && timeline->buckets->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind == TACHO_FLOW_FORWARD_BACKWARD)
			g_hash_table_insert(forward, GSIZE_TO_POINTER((gsize)flow->to),
					    GSIZE_TO_POINTER((gsize)flow->from + 1));
	}
	return forward;
}

/* The module that used the parameter, or TACHO_NONE: the innermost around its forward operation. */
static guint32 find_module(const TachoTimeline *timeline, GHashTable *forward,
			   const TachoGradient *gradient)
{
	gpointer found = g_hash_table_lookup(forward, GSIZE_TO_POINTER((gsize)gradient->slice));
	guint32 slice = found ? (guint32)(GPOINTER_TO_SIZE(found) - 1) : TACHO_NONE;

	while (slice != TACHO_NONE && timeline->slices.kind[slice] != TACHO_SLICE_MODULE)
		slice = timeline->slices.parent[slice];
	return slice;
}

static struct gradient_group *find_group(const TachoTimeline *timeline, struct keyed_rows *groups,
					 const TachoBucket *bucket, const TachoGradient *gradient,
					 guint32 module, guint32 order)
{
	g_autofree gchar *shape = shape_text(timeline, gradient);
	guint32 name = module == TACHO_NONE ? TACHO_NONE : timeline->slices.name[module];
	struct gradient_group first = {
		.rank_index = bucket->rank_index,
		.index = bucket->index,
		.order = order,
		.module = module,
		.bucket_bytes = bucket->bytes,
		.bytes = gradient->bytes,
		.offset_bytes = gradient->offset_bytes,
	};
	struct gradient_group *group = keyed_rows_find(
		groups, &first, "%u %u %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %u %u %s",
		bucket->rank_index, bucket->index, bucket->bytes, gradient->offset_bytes,
		gradient->is_exact ? 0 : order, name, shape);

	if (!group->shape)
		group->shape = g_steal_pointer(&shape);
	return group;
}

static void count_gradients(const TachoTimeline *timeline, struct keyed_rows *groups,
			    GHashTable *forward, const TachoBucket *bucket)
{
	gint64 step_ns = 0;
	gboolean is_in_step = bucket_step_begin(timeline, bucket, &step_ns);

	for (guint32 i = 0; i < bucket->n_gradients; i++) {
		const TachoGradient *gradient = &g_array_index(timeline->gradients, TachoGradient,
							       bucket->first_gradient + i);
		struct gradient_group *group =
			find_group(timeline, groups, bucket, gradient,
				   find_module(timeline, forward, gradient), i);

		group->count++;
		group->n_exact += gradient->is_exact;
		group->waited_ns += (gdouble)(bucket->queued_ns - gradient->ready_ns);
		if (is_in_step) {
			group->n_in_step++;
			group->ready_ns += (gdouble)(gradient->ready_ns - step_ns);
		}
	}
}

/* "" where it is not known. */
static const gchar *module_name(const TachoTimeline *timeline, const struct gradient_group *group)
{
	return group->module == TACHO_NONE ? "" : tacho_slice_name(timeline, group->module);
}

static void add_row(TachoTable *table, const TachoTimeline *timeline,
		    const struct gradient_group *group)
{
	gdouble count = (gdouble)group->count;

	tacho_table_row(table);
	table_rank(table, timeline, group->rank_index);
	tacho_table_integer(table, group->index);
	tacho_table_text(table, group->module == TACHO_NONE
					? NULL
					: tacho_slice_name(timeline, group->module));
	tacho_table_text(table, group->shape);
	tacho_table_integer(table, (gint64)MIN(group->bytes, G_MAXINT64));
	table_integer_if(table, group->n_exact, (gint64)MIN(group->offset_bytes, G_MAXINT64));
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, group->n_in_step ? MS(group->ready_ns) / (gdouble)group->n_in_step
						   : (gdouble)NAN);
	tacho_table_number(table, MS(group->waited_ns) / count);
	tacho_table_integer(table, (gint64)MIN(group->bucket_bytes, G_MAXINT64));
	tacho_table_number(table, 100.0 * (gdouble)group->n_exact / count);
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const struct gradient_group *left = a, *right = b;

	return ORDER(left->rank_index, right->rank_index) ?: ORDER(left->index, right->index) ?:
	       ORDER(left->bucket_bytes, right->bucket_bytes) ?: ORDER(left->order, right->order);
}

static void release_group(gpointer data)
{
	g_free(((struct gradient_group *)data)->shape);
}

TachoTable *tacho_view_gradient(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("gradient", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) forward = index_forward(timeline);
	struct selection selection;
	struct keyed_rows groups;
	guint cursor = 0;

	keyed_rows_init(&groups, sizeof(struct gradient_group));
	g_array_set_clear_func(groups.rows, release_group);
	selection_init(&selection, timeline, filter);
	FOR_EACH(const TachoBucket, bucket, timeline->buckets)
		if (bucket_is_chosen(&selection, bucket, &cursor))
			count_gradients(timeline, &groups, forward, bucket);
	g_array_sort(groups.rows, compare_groups);
	FOR_EACH(const struct gradient_group, group, groups.rows)
		if (selection_takes_name(&selection, module_name(timeline, group)))
			add_row(table, timeline, group);
	selection_note_empty(&selection, table, "gradients in buckets");
	selection_note(&selection, table);
	selection_release(&selection);
	keyed_rows_release(&groups);
	return table;
}
