#include "trace/source.h"

#define HANDLE_KEPT (G_GUINT64_CONSTANT(1) << 63)

enum kept_kind { KEPT_OP, KEPT_KERNEL, KEPT_COLLECTIVE, KEPT_ID };

struct kept_args {
	enum kept_kind kind;
	guint32 first_tensor;
	guint32 n_inputs, n_outputs;
	union {
		TachoOpArgs op;
		TachoKernelArgs kernel;
		TachoCollectiveArgs collective;
		guint64 id;
	};
};

struct tacho_source {
	GArray *kept;	 /* struct kept_args */
	GArray *tensors; /* TachoTensor of the kept arguments */
};

struct tacho_source *tacho_source_new(void)
{
	struct tacho_source *source = g_new0(struct tacho_source, 1);

	source->kept = g_array_new(FALSE, TRUE, sizeof(struct kept_args));
	source->tensors = g_array_new(FALSE, TRUE, sizeof(TachoTensor));
	return source;
}

void tacho_source_free(struct tacho_source *source)
{
	if (!source)
		return;
	g_array_free(source->kept, TRUE);
	g_array_free(source->tensors, TRUE);
	g_free(source);
}

/* --- arguments kept by hand ----------------------------------------------------------------- */

static guint64 keep(TachoTimeline *timeline, struct kept_args *args, const TachoTensor *tensors)
{
	struct tacho_source *source = timeline->source;

	args->first_tensor = source->tensors->len;
	if (args->n_inputs + args->n_outputs)
		g_array_append_vals(source->tensors, tensors, args->n_inputs + args->n_outputs);
	g_array_append_val(source->kept, *args);
	return HANDLE_KEPT | (source->kept->len - 1);
}

guint64 tacho_timeline_keep_op(TachoTimeline *timeline, const TachoOpArgs *args,
			       const TachoTensor *tensors)
{
	struct kept_args kept = {.kind = KEPT_OP, .op = *args};

	kept.n_inputs = args->n_inputs;
	kept.n_outputs = args->n_outputs;
	return keep(timeline, &kept, tensors);
}

guint64 tacho_timeline_keep_kernel(TachoTimeline *timeline, const TachoKernelArgs *args)
{
	struct kept_args kept = {.kind = KEPT_KERNEL, .kernel = *args};
	guint32 text = tacho_timeline_intern(timeline, args->text ? args->text : "", -1);

	kept.kernel.text = tacho_timeline_string(timeline, text);
	kept.kernel.n_dims = MIN(args->n_dims, TACHO_MAX_DIMS);
	return keep(timeline, &kept, NULL);
}

guint64 tacho_timeline_keep_collective(TachoTimeline *timeline, const TachoCollectiveArgs *args,
				       const TachoTensor *tensors)
{
	struct kept_args kept = {.kind = KEPT_COLLECTIVE, .collective = *args};

	kept.n_inputs = args->n_inputs;
	return keep(timeline, &kept, tensors);
}

guint64 tacho_timeline_keep_id(TachoTimeline *timeline, guint64 id)
{
	struct kept_args kept = {.kind = KEPT_ID, .id = id};

	return keep(timeline, &kept, NULL);
}

/* What was kept for a slice, or NULL. */
static const struct kept_args *find_kept(const TachoTimeline *timeline, guint32 slice)
{
	guint64 handle = timeline->slices.source[slice];

	if (!(handle & HANDLE_KEPT))
		return NULL;
	return &g_array_index(timeline->source->kept, struct kept_args, handle & ~HANDLE_KEPT);
}

/* --- accessors ------------------------------------------------------------------------------ */

gboolean tacho_slice_op(const TachoTimeline *timeline, guint32 slice, TachoOpArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	if (!kept || kept->kind != KEPT_OP)
		return FALSE;
	*args = kept->op;
	return TRUE;
}

gboolean tacho_slice_kernel(const TachoTimeline *timeline, guint32 slice, TachoKernelArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	if (!kept || kept->kind != KEPT_KERNEL)
		return FALSE;
	*args = kept->kernel;
	return TRUE;
}

gboolean tacho_slice_collective(const TachoTimeline *timeline, guint32 slice,
				TachoCollectiveArgs *args)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	if (!kept || kept->kind != KEPT_COLLECTIVE)
		return FALSE;
	*args = kept->collective;
	return TRUE;
}

guint64 tacho_slice_id(const TachoTimeline *timeline, guint32 slice)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	return kept && kept->kind == KEPT_ID ? kept->id : 0;
}

gboolean tacho_slice_input(const TachoTimeline *timeline, guint32 slice, guint32 index,
			   TachoTensor *tensor)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	if (!kept || index >= kept->n_inputs)
		return FALSE;
	*tensor = g_array_index(timeline->source->tensors, TachoTensor, kept->first_tensor + index);
	return TRUE;
}

gboolean tacho_slice_output(const TachoTimeline *timeline, guint32 slice, guint32 index,
			    TachoTensor *tensor)
{
	const struct kept_args *kept = find_kept(timeline, slice);

	if (!kept || index >= kept->n_outputs)
		return FALSE;
	*tensor = g_array_index(timeline->source->tensors, TachoTensor,
				kept->first_tensor + kept->n_inputs + index);
	return TRUE;
}
