#include "precision/recorded_pass.h"

#include "analyze/op_flops.h"
#include "analyze/op_phase.h"
#include "analyze/outermost_op.h"
#include "base/for_each.h"
#include "precision/number_format.h"
#include "precision/operation_kind.h"

/* Slices that are looked at inside a cast for the copy that it makes.
 * Source: a rule: "to" has "_to_copy", "empty_strided" and "copy_" in it. If wrong, a cast counts as work of its operation. */
#define MAX_INNER 8
/* Slices that are looked at inside an operation of the job's own.
 * Source: a rule: tacho's in 8 bits has some thirty. If wrong, the operation is found by its place, or not at all. */
#define MAX_SEARCHED 128

/* --- casts -------------------------------------------------------------------------------------- */

static gboolean is_float(guint format)
{
	return format < N_NUMBER_FORMATS;
}

static gboolean differ(const TachoTensor *from, const TachoTensor *to, guint *ret_from,
		       guint *ret_to, gdouble *ret_elements)
{
	guint a = number_format_of_dtype(from->dtype), b = number_format_of_dtype(to->dtype);

	if (!is_float(a) || !is_float(b) || a == b)
		return FALSE;
	*ret_from = a;
	*ret_to = b;
	*ret_elements = tensor_elements(from);
	return TRUE;
}

/* copy_(destination, source) */
static gboolean copy_casts(const TachoTimeline *timeline, guint32 slice, guint *ret_from,
			   guint *ret_to, gdouble *ret_elements)
{
	TachoTensor to, from;

	return tacho_slice_input(timeline, slice, 0, &to) &&
	       tacho_slice_input(timeline, slice, 1, &from) &&
	       differ(&from, &to, ret_from, ret_to, ret_elements);
}

static gboolean is_copy(const TachoTimeline *timeline, guint32 slice)
{
	gchar kind[OPERATION_KIND_BYTES];

	operation_kind_of_name(tacho_slice_name(timeline, slice), kind);
	return g_str_equal(kind, "copy");
}

static gboolean converts(const TachoTimeline *timeline, guint32 slice, guint *ret_from,
			 guint *ret_to, gdouble *ret_elements)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);
	TachoTensor from, to;

	if (is_copy(timeline, slice))
		return copy_casts(timeline, slice, ret_from, ret_to, ret_elements);
	if (tacho_slice_input(timeline, slice, 0, &from) &&
	    tacho_slice_output(timeline, slice, 0, &to))
		return differ(&from, &to, ret_from, ret_to, ret_elements);
	for (guint32 i = slice + 1; i < MIN(slices->n, slice + MAX_INNER); i++) {
		if (slices->track[i] != slices->track[slice] || slices->start_ns[i] >= end_ns)
			return FALSE;
		if (slices->kind[i] == TACHO_SLICE_OP && is_copy(timeline, i) &&
		    copy_casts(timeline, i, ret_from, ret_to, ret_elements))
			return TRUE;
	}
	return FALSE;
}

gboolean recorded_cast(const TachoTimeline *timeline, guint32 slice, guint *ret_from, guint *ret_to,
		       gdouble *ret_elements)
{
	return operation_cast_kind(tacho_slice_name(timeline, slice)) == CAST_CONVERTS &&
	       converts(timeline, slice, ret_from, ret_to, ret_elements);
}

/* --- forward passes ----------------------------------------------------------------------------- */

/* The pass on the way. */
struct pass_reader {
	const TachoTimeline *timeline;
	const KernelRegistry *registry; /* or NULL */
	GHashTable *roots;
	GHashTable *paths, *kinds; /* by string id */
	GArray *operations;	   /* struct recorded_operation */
};

/* The innermost module around it, "" where it is in none. */
static const gchar *module_of(const struct pass_reader *reader, guint32 slice)
{
	const TachoTimeline *timeline = reader->timeline;
	const TachoSlices *slices = &timeline->slices;
	const gchar *path;

	while (slice != TACHO_NONE && slices->kind[slice] != TACHO_SLICE_MODULE)
		slice = slices->parent[slice];
	if (slice == TACHO_NONE)
		return "";
	path = g_hash_table_lookup(reader->paths, GUINT_TO_POINTER(slices->name[slice]));
	if (!path) {
		g_autofree gchar *made =
			operation_module_path(tacho_slice_name(timeline, slice), reader->roots);

		path = g_intern_string(made);
		g_hash_table_insert(reader->paths, GUINT_TO_POINTER(slices->name[slice]),
				    (gpointer)path);
	}
	return path;
}

/* What a registered kernel of that name is a variant of; NULL: there is none. */
static const gchar *variant_of(const struct pass_reader *reader, const gchar *name)
{
	const struct registered_kernel *kernel =
		reader->registry ? kernel_registry_find(reader->registry, name) : NULL;

	return kernel ? kernel->variant_of : NULL;
}

static const gchar *kind_of(const struct pass_reader *reader, guint32 slice)
{
	guint32 name = reader->timeline->slices.name[slice];
	const gchar *known = g_hash_table_lookup(reader->kinds, GUINT_TO_POINTER(name));
	const gchar *text = tacho_slice_name(reader->timeline, slice), *variant;
	gchar kind[OPERATION_KIND_BYTES];

	if (known)
		return known;
	variant = variant_of(reader, text);
	operation_kind_of_name(variant ? variant : text, kind);
	known = g_intern_string(kind);
	g_hash_table_insert(reader->kinds, GUINT_TO_POINTER(name), (gpointer)known);
	return known;
}

/* The kind of the registered kernel in whose annotation, or type of module, the slice is; NULL: in none. */
static const gchar *kind_around(const struct pass_reader *reader, guint32 slice)
{
	const TachoSlices *slices = &reader->timeline->slices;

	for (guint32 i = slices->parent[slice]; reader->registry && i != TACHO_NONE;
	     i = slices->parent[i]) {
		const gchar *name = tacho_slice_name(reader->timeline, i), *variant;
		g_autofree gchar *type = NULL;
		gchar kind[OPERATION_KIND_BYTES];

		if (slices->kind[i] == TACHO_SLICE_MODULE)
			name = type = operation_module_type(name);
		else if (slices->kind[i] != TACHO_SLICE_ANNOTATION)
			continue;
		variant = variant_of(reader, name);
		if (!variant)
			continue;
		operation_kind_of_name(variant, kind);
		return g_intern_string(kind);
	}
	return NULL;
}

/* An operation of a name that is not known (a function of the job's own, with a backward pass of its own) is the product in it. */
static guint32 told_operation(const struct pass_reader *reader, guint32 slice)
{
	const TachoTimeline *timeline = reader->timeline;
	const TachoSlices *slices = &timeline->slices;
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);

	if (operation_kind_keeps(kind_of(reader, slice)) != KEEPS_UNKNOWN)
		return slice;
	for (guint32 i = slice + 1; i < MIN(slices->n, slice + MAX_SEARCHED); i++) {
		if (slices->track[i] != slices->track[slice] || slices->start_ns[i] >= end_ns)
			break;
		if (slices->kind[i] == TACHO_SLICE_OP &&
		    operation_kind_is_product(kind_of(reader, i)))
			return i;
	}
	return slice;
}

/* The rank's steps of the graph (TachoStep), by time. */
static GArray *steps_of(const TachoGraph *graph, guint32 rank_index)
{
	const GArray *all = graph->timeline->steps;
	GArray *steps = g_array_new(FALSE, FALSE, sizeof(TachoStep));

	FOR_EACH(const TachoStep, step, all)
		if (step->rank_index == rank_index && step->is_complete &&
		    graph_step_index(graph, step->number) != TACHO_NONE)
			g_array_append_val(steps, *step);
	return steps;
}

static guint32 main_track(const TachoGraph *graph, guint32 rank_index)
{
	FOR_EACH(const struct graph_lane, lane, graph->lanes)
		if (lane->is_main && lane->rank_index == rank_index)
			return lane->track;
	return TACHO_NONE;
}

static void add_operation(const struct pass_reader *reader, guint32 slice, guint32 step)
{
	const TachoTimeline *timeline = reader->timeline;
	guint32 told = told_operation(reader, slice);
	const gchar *kind = kind_of(reader, told);
	const gchar *around = operation_kind_is_product(kind) ? kind_around(reader, slice) : NULL;
	struct recorded_operation operation = {
		.slice = slice,
		.step = step,
		.module = module_of(reader, slice),
		.kind = around ? around : kind,
		.is_cast = operation_cast_kind(tacho_slice_name(timeline, slice)) != CAST_NONE,
	};
	TachoTensor tensor;

	if (tacho_slice_input(timeline, told, op_activation_input(timeline, told), &tensor))
		operation.elements_in = tensor_elements(&tensor);
	if (tacho_slice_output(timeline, told, 0, &tensor))
		operation.elements_out = tensor_elements(&tensor);
	g_array_append_val(reader->operations, operation);
}

GArray *recorded_pass_of(const TachoGraph *graph, guint32 rank_index, GHashTable *roots,
			 const KernelRegistry *registry)
{
	const TachoTimeline *timeline = graph->timeline;
	const TachoSlices *slices = &timeline->slices;
	g_autoptr(GArray) steps = steps_of(graph, rank_index);
	g_autoptr(GHashTable) paths = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) kinds = g_hash_table_new(NULL, NULL);
	struct pass_reader reader = {
		.timeline = timeline,
		.registry = registry,
		.roots = roots,
		.paths = paths,
		.kinds = kinds,
		.operations = g_array_new(FALSE, FALSE, sizeof(struct recorded_operation)),
	};
	g_autofree guint8 *phases = NULL;
	guint32 track_index = main_track(graph, rank_index);
	const TachoTrack *track;
	guint at = 0;

	if (track_index == TACHO_NONE)
		return reader.operations;
	track = tacho_timeline_track(timeline, track_index);
	phases = op_phases_of_track(timeline, track);
	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;

		while (at < steps->len &&
		       g_array_index(steps, TachoStep, at).end_ns <= slices->start_ns[slice])
			at++;
		if (at == steps->len)
			break;
		if (phases[i] != PHASE_FORWARD || !is_outermost_op(timeline, slice) ||
		    slices->start_ns[slice] < g_array_index(steps, TachoStep, at).start_ns)
			continue;
		add_operation(&reader, slice,
			      graph_step_index(graph, g_array_index(steps, TachoStep, at).number));
	}
	return reader.operations;
}
