/* op_flops: floating-point operations by name and shapes.
 *
 * Names are looked up without their namespace ("aten::") and without the underscores of in-place and
 * internal variants; TensorFlow's names stand beside PyTorch's. The formulas up to convolutions are
 * those of TensorFlow's registry (python/framework/graph_util and python/ops: "flops" statistics);
 * those of normalisations count what their definitions say: mean |x|, variance 3 |x|, normalising
 * 2 |x|, scaling and shifting 2 |x|. Optimizers' fused updates are not among them.
 *
 * Outputs that a trace does not tell are made from the inputs (op_output).
 *
 * What moves data only has a formula too, which is 0: so that what is unknown stands out. */
#include "analyze/op_flops.h"

#include <math.h>
#include <string.h>

#include "analyze/op_output.h"
#include "trace/region_kind.h"

/* |x| is the number of elements of x. */
typedef enum {
	RULE_NONE,	/* no arithmetic */
	RULE_INPUT,	/* factor |first input| */
	RULE_L2LOSS,	/* 3 |first input| - 1 */
	RULE_ADD_N,	/* |first input| (inputs - 1) */
	RULE_OUTPUT,	/* factor |first output| */
	RULE_REDUCE,	/* |first input| - |first output| */
	RULE_MATMUL,	/* 2 k |out|, of the last two inputs */
	RULE_CONV,	/* 2 |out| |W| / C_out */
	RULE_CONV_GRAD, /* the same for each gradient of input and weight, by |dY| */
	RULE_ATTENTION, /* 4 |Q| keys */
	/* TensorFlow's weights have their output channels last. */
	RULE_TF_CONV,	   /* 2 |out| |W| / C_out, W the second input */
	RULE_TF_DEPTHWISE, /* 2 |out| height width of W */
	RULE_TF_CONV_X,	   /* of the gradient of X: 2 |dY| |W| / C_out, dY the third input */
	RULE_TF_CONV_W,	   /* of the gradient of W, which is the output */
} Rule;

struct formula {
	const gchar *name;
	Rule rule;
	gdouble factor;
};

static const struct formula formulas[] = {
	{ "matmul", RULE_MATMUL, 0 },
	{ "mm", RULE_MATMUL, 0 },
	{ "addmm", RULE_MATMUL, 0 },
	{ "bmm", RULE_MATMUL, 0 },
	{ "baddbmm", RULE_MATMUL, 0 },
	{ "MatMul", RULE_MATMUL, 0 },
	{ "BatchMatMul", RULE_MATMUL, 0 },
	{ "BatchMatMulV2", RULE_MATMUL, 0 },
	{ "BatchMatMulV3", RULE_MATMUL, 0 },
	{ "convolution", RULE_CONV, 0 },
	{ "mkldnn_convolution", RULE_CONV, 0 },
	{ "cudnn_convolution", RULE_CONV, 0 },
	{ "miopen_convolution", RULE_CONV, 0 },
	{ "conv_depthwise2d", RULE_CONV, 0 },
	{ "slow_conv2d_forward", RULE_CONV, 0 },
	{ "thnn_conv2d", RULE_CONV, 0 },
	{ "convolution_backward", RULE_CONV_GRAD, 0 },
	{ "scaled_dot_product_attention", RULE_ATTENTION, 0 },
	{ "scaled_dot_product_flash_attention", RULE_ATTENTION, 0 },
	{ "scaled_dot_product_efficient_attention", RULE_ATTENTION, 0 },
	{ "Conv2D", RULE_TF_CONV, 0 },
	{ "Conv3D", RULE_TF_CONV, 0 },
	{ "DepthwiseConv2dNative", RULE_TF_DEPTHWISE, 0 },
	{ "Conv2DBackpropInput", RULE_TF_CONV_X, 0 },
	{ "Conv2DBackpropFilter", RULE_TF_CONV_W, 0 },
	{ "softmax", RULE_INPUT, 5 },
	{ "log_softmax", RULE_INPUT, 5 },
	{ "Softmax", RULE_INPUT, 5 },
	{ "softmax_backward_data", RULE_INPUT, 4 },
	{ "log_softmax_backward_data", RULE_INPUT, 4 },
	{ "L2Loss", RULE_L2LOSS, 0 },
	{ "native_batch_norm", RULE_INPUT, 8 },
	{ "cudnn_batch_norm", RULE_INPUT, 8 },
	{ "native_layer_norm", RULE_INPUT, 8 },
	{ "native_batch_norm_backward", RULE_INPUT, 9 },
	{ "cudnn_batch_norm_backward", RULE_INPUT, 9 },
	{ "native_layer_norm_backward", RULE_INPUT, 9 },
	{ "reciprocal", RULE_INPUT, 1 },
	{ "Reciprocal", RULE_INPUT, 1 },
	{ "square", RULE_INPUT, 1 },
	{ "Square", RULE_INPUT, 1 },
	{ "log", RULE_INPUT, 1 },
	{ "Log", RULE_INPUT, 1 },
	{ "exp", RULE_INPUT, 1 },
	{ "sqrt", RULE_INPUT, 1 },
	{ "neg", RULE_INPUT, 1 },
	{ "Neg", RULE_INPUT, 1 },
	{ "abs", RULE_INPUT, 1 },
	{ "AssignAdd", RULE_INPUT, 1 },
	{ "AssignSub", RULE_INPUT, 1 },
	{ "rsqrt", RULE_INPUT, 2 },
	{ "Rsqrt", RULE_INPUT, 2 },
	{ "mean", RULE_INPUT, 1 },
	{ "Mean", RULE_INPUT, 1 },
	{ "max_pool2d_with_indices", RULE_INPUT, 1 },
	{ "max_pool2d_with_indices_backward", RULE_INPUT, 1 },
	{ "avg_pool2d", RULE_INPUT, 1 },
	{ "avg_pool2d_backward", RULE_OUTPUT, 1 },
	{ "adaptive_avg_pool2d", RULE_INPUT, 1 },
	{ "adaptive_avg_pool2d_backward", RULE_OUTPUT, 1 },
	{ "nll_loss_forward", RULE_INPUT, 0 },
	{ "nll_loss_backward", RULE_INPUT, 0 },
	{ "add", RULE_OUTPUT, 1 },
	{ "Add", RULE_OUTPUT, 1 },
	{ "AddV2", RULE_OUTPUT, 1 },
	{ "AddN", RULE_ADD_N, 0 },
	{ "BiasAdd", RULE_OUTPUT, 1 },
	{ "sub", RULE_OUTPUT, 1 },
	{ "rsub", RULE_OUTPUT, 1 },
	{ "Sub", RULE_OUTPUT, 1 },
	{ "mul", RULE_OUTPUT, 1 },
	{ "Mul", RULE_OUTPUT, 1 },
	{ "div", RULE_OUTPUT, 1 },
	{ "RealDiv", RULE_OUTPUT, 1 },
	{ "maximum", RULE_OUTPUT, 1 },
	{ "Maximum", RULE_OUTPUT, 1 },
	{ "minimum", RULE_OUTPUT, 1 },
	{ "Minimum", RULE_OUTPUT, 1 },
	{ "pow", RULE_OUTPUT, 1 },
	{ "Pow", RULE_OUTPUT, 1 },
	{ "eq", RULE_OUTPUT, 1 },
	{ "ne", RULE_OUTPUT, 1 },
	{ "lt", RULE_OUTPUT, 1 },
	{ "le", RULE_OUTPUT, 1 },
	{ "gt", RULE_OUTPUT, 1 },
	{ "ge", RULE_OUTPUT, 1 },
	{ "relu", RULE_OUTPUT, 1 },
	{ "Relu", RULE_OUTPUT, 1 },
	{ "clamp", RULE_OUTPUT, 1 },
	{ "clamp_min", RULE_OUTPUT, 1 },
	{ "threshold_backward", RULE_OUTPUT, 1 },
	{ "ReluGrad", RULE_OUTPUT, 1 },
	{ "tanh", RULE_OUTPUT, 1 },
	{ "sigmoid", RULE_OUTPUT, 1 },
	{ "gelu", RULE_OUTPUT, 1 },
	{ "gelu_backward", RULE_OUTPUT, 1 },
	{ "addcmul", RULE_OUTPUT, 3 },
	{ "addcdiv", RULE_OUTPUT, 3 },
	{ "lerp", RULE_OUTPUT, 3 },
	{ "SquaredDifference", RULE_OUTPUT, 2 },
	{ "RsqrtGrad", RULE_OUTPUT, 4 },
	{ "sum", RULE_REDUCE, 0 },
	{ "Sum", RULE_REDUCE, 0 },
	{ "argmax", RULE_REDUCE, 0 },
	{ "argmin", RULE_REDUCE, 0 },
	{ "max", RULE_REDUCE, 0 },
	{ "min", RULE_REDUCE, 0 },
	{ "ArgMax", RULE_REDUCE, 0 },
	{ "ArgMin", RULE_REDUCE, 0 },
	{ "BiasAddGrad", RULE_REDUCE, 0 },
	{ "FusedBatchNorm", RULE_INPUT, 8 },
	{ "FusedBatchNormV2", RULE_INPUT, 8 },
	{ "FusedBatchNormV3", RULE_INPUT, 8 },
	{ "FusedBatchNormGrad", RULE_INPUT, 9 },
	{ "FusedBatchNormGradV2", RULE_INPUT, 9 },
	{ "FusedBatchNormGradV3", RULE_INPUT, 9 },
	{ "Exp", RULE_INPUT, 1 },
	{ "Sqrt", RULE_INPUT, 1 },
	{ "Abs", RULE_INPUT, 1 },
	{ "Tanh", RULE_OUTPUT, 1 },
	{ "Sigmoid", RULE_OUTPUT, 1 },
	{ "Max", RULE_REDUCE, 0 },
	{ "Min", RULE_REDUCE, 0 },
	{ "NoOp", RULE_NONE, 0 },
	{ "Const", RULE_NONE, 0 },
	{ "Cast", RULE_NONE, 0 },
	{ "ConcatV2", RULE_NONE, 0 },
	{ "ExpandDims", RULE_NONE, 0 },
	{ "Fill", RULE_NONE, 0 },
	{ "Pack", RULE_NONE, 0 },
	{ "Pad", RULE_NONE, 0 },
	{ "ReadVariableOp", RULE_NONE, 0 },
	{ "Recv", RULE_NONE, 0 }, /* "_Recv" */
	{ "HostRecv", RULE_NONE, 0 },
	{ "Send", RULE_NONE, 0 },
	{ "HostSend", RULE_NONE, 0 },
	{ "RecvTensor", RULE_NONE, 0 },
	{ "Shape", RULE_NONE, 0 },
	{ "ShapeN", RULE_NONE, 0 },
	{ "Slice", RULE_NONE, 0 },
	{ "Squeeze", RULE_NONE, 0 },
	{ "StopGradient", RULE_NONE, 0 },
	{ "StridedSlice", RULE_NONE, 0 },
	{ "VarHandleOp", RULE_NONE, 0 },
	{ "VarIsInitializedOp", RULE_NONE, 0 },
	{ "Variable", RULE_NONE, 0 },
	{ "ZerosLike", RULE_NONE, 0 },
	{ "alias", RULE_NONE, 0 },
	{ "as_strided", RULE_NONE, 0 },
	{ "arange", RULE_NONE, 0 },
	{ "cat", RULE_NONE, 0 },
	{ "clone", RULE_NONE, 0 },
	{ "contiguous", RULE_NONE, 0 },
	{ "copy", RULE_NONE, 0 },
	{ "detach", RULE_NONE, 0 },
	{ "empty", RULE_NONE, 0 },
	{ "empty_like", RULE_NONE, 0 },
	{ "empty_strided", RULE_NONE, 0 },
	{ "expand", RULE_NONE, 0 },
	{ "fill", RULE_NONE, 0 },
	{ "flatten", RULE_NONE, 0 },
	{ "Identity", RULE_NONE, 0 },
	{ "index_select", RULE_NONE, 0 },
	{ "item", RULE_NONE, 0 },
	{ "local_scalar_dense", RULE_NONE, 0 },
	{ "narrow", RULE_NONE, 0 },
	{ "ones_like", RULE_NONE, 0 },
	{ "permute", RULE_NONE, 0 },
	{ "Placeholder", RULE_NONE, 0 },
	{ "reshape", RULE_NONE, 0 },
	{ "Reshape", RULE_NONE, 0 },
	{ "resize", RULE_NONE, 0 },
	{ "select", RULE_NONE, 0 },
	{ "set", RULE_NONE, 0 },
	{ "slice", RULE_NONE, 0 },
	{ "split", RULE_NONE, 0 },
	{ "squeeze", RULE_NONE, 0 },
	{ "stack", RULE_NONE, 0 },
	{ "t", RULE_NONE, 0 },
	{ "to", RULE_NONE, 0 },
	{ "to_copy", RULE_NONE, 0 },
	{ "transpose", RULE_NONE, 0 },
	{ "Transpose", RULE_NONE, 0 },
	{ "unsqueeze", RULE_NONE, 0 },
	{ "VariableV2", RULE_NONE, 0 },
	{ "view", RULE_NONE, 0 },
	{ "unsafe_view", RULE_NONE, 0 },
	{ "reshape_alias", RULE_NONE, 0 },
	{ "zero", RULE_NONE, 0 },
	{ "zeros", RULE_NONE, 0 },
	{ "zeros_like", RULE_NONE, 0 },
};

gdouble tensor_elements(const TachoTensor *tensor)
{
	gdouble n = 1;

	for (guint32 i = 0; i < tensor->n_dims && i < TACHO_MAX_DIMS; i++)
		n *= (gdouble)MAX(tensor->shape[i], 0);
	return n;
}

static gpointer make_index(gpointer data)
{
	GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);

	(void)data;
	for (guint i = 0; i < G_N_ELEMENTS(formulas); i++)
		g_hash_table_insert(index, (gpointer)formulas[i].name, (gpointer)&formulas[i]);
	return index;
}

/* The formula of "aten::_add_" is add's; one of exactly that name goes first. */
static const struct formula *find_formula(const gchar *name)
{
	static GOnce once = G_ONCE_INIT;
	GHashTable *index = g_once(&once, make_index, NULL);
	const gchar *plain = strstr(name, "::") ? strstr(name, "::") + 2 : name;
	g_autofree gchar *bare = NULL;
	gsize length;

	if (strncmp(name, "c10d::", 6) == 0)
		return NULL;
	while (*plain == '_')
		plain++;
	length = strlen(plain);
	while (length && plain[length - 1] == '_')
		length--;
	bare = g_strndup(plain, length);
	return g_hash_table_lookup(index, bare);
}

static OutputRule output_rule(const struct formula *formula)
{
	switch (formula->rule) {
	case RULE_OUTPUT:
		return OUTPUT_BROADCAST;
	case RULE_MATMUL:
		return OUTPUT_MATMUL;
	case RULE_CONV:
		return OUTPUT_CONV;
	default:
		return OUTPUT_UNKNOWN;
	}
}

/* The last two inputs are A and B, with |A| = b m k, |B| = b k n and |out| = b m n: so k is known
 * whichever of them is transposed. */
static gdouble matmul_flops(const TachoTimeline *timeline, guint32 slice, const TachoTensor *out)
{
	TachoTensor a, b;
	gdouble batch = 1, size = tensor_elements(out);

	if (!op_factors(timeline, slice, &a, &b))
		return -1;
	for (guint32 i = 0; i + 2 < out->n_dims; i++)
		batch *= (gdouble)out->shape[i];
	if (!(size > 0) || !(batch > 0))
		return 0;
	return 2 * size * sqrt(tensor_elements(&a) * tensor_elements(&b) / (size * batch));
}

static gdouble conv_flops(const TachoTimeline *timeline, guint32 slice, const TachoTensor *out)
{
	TachoTensor weight;

	if (!tacho_slice_input(timeline, slice, 1, &weight) || weight.n_dims < 3 ||
	    weight.shape[0] <= 0)
		return -1;
	return 2 * tensor_elements(out) * tensor_elements(&weight) / (gdouble)weight.shape[0];
}

/* Inputs: dY, X, W. Outputs: those of dX, dW, db that were wanted, told by their shapes, or by the mask. */
static gdouble conv_grad_flops(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor gradient, weight, output;
	gint n = 0;

	if (!tacho_slice_input(timeline, slice, 0, &gradient) ||
	    !tacho_slice_input(timeline, slice, 2, &weight) || weight.n_dims < 3 ||
	    weight.shape[0] <= 0)
		return -1;
	if (!tacho_slice_output(timeline, slice, 0, &output))
		n = op_conv_gradients(timeline, slice);
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &output); i++)
		n += output.n_dims == weight.n_dims;
	return n < 0 ? -1
		     : n * 2 * tensor_elements(&gradient) * tensor_elements(&weight) /
			       (gdouble)weight.shape[0];
}

/* 2 |each| |weight| / C_out: what a convolution, and either gradient of it, takes. */
static gdouble tf_conv_flops(const TachoTensor *each, const TachoTensor *weight, guint32 n_channels)
{
	gdouble channels = 1;

	if (weight->n_dims < 3)
		return -1;
	for (guint32 i = weight->n_dims - n_channels; i < weight->n_dims; i++)
		channels *= (gdouble)weight->shape[i];
	return channels > 0 ? 2 * tensor_elements(each) * tensor_elements(weight) / channels : 0;
}

static gdouble tf_conv_grad_flops(const TachoTimeline *timeline, guint32 slice, Rule rule)
{
	TachoTensor gradient, weight;
	gboolean has_weight = rule == RULE_TF_CONV_X
				      ? tacho_slice_input(timeline, slice, 1, &weight)
				      : tacho_slice_output(timeline, slice, 0, &weight);

	if (!has_weight || !tacho_slice_input(timeline, slice, 2, &gradient) || !gradient.n_dims)
		return -1;
	return tf_conv_flops(&gradient, &weight, 1);
}

static gdouble attention_flops(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor query, key;

	if (!tacho_slice_input(timeline, slice, 0, &query) ||
	    !tacho_slice_input(timeline, slice, 1, &key) || key.n_dims < 2)
		return -1;
	return 4 * tensor_elements(&query) * (gdouble)key.shape[key.n_dims - 2];
}

static gdouble add_n_flops(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor first, input;
	guint32 n = 1;

	tacho_slice_input(timeline, slice, 0, &first);
	while (tacho_slice_input(timeline, slice, n, &input))
		n++;
	return (n - 1) * tensor_elements(&first);
}

gdouble op_flops(const TachoTimeline *timeline, guint32 slice)
{
	const struct formula *formula;
	gboolean has_input, has_output;
	TachoTensor input, output;
	TachoToldOp told;

	if (tacho_slice_told(timeline, slice, &told) && !isnan(told.flops))
		return told.flops;
	formula = find_formula(tacho_timeline_string(timeline, tacho_slice_type(timeline, slice)));
	if (!formula)
		return -1;
	if (formula->rule == RULE_NONE)
		return 0;
	has_input = tacho_slice_input(timeline, slice, 0, &input);
	has_output = op_output(timeline, slice, output_rule(formula), &output);
	if (formula->rule == RULE_INPUT)
		return has_input ? formula->factor * tensor_elements(&input) : -1;
	if (formula->rule == RULE_L2LOSS)
		return has_input ? MAX(3 * tensor_elements(&input) - 1, 0) : -1;
	if (formula->rule == RULE_ADD_N)
		return has_input ? add_n_flops(timeline, slice) : -1;
	if (formula->rule == RULE_CONV_GRAD)
		return conv_grad_flops(timeline, slice);
	if (formula->rule == RULE_ATTENTION)
		return attention_flops(timeline, slice);
	if (formula->rule == RULE_TF_CONV_X || formula->rule == RULE_TF_CONV_W)
		return tf_conv_grad_flops(timeline, slice, formula->rule);
	if (!has_output)
		return -1;
	switch (formula->rule) {
	case RULE_OUTPUT:
		return formula->factor * tensor_elements(&output);
	case RULE_REDUCE:
		return has_input ? MAX(tensor_elements(&input) - tensor_elements(&output), 0) : -1;
	case RULE_MATMUL:
		return matmul_flops(timeline, slice, &output);
	case RULE_TF_CONV:
	case RULE_TF_DEPTHWISE:
		if (!tacho_slice_input(timeline, slice, 1, &input))
			return -1;
		return tf_conv_flops(&output, &input, formula->rule == RULE_TF_CONV ? 1 : 2);
	default:
		return conv_flops(timeline, slice, &output);
	}
}

gdouble op_output_bytes(const TachoTimeline *timeline, guint32 slice)
{
	const struct formula *formula;
	gdouble bytes = 0;
	TachoTensor output;
	TachoToldOp told;

	if (tacho_slice_told(timeline, slice, &told) && !isnan(told.output_bytes))
		return told.output_bytes;
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &output); i++)
		bytes += tensor_elements(&output) * output.dtype_bytes;
	if (tacho_slice_output(timeline, slice, 0, &output))
		return bytes;
	formula = find_formula(tacho_timeline_string(timeline, tacho_slice_type(timeline, slice)));
	return formula && op_output(timeline, slice, output_rule(formula), &output)
		       ? tensor_elements(&output) * output.dtype_bytes
		       : 0;
}

/* What gets a gradient is a parameter: the elements of AccumulateGrad's input. */
gdouble op_parameters(const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor gradient;
	TachoToldOp told;

	if (tacho_slice_told(timeline, slice, &told) && !isnan(told.parameters))
		return told.parameters;
	if (!region_kind_accumulates(region_kind_of(timeline, slice)) ||
	    !tacho_slice_input(timeline, slice, 0, &gradient))
		return 0;
	return tensor_elements(&gradient);
}

/* addmm(added, activation, weight), baddbmm likewise: native_functions.yaml of PyTorch. */
guint32 op_activation_input(const TachoTimeline *timeline, guint32 slice)
{
	const gchar *name = tacho_slice_name(timeline, slice);

	return strcmp(name, "aten::addmm") == 0 || strcmp(name, "aten::baddbmm") == 0 ? 1 : 0;
}
