/* op_output: what an operation made, where the trace tells only what it was given.
 *
 * PyTorch's profiler records the shapes of inputs alone; what follows from them by the operation's definition
 * is made here. A convolution's also hangs on numbers that it is given. Where these were not recorded, it is told by
 * what reads it: the next operation of the thread that is given a tensor of as many dimensions, if that is no
 * convolution (which may read what this one did), and its batch, channels and sizes are such as this one can have made.
 * Else it is not known. */
#include "analyze/op_output.h"

#include <string.h>

/* --- numbers among the inputs ----------------------------------------------------------------- */

enum { MAX_READERS = 16 }; /* operations after it that are looked at */

/* Where in an operation's inputs the numbers of a convolution are; 0: it has none. */
static const struct conv_inputs {
	const gchar *name;
	guint8 stride, padding, dilation, transposed;
} conv_inputs[] = {
	{ "aten::convolution", 3, 4, 5, 6 },	      { "aten::_convolution", 3, 4, 5, 6 },
	{ "aten::cudnn_convolution", 3, 2, 4, 0 },    { "aten::miopen_convolution", 4, 3, 5, 0 },
	{ "aten::mkldnn_convolution", 4, 3, 5, 0 },   { "aten::_conv_depthwise2d", 4, 5, 6, 0 },
	{ "aten::_slow_conv2d_forward", 4, 5, 0, 0 }, { "aten::thnn_conv2d", 4, 5, 0, 0 },
};

enum { BACKWARD_MASK = 10 }; /* convolution_backward's output_mask */

/* What of a convolution's inputs is asked for. */
enum { N_CONV_INPUTS = 7, N_BACKWARD_INPUTS = BACKWARD_MASK + 1 };

gint op_conv_gradients(const TachoTimeline *timeline, guint32 slice)
{
	TachoNumbers numbers[N_BACKWARD_INPUTS];
	const TachoNumbers *mask = &numbers[BACKWARD_MASK];

	if (!tacho_slice_numbers(timeline, slice, N_BACKWARD_INPUTS, numbers) || mask->n < 2)
		return -1;
	return (mask->values[0] != 0) + (mask->values[1] != 0);
}

/* --- shapes ----------------------------------------------------------------------------------- */

/* Dimensions count from the last. Where sizes differ one of them is 1, and the other it is. */
static gboolean broadcast(TachoTensor *to, const TachoTensor *from)
{
	guint32 n_dims = MAX(to->n_dims, from->n_dims);
	gint64 shape[TACHO_MAX_DIMS];

	for (guint32 i = 1; i <= n_dims; i++) {
		gint64 a = i <= to->n_dims ? to->shape[to->n_dims - i] : 1;
		gint64 b = i <= from->n_dims ? from->shape[from->n_dims - i] : 1;

		if (a != b && a != 1 && b != 1)
			return FALSE;
		shape[n_dims - i] = a == 1 ? b : a;
	}
	to->n_dims = n_dims;
	memcpy(to->shape, shape, n_dims * sizeof(*shape));
	return TRUE;
}

static TachoTensor begin_output(const TachoTensor *like)
{
	TachoTensor output = *like;

	output.storage = output.offset_bytes = 0;
	output.argument = 0;
	return output;
}

static gboolean broadcast_output(const TachoTimeline *timeline, guint32 slice, TachoTensor *output)
{
	TachoTensor input;

	if (!tacho_slice_input(timeline, slice, 0, &input))
		return FALSE;
	*output = begin_output(&input);
	for (guint32 i = 1; tacho_slice_input(timeline, slice, i, &input); i++)
		if (!broadcast(output, &input))
			return FALSE;
	return TRUE;
}

gboolean op_factors(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_a,
		    TachoTensor *ret_b)
{
	TachoTensor input;
	guint n = 0;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &input); i++) {
		if (input.n_dims == 0)
			continue;
		if (n++)
			*ret_a = *ret_b;
		*ret_b = input;
	}
	return n >= 2;
}

/* The product of (..., m, k) and (..., k, n) is (..., m, n). */
static gboolean matmul_output(const TachoTimeline *timeline, guint32 slice, TachoTensor *output)
{
	TachoTensor a, b, batch;
	gint64 n;

	if (!op_factors(timeline, slice, &a, &b) || a.n_dims < 2 || b.n_dims < 2 ||
	    a.shape[a.n_dims - 1] != b.shape[b.n_dims - 2])
		return FALSE;
	n = b.shape[b.n_dims - 1];
	*output = begin_output(&a);
	output->n_dims -= 2;
	batch = b;
	batch.n_dims -= 2;
	if (!broadcast(output, &batch) || output->n_dims + 2 > TACHO_MAX_DIMS)
		return FALSE;
	output->shape[output->n_dims++] = a.shape[a.n_dims - 2];
	output->shape[output->n_dims++] = n;
	return TRUE;
}

/* The i-th of numbers of which one may stand for all; `otherwise` where there are none. */
static gint64 number_at(const TachoNumbers *numbers, guint i, gint64 otherwise)
{
	if (numbers->n == 0)
		return otherwise;
	return numbers->values[MIN(i, numbers->n - 1)];
}

/* torch.nn.Conv2d's formula: (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down. */
static gint64 conv_size(gint64 in, gint64 kernel, gint64 stride, gint64 padding, gint64 dilation)
{
	gint64 least = 0, span;

	if (stride <= 0 || in < 0 || kernel <= 0 || in > G_MAXINT32 || kernel > G_MAXINT32 ||
	    padding < 0 || padding > G_MAXINT32 || dilation <= 0 || dilation > G_MAXINT32)
		return -1;
	span = in + 2 * padding - dilation * (kernel - 1) - 1;
	return span < least ? -1 : span / stride + 1;
}

static const struct conv_inputs *find_conv(const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(conv_inputs); i++)
		if (strcmp(conv_inputs[i].name, name) == 0)
			return &conv_inputs[i];
	return NULL;
}

/* What a convolution reads: both of as many dimensions. */
static gboolean conv_factors(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_input,
			     TachoTensor *ret_weight)
{
	return tacho_slice_input(timeline, slice, 0, ret_input) &&
	       tacho_slice_input(timeline, slice, 1, ret_weight) && ret_input->n_dims >= 3 &&
	       ret_weight->n_dims == ret_input->n_dims;
}

/* With whatever stride and padding: of a padding that is less than the kernel. */
static gboolean can_be_output(const TachoTensor *output, const TachoTensor *input,
			      const TachoTensor *weight)
{
	if (output->shape[0] != input->shape[0] || output->shape[1] != weight->shape[0])
		return FALSE;
	for (guint32 i = 2; i < input->n_dims; i++)
		if (output->shape[i] < 1 || output->shape[i] - weight->shape[i] >= input->shape[i])
			return FALSE;
	return TRUE;
}

gboolean op_conv_output_read(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_output)
{
	const TachoSlices *slices = &timeline->slices;
	const TachoTrack *track = tacho_timeline_track(timeline, slices->track[slice]);
	TachoTensor input, weight, output;
	guint n_seen = 0;

	if (!conv_factors(timeline, slice, &input, &weight))
		return FALSE;
	for (guint32 i = slice + 1; i < track->first_slice + track->n_slices; i++) {
		if (slices->kind[i] != TACHO_SLICE_OP ||
		    slices->start_ns[i] < tacho_slice_end_ns(timeline, slice))
			continue;
		if (n_seen++ == MAX_READERS)
			return FALSE;
		if (!tacho_slice_input(timeline, i, 0, &output) || output.n_dims != input.n_dims)
			continue;
		if (strstr(tacho_slice_name(timeline, i), "conv") ||
		    !can_be_output(&output, &input, &weight))
			return FALSE;
		*ret_output = begin_output(&output);
		return TRUE;
	}
	return FALSE;
}

/* By the numbers that it was given; a transposed one is not made. FALSE with ret_is_told: they were there. */
static gboolean conv_output_made(const TachoTimeline *timeline, guint32 slice,
				 const struct conv_inputs *at, gboolean *ret_is_told,
				 TachoTensor *ret_output)
{
	static const TachoNumbers none = { 0 };
	TachoNumbers numbers[N_CONV_INPUTS];
	const TachoNumbers *stride = &numbers[at->stride], *padding = &numbers[at->padding];
	const TachoNumbers *dilation = at->dilation ? &numbers[at->dilation] : &none;
	const TachoNumbers *transposed = at->transposed ? &numbers[at->transposed] : &none;
	TachoTensor input, weight, output;

	*ret_is_told = tacho_slice_numbers(timeline, slice, N_CONV_INPUTS, numbers) && stride->n &&
		       padding->n;
	if (!*ret_is_told || !conv_factors(timeline, slice, &input, &weight) ||
	    (transposed->n && transposed->values[0]))
		return FALSE;
	output = begin_output(&input);
	output.shape[1] = weight.shape[0];
	for (guint32 i = 2; i < input.n_dims; i++) {
		output.shape[i] =
			conv_size(input.shape[i], weight.shape[i], number_at(stride, i - 2, 1),
				  number_at(padding, i - 2, 0), number_at(dilation, i - 2, 1));
		if (output.shape[i] < 0)
			return FALSE;
	}
	*ret_output = output;
	return TRUE;
}

static gboolean conv_output(const TachoTimeline *timeline, guint32 slice, TachoTensor *ret_output)
{
	const struct conv_inputs *at = find_conv(tacho_slice_name(timeline, slice));
	gboolean is_told = FALSE;

	if (at && conv_output_made(timeline, slice, at, &is_told, ret_output))
		return TRUE;
	return !is_told && op_conv_output_read(timeline, slice, ret_output);
}

gboolean op_output(const TachoTimeline *timeline, guint32 slice, OutputRule rule,
		   TachoTensor *ret_output)
{
	TachoTensor output;
	gboolean is_made = FALSE;

	if (tacho_slice_output(timeline, slice, 0, ret_output))
		return TRUE;
	if (rule == OUTPUT_BROADCAST)
		is_made = broadcast_output(timeline, slice, &output);
	else if (rule == OUTPUT_MATMUL)
		is_made = matmul_output(timeline, slice, &output);
	else if (rule == OUTPUT_CONV)
		is_made = conv_output(timeline, slice, &output);
	if (is_made)
		*ret_output = output;
	return is_made;
}
