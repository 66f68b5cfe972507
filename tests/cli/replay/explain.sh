# Where a prediction comes from: of a recording of hosts, and of a made-up job whose parts can be added up by hand.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
explain() { sed -n '/^Where/,/^$/p'; }
"$TACHO" replay "$run" --explain | explain
"$TACHO" replay "$run" --explain --what-if straggler:1=1.5 --what-if bandwidth=0.1x | explain
"$TACHO" replay "$run" --explain --what-if ranks=64 --width 60 | explain
"$TACHO" replay "$run" --json | grep -c explanation

# Two ranks with a device each: two kernels of 300 us, two all-reduces of 1 and 2 MB that take 20 us and 80 us a MB. The host
# launches them in the first 20 us, and waits; its own work takes another 120 us.
cat >write.py <<'PYTHON'
import json
for rank in range(2):
    rows, n = [], 0
    def add(category, name, begin, end, thread, **args):
        rows.append(dict(ph="X", cat=category, name=name, ts=begin, dur=end - begin, pid=thread if thread > 1000 else 0, tid=thread, args=args))
    def launch(name, begin, end, at, **args):
        global n
        n += 1
        add("cuda_runtime", "cudaLaunchKernel", at, at + 5, 4000 + rank, correlation=n)
        add("kernel", name, begin, end, 7, device=0, stream=7, correlation=n, **args)
    def reduce(n_bytes, begin, end, at):
        launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin, end, at, **{
            "Collective name": "allreduce", "In msg nelems": n_bytes // 4, "Out msg nelems": n_bytes // 4, "Group size": 2,
            "dtype": "Float", "Process Group Name": "0"})
    for step in range(3):
        at = 1030 * step
        add("user_annotation", f"ProfilerStep#{step}", at, at + 1030, 4000 + rank)
        launch("gemm", at + 10, at + 310, at)
        reduce(1000000, at + 310, at + 410, at + 5)
        launch("gemm", at + 410, at + 710, at + 10)
        reduce(2000000, at + 710, at + 890, at + 15)
        add("cuda_runtime", "cudaDeviceSynchronize", at + 20, at + 890, 4000 + rank)
        add("cpu_op", "optimizer", at + 910, at + 1030, 4000 + rank)
    json.dump(dict(schemaVersion=1, baseTimeNanoseconds=1750000000000000000, traceEvents=rows,
                   distributedInfo=dict(backend="nccl", rank=rank, world_size=2)),
              open(f"made_up_{rank}.pt.trace.json", "w"))
PYTHON
python3 write.py
for change in scale:kernel~gemm=1 bandwidth=2x scale:kernel~gemm=0.5 latency=+10us; do
	echo "$change"
	"$TACHO" replay made_up_*.json --explain --what-if "$change" | explain
	"$TACHO" replay made_up_*.json --explain --what-if "$change" --json >answer.json
	python3 - <<'PYTHON'
import json
answer = json.load(open("answer.json"))
whole, *parts = answer["explanation"]
def near(a, b):
    return abs(a - b) < 1e-9
print(*whole)
print("adds up:", near(whole["after_ms"], answer["predicted_step_ms"]), near(whole["before_ms"], answer["unrecorded_step_ms"]),
      all(near(whole[key], sum(part[key] for part in parts)) for key in whole if key.endswith("_ms")),
      all(near(row[key + "_ms"], sum(row[f"{prefix}{origin}_ms"] for origin in ("measured", "scaled", "modelled", "guessed")))
          for row in answer["explanation"] for key, prefix in (("after", ""), ("before", "before_"))))
PYTHON
done
