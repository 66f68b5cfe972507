"""damage_trace.py: what trust says of traces that were damaged on purpose.

    damage_trace.py TACHO made            two ranks, made here: 4 steps of 20 operations, kernels, an all-reduce
    damage_trace.py TACHO FILE...         the Kineto trace of each rank

Prints a line a damage: whether the trust score is below 90, and the kinds of problems."""
import copy
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

OLD = {"Kernel": "kernel", "Memcpy": "gpu_memcpy", "Memset": "gpu_memset", "Runtime": "cuda_runtime",
       "Operator": "cpu_op"}
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def made_rank(rank):
    """Steps of 1 ms: 20 operations of 40 us, each with a launch and a kernel, then an all-reduce."""
    events, correlation = [], 0

    def add(cat, name, thread, begin, length, **args):
        pid = 0 if cat in DEVICE else 1000 + rank
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": thread, "ts": begin,
                       "dur": length, "args": args})

    for step in range(4):
        start = 1000.5 + step * 1000
        add("user_annotation", f"ProfilerStep#{step}", 1000 + rank, start, 999)
        for op in range(20):
            correlation += 1
            at = start + 5 + op * 45
            add("cpu_op", f"aten::op{op}", 1000 + rank, at, 40)
            add("cuda_runtime", "cudaLaunchKernel", 1000 + rank, at + 2, 5, correlation=correlation)
            add("kernel", f"kernel{op}", 7, at + 10, 25, correlation=correlation, device=rank, stream=7)
        correlation += 1
        at = start + 920
        add("cpu_op", "nccl:all_reduce", 1000 + rank, at, 20)
        add("cuda_runtime", "cudaLaunchKernelExC", 1000 + rank, at + 2, 5, correlation=correlation)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, at + 10, 50,
            correlation=correlation, device=rank, stream=20,
            **{"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 2,
               "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})
    return {"schemaVersion": 1, "host_name": "made", "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "traceEvents": events}


def of(trace, *categories):
    """Complete events of these categories, as PyTorch names them now: before 1.12 it wrote "Kernel", "Runtime"."""
    return [e for e in trace["traceEvents"]
            if e.get("ph") == "X" and OLD.get(e.get("cat"), e.get("cat")) in categories]


def drop(trace, events):
    gone = {id(e) for e in events}
    trace["traceEvents"] = [e for e in trace["traceEvents"] if id(e) not in gone]


def regions_cut(traces):
    """Regions were operations before PyTorch 1.12."""
    for trace in traces:
        for e in of(trace, "user_annotation", "cpu_op"):
            if e["cat"] == "user_annotation" or e["name"].startswith("ProfilerStep"):
                e["dur"] /= 100


def kernels_lost(traces):
    for trace in traces:
        drop(trace, of(trace, "kernel")[::10])


def launches_without_kernels(traces):
    for trace in traces:
        kernels = of(trace, "kernel")
        drop(trace, kernels[len(kernels) // 4:len(kernels) // 2])


def calls_lost(traces):
    for trace in traces:
        drop(trace, of(trace, "cuda_runtime")[::3])


def duplicate_ids(traces):
    for trace in traces:
        number = {}
        for e in of(trace, "cuda_runtime"):
            number.setdefault(e["args"].get("correlation"), len(number) // 2)
        for e in of(trace, "cuda_runtime", *DEVICE):
            if e["args"].get("correlation") in number:
                e["args"]["correlation"] = number[e["args"]["correlation"]]


def duplicate_ids_of_late_kernels(traces):
    """Times cannot tell which of two calls with one id was meant, where both come before the kernel."""
    duplicate_ids(traces)
    for trace in traces:
        for e in of(trace, *DEVICE):
            e["ts"] += 100


def device_clock_off(traces):
    for trace in traces:
        for e in of(trace, *DEVICE):
            e["ts"] -= 500


def host_clock_off(traces):
    for e in traces[-1]["traceEvents"]:
        if e.get("ph") == "X":
            e["ts"] += 50000


def ends_before_begins(traces):
    for trace in traces:
        for e in of(trace, "cpu_op")[::5]:
            e["dur"] = -e["dur"]


def rank_missing(traces):
    del traces[1:]


def without_tail(traces):
    for trace in traces:
        trace["cut"] = True


DAMAGES = (None, regions_cut, kernels_lost, launches_without_kernels, calls_lost, duplicate_ids,
           duplicate_ids_of_late_kernels, device_clock_off, host_clock_off, ends_before_begins, rank_missing, without_tail)


def write(path, trace):
    is_cut = trace.pop("cut", False)
    text = json.dumps(trace)
    path.write_text(text[:len(text) // 2] if is_cut else text)


def judge(tacho, damage, traces):
    traces = copy.deepcopy(traces)
    if damage:
        damage(traces)
    with tempfile.TemporaryDirectory() as folder:
        for i, trace in enumerate(traces):
            write(pathlib.Path(folder, f"rank{i}.json"), trace)
        out = subprocess.run([tacho, "info", folder, "--json"], capture_output=True, text=True, check=True).stdout
    trust = json.loads(out)["trust"]
    verdict = "below 90" if trust["score"] < 90 else "90 or more"
    kinds = sorted({p["kind"] for p in trust["problems"]})
    there = "" if trust["present_score"] == trust["score"] else " (100 of what is there)" \
        if trust["present_score"] == 100 else " (less of what is there, too)"
    print(f"{damage.__name__ if damage else 'as it was':30} {verdict:11} {', '.join(kinds)}{there}")


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        return json.load(file, strict=False)


def main(tacho, what, *more):
    traces = [made_rank(0), made_rank(1)] if what == "made" else [read(path) for path in (what, *more)]
    for damage in DAMAGES:
        if len(traces) > 1 or damage not in (rank_missing, host_clock_off):
            judge(tacho, damage, traces)


main(*sys.argv[1:])
