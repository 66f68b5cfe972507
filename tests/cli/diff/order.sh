# Whether two runs did the same in the same order: 0 where they did, 1 where not, and the first difference is named.
python3 - <<'END'
import json

# Two steps, each: the main thread asks for gemm and relu; they run on stream 7, a copy beside them on stream 20.
def run(name, kernels, n_steps=2, copies=1):
    events = []
    def add(cat, name, ts, dur, tid, pid=1, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args})
    for step in range(n_steps):
        at = 1000 * step + 1
        add("user_annotation", f"ProfilerStep#{step}", at, 900, 1)
        for i, kernel in enumerate(kernels[step]):
            add("cpu_op", f"aten::{kernel}", at + 10 + 100 * i, 50, 1)
            add("cuda_runtime", "cudaLaunchKernel", at + 20 + 100 * i, 5, 1, correlation=10 * step + i)
            add("kernel", kernel, at + 30 + 100 * i, 60, 7, 0, device=0, stream=7, correlation=10 * step + i)
        for i in range(copies):
            add("gpu_memcpy", "Memcpy HtoD", at + 300 + 20 * i, 10, 20, 0, device=0, stream=20, bytes=64)
    json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A100"}], "traceEvents": events},
              open(name + ".pt.trace.json", "w"))

run("base", [["gemm", "relu"]] * 2)
run("again", [["gemm", "relu"]] * 2)
run("swapped", [["gemm", "relu"], ["relu", "gemm"]])
run("copies", [["gemm", "relu"]] * 2, copies=2)
run("longer", [["gemm", "relu"]] * 3, 3)
END
try() { "$TACHO" diff "$@" --order; echo "exit $?"; }
try base.pt.trace.json again.pt.trace.json
try base.pt.trace.json swapped.pt.trace.json
try base.pt.trace.json copies.pt.trace.json --limit 1
# what one has more steps of is not compared
try base.pt.trace.json longer.pt.trace.json --steps 0:5 --name 'gemm$'
try base.pt.trace.json again.pt.trace.json swapped.pt.trace.json --json
try base.pt.trace.json again.pt.trace.json --view op
try base.pt.trace.json
try base.pt.trace.json again.pt.trace.json --rank 3
try base.pt.trace.json again.pt.trace.json --name nothing
