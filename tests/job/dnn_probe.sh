#!/usr/bin/env bash
# The oneDNN probe: primitives with their tensors, results untouched.
. "$TACHO_SOURCE_DIR/tests/support/probe_run.sh"
command -v babeltrace2 >/dev/null || skip "no babeltrace2"
[ -x "$TACHO_BUILD_DIR/tests/dnn_calls" ] || skip "no oneDNN of version 2 to test with"
export OMP_NUM_THREADS=1

record dnn "$TACHO_BUILD_DIR/tests/dnn_calls"
grep -F 'flops' "$work/events" | sed 's/^[^)]*) *[^ ]* //' >"$work/kernels"
grep -cF 'convolution forward_inference' "$work/kernels" | grep -qx 1 || fail "one convolution"
grep -qE "^convolution.*flops = 294912, bytes = 21504,.*$(dims 2 8 8 8).*src:f32:2x16x10x10 wei:f32:8x16x3x3" \
	"$work/kernels" || fail "the convolution's sizes"
[ "$(grep -cE "^matmul.*flops = 240000, bytes = 52000,.*$(dims 5 20 40)" "$work/kernels")" = 2 ] ||
	fail "two products with their sizes"
[ "$(wc -l <"$work/kernels")" = 3 ] || fail "other kernels than the three were recorded"
# what a kernel costs, once for each of the two
expect 2 dnn 'picoseconds = [1-9][0-9]*, event_kind = 4, event_class = [1-9]'
finish
