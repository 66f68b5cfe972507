# Jobs that nobody could have run to their end, or that did not come to it: refused with the reason, or replayed as far as
# they go, which a note says. All in the form of PyTorch's profiler, two ranks with a device each.
cat >write.py <<'END'
import json
import os


class Rank:
    """A rank's trace, times in microseconds."""

    def __init__(self, job, rank, world=2):
        os.makedirs(job, exist_ok=True)
        self.path = f"{job}/rank{rank}.pt.trace.json"
        self.head = {"schemaVersion": 1, "baseTimeNanoseconds": 1750000000000000000,
                     "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}}
        self.pid, self.n, self.rows = 4000 + rank, 0, []

    def add(self, category, name, begin, end, tid=None, **args):
        self.rows.append({"ph": "X", "cat": category, "name": name, "ts": begin, "dur": end - begin,
                          "pid": self.pid if tid is None else 0,
                          "tid": self.pid if tid is None else tid, "args": args})

    def step(self, number, begin, end):
        self.add("user_annotation", f"ProfilerStep#{number}", begin, end)

    def kernel(self, name, begin, end, launched, **args):
        self.n += 1
        self.add("cuda_runtime", "cudaLaunchKernel", launched, launched + 1, correlation=self.n)
        self.add("kernel", name, begin, end, 7, device=0, stream=7, correlation=self.n, **args)

    def reduce(self, elements, begin, end, launched):
        self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                    begin, end, launched, **{
                        "Collective name": "allreduce", "In msg nelems": elements,
                        "Out msg nelems": elements, "Group size": 2, "dtype": "Float",
                        "Process Group Name": "0"})

    def pass_on(self, way, peer, begin, end, launched):
        side = "Dst Rank" if way == "send" else "Src Rank"
        self.kernel("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", begin, end,
                    launched, **{
                        "Collective name": way, "In msg nelems": 8, "Out msg nelems": 8,
                        "Group size": 2, "dtype": "Float", "Process Group Name": "0",
                        side: peer})

    def wait(self, begin, end):
        self.add("cuda_runtime", "cudaDeviceSynchronize", begin, end, correlation=0)

    def write(self, n_bytes=None):
        text = json.dumps({**self.head, "traceEvents": self.rows})
        open(self.path, "w").write(text[:n_bytes])


# Each has come first to what the other comes to second; the times are just possible.
for rank in range(2):
    trace = Rank("opposite", rank)
    trace.step(1, 0, 100)
    trace.reduce(64 << rank, 10, 20, 2)
    trace.reduce(64 << (1 - rank), 20, 30, 4)
    trace.wait(6, 40)
    trace.write()

# Both send before they receive, and a send waits for its receive.
for rank in range(2):
    trace = Rank("deadlock", rank)
    trace.step(1, 0, 100)
    trace.pass_on("send", 1 - rank, 10, 20, 2)
    trace.pass_on("recv", 1 - rank, 20, 30, 4)
    trace.wait(6, 40)
    trace.write()

# The second rank does not take part in the second all-reduce.
for rank in range(2):
    trace = Rank("lacking", rank)
    trace.step(1, 0, 100)
    trace.reduce(64, 10 + rank, 20, 2)
    if rank == 0:
        trace.reduce(64, 30, 60, 4)
    trace.wait(6, 70)
    trace.write()

# A send that nobody received.
for rank in range(2):
    trace = Rank("unreceived", rank)
    trace.step(1, 0, 100)
    trace.reduce(64, 10 + rank, 20, 2)
    if rank == 0:
        trace.pass_on("send", 1, 30, 60, 4)
    trace.wait(6, 70)
    trace.write()

# The second rank died in its second step: the file is cut off, or nothing more is in it.
for job in "died", "cut":
    for rank in range(2):
        trace = Rank(job, rank)
        for step in range(2 if rank == 0 or job == "cut" else 1):
            trace.step(step + 1, 100 * step, 100 * step + 100)
            trace.reduce(64, 100 * step + 10 + rank, 100 * step + 20, 100 * step + 2)
            trace.wait(100 * step + 6, 100 * step + 30)
        trace.write(None if rank == 0 or job == "died" else -500)

# Only one of two was recorded at all.
trace = Rank("alone", 0)
trace.step(1, 0, 100)
trace.reduce(64, 10, 20, 2)
trace.wait(6, 30)
trace.write()

# The second died in the only step.
for rank in range(2):
    trace = Rank("never", rank)
    if rank == 0:
        trace.step(1, 0, 100)
    trace.reduce(64, 10 + rank, 20, 2)
    trace.write()
END
python3 write.py
for job in opposite deadlock lacking unreceived died cut alone never; do
	"$TACHO" replay "$job" --json >"$job.answer" 2>"$job.refused"
	"$TACHO" info "$job" --json >"$job.info" 2>/dev/null
done
python3 - <<'END'
import json

for job in "opposite", "deadlock", "lacking", "unreceived", "died", "cut", "alone", "never":
    print("==", job)
    for line in open(job + ".refused"):
        print("refused:", line.strip())
    text = open(job + ".answer").read()
    if text:
        answer = json.loads(text)
        print(f"{answer['baseline_step_ms']:g} of {answer['measured_step_ms']:g} ms")
        print(*answer["notes"], sep="\n")
    for problem in json.load(open(job + ".info"))["trust"]["problems"]:
        print(f"{problem['kind']}: {problem['where']}")
END
