# Names of kernels are short in text, and different ones stay different, however narrow it is; JSON has them whole.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/trace.json" <<'EOF'
{"schemaVersion": 1, "traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 100, "dur": 900},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 110, "dur": 5, "args": {"correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 120, "dur": 5, "args": {"correlation": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 130, "dur": 5, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 140, "dur": 5, "args": {"correlation": 4}},
{"ph": "X", "cat": "kernel", "name": "void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)", "pid": 0, "tid": 7, "ts": 200, "dur": 50, "args": {"device": 0, "stream": 7, "correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "void at::native::elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>, at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<c10::Half>)", "pid": 0, "tid": 7, "ts": 300, "dur": 40, "args": {"device": 0, "stream": 7, "correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "void (anonymous namespace)::softmax_warp_forward<float, 5>(float*, int)", "pid": 0, "tid": 7, "ts": 400, "dur": 30, "args": {"device": 0, "stream": 7, "correlation": 3}},
{"ph": "X", "cat": "kernel", "name": "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_tn", "pid": 0, "tid": 7, "ts": 500, "dur": 20, "args": {"device": 0, "stream": 7, "correlation": 4}}
]}
EOF
cd "$dir" || exit 1
show() { "$TACHO" report trace.json --view kernel "$@" | sed -n '/^kernel  /,/^No steps/p' | grep -v '^No steps'; }
show
COLUMNS=60 show
show --width 44
COLUMNS=60 show --wide --limit 1
COLUMNS=wide show --width 0 --limit 1
"$TACHO" report trace.json --view kernel --json | grep -o '"name":"[^"]*"'
"$TACHO" report trace.json --width -1 || echo "exit $?"
