#!/usr/bin/env bash
# The BLAS probe: kernels with their sizes, results untouched, each call recorded once.
. "$TACHO_SOURCE_DIR/tests/support/probe_run.sh"
command -v babeltrace2 >/dev/null || skip "no babeltrace2"
[ -x "$TACHO_BUILD_DIR/tests/blas_calls" ] || skip "no BLAS to test with"
export OPENBLAS_NUM_THREADS=1

record blas "$TACHO_BUILD_DIR/tests/blas_calls"
expect 2 sgemm "flops = 196608, bytes = 26624, dtype = 7.*$(dims 64 48 32)"
expect 1 sgemm 'text = "NT"'
expect 1 sgemm 'text = "row NN"'
expect 1 zgemm "flops = 786432, bytes = 106496, dtype = 11.*$(dims 64 48 32).*col NN"
expect 1 dgemv "flops = 8192, bytes = 33792, dtype = 8.*$(dims 64 64).*col T"
expect 1 dtrsm "flops = 4096.*$(dims 64 1).*row LUNN"
expect 0 sgemm 'duration = 18446744073709551615'
expect 1 blas 'picoseconds = [1-9][0-9]*, event_kind = 4'
[ "$(grep -c flops "$work/events")" = 5 ] || fail "other kernels than the five were recorded"

# NumPy loads its BLAS into a scope of its own.
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	record blas /usr/bin/python3 -c 'import numpy
a = numpy.arange(15 * 20, dtype="d").reshape(15, 20); b = a.T.copy()
print(a.dot(b).sum(), a.dot(b[:, 0]).sum(), numpy.linalg.inv(a.dot(b) + 1000 * numpy.eye(15)).sum())'
	expect 2 dgemm "flops = 9000.*$(dims 15 15 20)"
	expect 1 dgemv "flops = 600.*$(dims 15 20)"
fi
finish
