"""Chrome trace events: PyTorch's profiler, TensorFlow's and Horovod's timelines, rocprof, TAU, the Intercept Layer."""
import decimal
import json
import re

from recounts import Recount, read_bytes, read_json, read_open_array

# docs/formats.md, kineto: what each category becomes
KINETO_KINDS = {
    "cpu_op": "op", "user_annotation": "annotation", "gpu_user_annotation": "annotation",
    "cuda_runtime": "runtime", "cuda_driver": "runtime", "runtime": "runtime", "hip_runtime": "runtime", "mtia_runtime": "runtime",
    "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset",
    "cuda_sync": "sync", "python_function": "function",
}

DEVICE_WORK = ("kernel", "mtia_ccp_events", "gpu_memcpy", "memcpy", "gpu_memset", "memset")


def nanoseconds(microseconds):
    """Exact, halves up: 0.0005 us is half a nanosecond."""
    return int((decimal.Decimal(str(microseconds)) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


def events_of(document):
    return document["traceEvents"] if isinstance(document, dict) else document


def kineto(path):
    """Complete events by kind and name; steps by the numbers of ProfilerStep#N; memory events."""
    count = Recount()
    steps, calls, device_work = set(), set(), []
    allocations, handed_out = 0, 0
    # floats would lose digits of a time of day in microseconds
    text = read_bytes(path).decode("utf-8", "replace")
    document = json.loads(text, strict=False, parse_float=decimal.Decimal)
    for event in events_of(document):
        if not isinstance(event, dict):
            continue
        phase, name = event.get("ph"), event.get("name")
        if phase == "X" and "ts" in event:
            duration = event.get("dur")
            length = nanoseconds(duration) if isinstance(duration, (int, decimal.Decimal)) and duration > 0 else 0
            category = str(event.get("cat", "")).lower()
            kind = KINETO_KINDS.get(category)
            if kind == "function" and str(name).startswith("nn.Module: "):
                kind = "module"
            if kind in ("op", "annotation") and re.match("(gloo|mpi|ucc):", str(name)):
                kind = "collective"
            if category == "kernel":
                is_collective = "Collective name" in event.get("args", {}) or re.match("n?r?ccl", str(name))
                kind = None if is_collective else "kernel"
            count.slice(str(name), length)
            if kind:
                count.slice(str(name), length, kind)
            correlation = event.get("args", {}).get("correlation")
            if kind == "runtime":
                calls.add(correlation)
            elif category in DEVICE_WORK:
                device_work.append(correlation)
            if str(name).startswith("ProfilerStep#") and category != "gpu_user_annotation":
                steps.add(str(name))
        elif phase in ("i", "I", "R") and name == "[memory]" and "Bytes" in event.get("args", {}):
            allocations += 1
            handed_out += max(int(event["args"]["Bytes"]), 0)
    count.steps = len(steps) if steps else None
    count.launches = sum(correlation is not None and correlation in calls for correlation in device_work)
    count.memory = (allocations, handed_out)
    count.ranks = 1
    return count


def tf_timeline(path):
    """Runs of nodes by name; what a stream did is called by its type, and told again by `stream:all` and `memcpy`."""
    count = Recount()
    events = events_of(read_json(path))
    lanes = {e["pid"]: e["args"]["name"] for e in events if e.get("ph") == "M" and e.get("name") == "process_name"}
    for event in events:
        lane = lanes.get(event.get("pid"), "")
        if event.get("ph") == "X" and lane.endswith(" Compute"):
            is_stream = "/stream:" in lane or lane.endswith("memcpy Compute")
            # a run takes a microsecond at least (tfprof's rule)
            duration = max(event["dur"], 1) * 1000
            count.slice(event["name"] if is_stream else event["args"]["name"], duration)
    count.ranks = 1
    count.steps = 1
    return count


def paired(events, count, kind_of=lambda event: None, name_of=lambda event: event.get("name")):
    """Begins and ends of each thread, the last begun ended first."""
    open_slices = {}
    for event in events:
        thread = (str(event.get("pid")), str(event.get("tid")))
        if event.get("ph") == "B":
            open_slices.setdefault(thread, []).append(event)
        elif event.get("ph") == "E" and open_slices.get(thread):
            begun = open_slices[thread].pop()
            length = nanoseconds(event["ts"]) - nanoseconds(begun["ts"])
            count.slice(name_of(begun), length, kind_of(begun))


def horovod(path):
    """Stages of tensors, by the name of the stage; collectives are the outermost stages without NEGOTIATE_."""
    count = Recount()
    collectives = re.compile("^(NCCL_|MPI_|GLOO_)?(ALLREDUCE|ADASUM|ALLGATHER|BROADCAST|ALLTOALL|REDUCESCATTER|BARRIER)$")
    open_slices = {}
    for event in read_open_array(path):
        thread = (str(event.get("pid")), str(event.get("tid")))
        if event.get("ph") == "B":
            open_slices.setdefault(thread, []).append(event)
        elif event.get("ph") == "E" and open_slices.get(thread):
            begun = open_slices[thread].pop()
            length = nanoseconds(event["ts"]) - nanoseconds(begun["ts"])
            name = begun["name"]
            is_wait = name.startswith(("NEGOTIATE_", "WAIT_FOR_")) or name in ("QUEUE", "SCHEDULE")
            count.slice(name, length, "wait" if is_wait else "event")
            around = [e["name"] for e in open_slices[thread]]
            found = collectives.match(name)
            if found and not any(collectives.match(n) for n in around):
                count.slice(found[2].lower(), length, "collective")
    count.ranks = 1
    return count


def clintercept(path):
    """Commands of devices, called as they are."""
    count = Recount()
    for event in events_of(read_open_array(path)):
        if event.get("ph") == "X":
            count.slice(event["name"], nanoseconds(event["dur"]))
    return count


def tau(path):
    """Pairs of begin and end; of a declaration of a C function only its name counts."""
    def name_of(event):
        name = event["name"].strip()
        declared = re.match(r"^[\w \*]+?[ *](\w+)\(.*\) C$", name)
        return declared[1] if declared else name

    count = Recount()
    rows = [row for row in read_open_array(path) if row.get("ph") in ("B", "E")]
    for row in rows:
        row["ts"] = decimal.Decimal(row["ts"])
    paired(rows, count, name_of=name_of)
    return count


def rocm_name(name):
    """The names that tacho gives what AMD's profilers call in several ways."""
    name = name.removesuffix(" [clone .kd]").removesuffix(".kd")
    copy = re.match("(?:MEMORY_COPY|Copy)_?(Host|Device)_?To_?(Host|Device)$", name, re.IGNORECASE)
    return f"Memcpy {copy[1][0].upper()}to{copy[2][0].upper()}" if copy else name


def rocprof(path):
    """rocprof (v1): BeginNs and EndNs are exact where `ts` and `dur` are cut to microseconds."""
    count = Recount()
    events = events_of(read_json(path))
    lanes = {e["pid"]: e["args"]["name"] for e in events if e.get("ph") == "M" and e.get("name") == "process_name"}
    for event in events:
        if event.get("ph") != "X":
            continue
        lane = lanes.get(event["pid"], "")
        kind = ("runtime" if lane.endswith(" API") else "memcpy" if lane.endswith("COPY")
                else "kernel" if re.search(r"GPU\d", lane) else None)
        length = int(event["args"]["EndNs"]) - int(event["args"]["BeginNs"])
        count.slice(rocm_name(event["name"]), length, kind)
    return count


def rocprofv3(path):
    """rocprofv3's JSON: dispatches by the kernel's name, copies, calls, markers."""
    count = Recount()
    for tool in read_json(path)["rocprofiler-sdk-tool"]:
        symbols = {s["kernel_id"]: s.get("formatted_kernel_name") or s["kernel_name"] for s in tool["kernel_symbols"]}
        for record in tool["buffer_records"].get("kernel_dispatch", []):
            name = symbols[record["dispatch_info"]["kernel_id"]].removesuffix(".kd")
            kind = "collective" if name.startswith("nccl") else "kernel"
            count.slice(name, record["end_timestamp"] - record["start_timestamp"], kind)
    return count


def byteps_comm(path):
    """`total` is a gradient's push and pull; a number is a partition, whose stage ends the name."""
    count = Recount()
    for event in events_of(read_json(path)):
        if event.get("ph") == "X":
            length = nanoseconds(event["dur"])
            if event["tid"] == "total":
                count.slice("pushpull", length, "collective")
            else:
                count.slice(event["name"].rsplit(".", 1)[1], length)
    return count


def byteps_server(path):
    """Pushes and pulls by sender; the last pull never ended."""
    count = Recount()
    paired(read_open_array(path), count)
    return count


def kineto_waits(folder):
    """Ranks' files of one job on one clock: each rank's time in collective kernels until the last rank had begun.
    The n-th collective kernel of a stream is the same collective on every rank."""
    count = Recount()
    begins = {}
    for path in sorted(folder.glob("*.json*")):
        document = json.loads(read_bytes(path).decode("utf-8", "replace"), strict=False, parse_float=decimal.Decimal)
        rank = document["distributedInfo"]["rank"]
        found = [(event["tid"], nanoseconds(event["ts"])) for event in document["traceEvents"]
                 if event.get("ph") == "X" and event.get("cat") == "kernel" and str(event["name"]).startswith("nccl")]
        begins[rank] = sorted(found)
    assert len({len(rows) for rows in begins.values()}) == 1, "ranks took part in different numbers of collectives"
    count.waits = dict.fromkeys(begins, 0)
    for members in zip(*(begins[rank] for rank in begins)):
        last = max(begin for _, begin in members)
        for rank, (_, begin) in zip(begins, members):
            count.waits[rank] += last - begin
    count.ranks = len(begins)
    return count
