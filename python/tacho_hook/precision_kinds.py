"""Which functions of PyTorch are which kind of operation, and where they stand.

(1) Functions are replaced where programs look them up: in torch, torch.nn.functional, torch.Tensor. Modules of PyTorch look them up there,
    too, at each call.
(2) What calls others of these functions is one operation: that of the outermost.
"""

# --- what a plan says a precision of: kind, where, names, place of the weight (None: it has none) ------------

_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_PRODUCTS = ("matmul", "mm", "bmm", "baddbmm", "addmm", "addbmm")

CHOSEN = (
    [("linear", "torch.nn.functional", "linear", 1)]
    + [(name, where, name, 1) for name in _CONVOLUTIONS for where in ("torch.nn.functional", "torch")]
    + [("matmul", where, name, None) for name in _PRODUCTS for where in ("torch", "torch.Tensor")]
    + [("matmul", where, "einsum", None) for where in ("torch", "torch.functional")]
    + [("attention", "torch.nn.functional", "scaled_dot_product_attention", None)]
)

# --- what is computed in fp32, whatever it reads ---------------------------------------------------------------

_FIXED_FUNCTIONS = (
    "softmax log_softmax softmin gelu layer_norm batch_norm group_norm instance_norm rms_norm local_response_norm normalize "
    "cosine_similarity cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy "
    "binary_cross_entropy_with_logits poisson_nll_loss gaussian_nll_loss ctc_loss cosine_embedding_loss margin_ranking_loss "
    "hinge_embedding_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss soft_margin_loss triplet_margin_loss "
    "triplet_margin_with_distance_loss embedding embedding_bag"
).split()
_FIXED_OF_TENSORS = ("softmax", "log_softmax")
_FIXED_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")

_AS_RECORDED = {"cross_entropy": "cross_entropy_loss"}  # where PyTorch's own operation is called otherwise

FIXED = (
    [(_AS_RECORDED.get(name, name), "torch.nn.functional", name) for name in _FIXED_FUNCTIONS]
    + [(name, where, name) for name in _FIXED_OF_TENSORS for where in ("torch", "torch.Tensor")]
    + [(name, "torch", name) for name in ("layer_norm", "batch_norm", "group_norm", "instance_norm")]
    + [(name, "torch._VF", name) for name in _FIXED_RECURRENT]
)

# --- what is computed in what it reads: named here where it would be several operations, or have another name ---

_PROMOTED_FUNCTIONS = (
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d "
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d avg_pool1d avg_pool2d "
    "avg_pool3d interpolate pad"
).split()

PROMOTED = [(name, "torch.nn.functional", name) for name in _PROMOTED_FUNCTIONS]


def place(torch, where):
    """The object that "torch.nn.functional" and the like names."""
    found = torch
    for name in where.split(".")[1:]:
        found = getattr(found, name)
    return found
