"""standin_trace.py TRUTH TRACE: what the stand-in for a device says that it did, as PyTorch's profiler would have written it."""
import json
import sys

KINDS = {"copy": "gpu_memcpy", "fill": "gpu_memset", "kernel": "kernel"}
WAYS = {13: "Memcpy HtoD (Pageable -> Device)", 14: "Memcpy DtoH (Device -> Pageable)"}

events = []
for line in open(sys.argv[1]):
    kind, stream, start, end, correlation = line.split()
    start, end, stream = int(start), int(end), int(stream)
    ns = end - start
    name = {"kernel": "ampere_sgemm_128x64_nn" if ns == 40000 else "_ZN2at6native11elementwiseIfEEvPT_i", "fill": "Memset (Device)",
            "copy": WAYS.get(stream, "Memcpy")}[kind]
    events.append({"ph": "X", "cat": KINDS[kind], "name": name, "pid": 0, "tid": stream, "ts": start / 1000, "dur": ns / 1000,
                   "args": {"device": 0, "stream": stream, "correlation": int(correlation)}})
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel" if kind == "kernel" else "cudaMemcpyAsync", "pid": 1, "tid": 1,
                   "ts": start / 1000 - 2, "dur": 1, "args": {"correlation": int(correlation)}})
json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": events}, open(sys.argv[2], "w"))
