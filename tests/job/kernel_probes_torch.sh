#!/usr/bin/env bash
# Both kernel probes under PyTorch: Debian's, where every kernel is seen, and a library that has its
# kernels linked in, where that is said.
. "$TACHO_SOURCE_DIR/tests/support/probe_run.sh"
command -v babeltrace2 >/dev/null || skip "no babeltrace2"
python=/usr/bin/python3
export OMP_NUM_THREADS=1 TACHO_TORCH_DIR=

# A sentence each, a mark each, and the program is none the wiser.
record "blas dnn" $python -c "import ctypes
print(ctypes.CDLL('$TACHO_BUILD_DIR/tests/probe/libtorch_cpu.so').static_torch())
ctypes.CDLL(None).getpid()"
grep -q 'no BLAS kernels are recorded for .*libtorch_cpu.so' "$work/said" || fail "BLAS: not said"
grep -q 'no oneDNN kernels are recorded for .*libtorch_cpu.so' "$work/said" || fail "oneDNN: not said"
expect 1 no_kernels 'text = "blas: linked statically into .*libtorch_cpu.so'
expect 1 no_kernels 'text = "dnn: linked statically into .*libtorch_cpu.so'

$python -c 'import torch' 2>/dev/null || { [ $failures = 0 ] && skip "no PyTorch"; finish; }
record "blas dnn" $python -c 'import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                          torch.nn.Linear(8 * 30 * 30, 10))
x = torch.randn(16, 3, 32, 32)
for step in range(3):
    net(x).square().mean().backward()
print([p.grad.sum().item() for p in net.parameters()])'
[ -s "$work/said" ] && fail "something was said: $(cat "$work/said")"
expect 0 no_kernels .
# Linear: forward, gradient of the weight, gradient of the input.
expect 3 sgemm "flops = 2304000.*$(dims 10 16 7200)"
expect 3 sgemm "flops = 2304000.*$(dims 7200 10 16)"
expect 3 sgemm "flops = 2304000.*$(dims 7200 16 10)"
forward=$(grep -cE "convolution forward_training .*flops = 6220800,.*$(dims 16 8 30 30)" "$work/events")
[ "$forward" = 3 ] || fail "$forward instead of 3 forward convolutions"
backward=$(grep -cE 'convolution backward_weights .*flops = 6220800,' "$work/events")
[ "$backward" = 3 ] || fail "$backward instead of 3 gradients of the convolution's weights"
finish
