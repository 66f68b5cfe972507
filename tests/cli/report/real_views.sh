# Views of what devices do, on traces that others recorded: figures counted from the files by other means, in plain Python.
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data
[ -d "$data/kineto/tracelens" ] && [ -d "$data/kineto/hta" ] && [ -d "$data/xplane/tracelens" ] || exit 77
/usr/bin/python3 - "$TACHO" "$data" <<'PYTHON'
import bisect, collections, csv, decimal, gzip, json, math, struct, subprocess, sys

tacho, data = sys.argv[1:3]


def report(trace, view, *options):
    whole = [] if view in ("bins", "memory_layers") else ["--steps", "all"]
    out = subprocess.run([tacho, "report", trace, "--view", view, *whole, "--json", *options],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def compare(what, ours, theirs):
    """Rows by key, each a dictionary of figures."""
    wrong = [key for key in ours.keys() | theirs.keys()
             if key not in ours or key not in theirs or any(
                 (ours[key][name] is None) != (value is None)
                 or value is not None and not math.isclose(ours[key][name], value, rel_tol=1e-9, abs_tol=1e-9)
                 for name, value in theirs[key].items())]
    print(what, len(theirs) > 0 and "has rows,", "all agree" if not wrong else f"{len(wrong)} of {len(theirs)} differ")
    for key in wrong[:3]:
        print("  ", key, "tacho:", ours.get(key), "here:", theirs.get(key))


# --- Kineto: before, in and after the device ---------------------------------------------------------

WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver", "hip_runtime"}
COPIES_THAT_WAIT = {"cudaMemcpy", "hipMemcpy", "cudaMemcpy2D", "hipMemcpy2D", "hipMemcpyWithStream"}


def kineto(name):
    with gzip.open(name) as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    for event in events:
        if event.get("ph") == "X":
            event["begin"] = round(decimal.Decimal(event["ts"]) * 1000)
            event["end"] = event["begin"] + round(decimal.Decimal(event["dur"]) * 1000)
    return [event for event in events if event.get("ph") == "X"]


def mean(values):
    return sum(values) / len(values) / 1000 if values else None


def launches(events):
    calls = {event["args"]["correlation"]: event for event in events if event.get("cat") in CALLS}
    work = [event for event in events if event.get("cat") in WORK and event["args"].get("correlation") in calls]
    n_of = collections.Counter(event["args"]["correlation"] for event in work)
    ends, waits = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        if event.get("cat") not in CALLS:
            continue
        thread = event["pid"], event["tid"]
        is_wait = "Synchronize" in event["name"] or event["name"] in COPIES_THAT_WAIT
        if is_wait:
            waits[thread].append(event["end"])
        if is_wait or n_of[event["args"]["correlation"]]:
            ends[thread].append(event["end"])
    for moments in list(ends.values()) + list(waits.values()):
        moments.sort()
    rows = collections.defaultdict(lambda: collections.defaultdict(list))
    for event in work:
        call, row = calls[event["args"]["correlation"]], rows[event["name"]]
        thread, n = (call["pid"], call["tid"]), n_of[event["args"]["correlation"]]
        before = bisect.bisect_right(ends[thread], call["begin"])
        seen = bisect.bisect_left(waits[thread], event["end"])
        row["device"].append(event["end"] - event["begin"])
        row["call"].append((call["end"] - call["begin"]) / n)
        row["delay"].append(max(event["begin"] - call["end"], 0))
        if before:
            row["before"].append((call["begin"] - ends[thread][before - 1]) / n)
        if seen < len(waits[thread]):
            row["seen"].append(waits[thread][seen] - event["end"])
    return {name: {"count": len(row["device"]), "before_mean_us": mean(row["before"]), "call_mean_us": mean(row["call"]),
                   "delay_mean_us": mean(row["delay"]), "mean_us": mean(row["device"]), "seen_mean_us": mean(row["seen"])}
            for name, row in rows.items()}


for name in ("tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
             "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"):
    trace = f"{data}/kineto/{name}"
    compare("launch " + name.split("/")[1], {row["name"]: row for row in report(trace, "launch")}, launches(kineto(trace)))

# --- Kineto: counters of kernels ---------------------------------------------------------------------

trace = f"{data}/kineto/hta/cupti_profiler/benchmark_result_924719_1679055439_trace.json.gz"
events = kineto(trace)
ranges = sorted((event for event in events if event["cat"] == "cuda_profiler_range"), key=lambda event: event["begin"])
calls = sorted((event for event in events if event["name"] == "cudaLaunchKernel"), key=lambda event: event["begin"])
ops = [event for event in events if event["cat"] == "cpu_op"]
rows = collections.defaultdict(list)
for kernel, call in zip(ranges, calls, strict=True):
    around = [op for op in ops if (op["pid"], op["tid"]) == (call["pid"], call["tid"])
              and op["begin"] <= call["begin"] and op["end"] >= call["end"]]
    inner = min(around, key=lambda op: (op["end"] - op["begin"], -op["begin"]))["name"] if around else None
    for counter, value in kernel["args"].items():
        rows[kernel["name"], inner, counter].append(float(value))
compare("kernel_counters cupti_profiler",
        {(row["name"], row["op"], row["counter"]): row for row in report(trace, "kernel_counters")},
        {key: {"count": len(values), "total": sum(values), "min": min(values), "max": max(values)}
         for key, values in rows.items()})
# Holistic Trace Analysis' own test says so of the sixth range
print(next((row["op"], row["stack"].split(" > ")[-4:], row["max"]) for row in report(trace, "kernel_counters", "--name", "fft2d_r2c_32x32<float, false, 5u")
           if row["counter"] == "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"))

# --- Kineto: memory ----------------------------------------------------------------------------------


def memory(name):
    with gzip.open(name) as file:
        events = json.load(file, parse_float=decimal.Decimal)["traceEvents"]
    events = [event for event in events if event.get("name") == "[memory]"]
    open_blocks, blocks = collections.defaultdict(list), collections.defaultdict(list)
    for event in sorted(events, key=lambda event: round(decimal.Decimal(event["ts"]) * 1000)):
        told, time = event["args"], round(decimal.Decimal(event["ts"]) * 1000)
        place = f"gpu {told['Device Id']}" if told.get("Device Type", 0) > 0 else "host"
        size = int(told["Bytes"])
        # the last of that size, where there are no addresses
        same = open_blocks[told["Addr"] if told.get("Addr") else (place, abs(size))]
        if same and (told.get("Addr") or size < 0):
            same.pop()[1] = time
        if size > 0:
            block = [time, None, size]
            same.append(block)
            blocks[place].append(block)
    rows = {}
    for place, own in blocks.items():
        changes = [(begin, size) for begin, _, size in own] + [(end, -size) for _, end, size in own if end is not None]
        held = most = 0
        for _, size in sorted(changes):
            held += size
            most = max(most, held)
        rows[place] = {"count": len(own), "allocated_bytes": sum(size for _, _, size in own), "memory_peak_bytes": most, "kept_bytes": held}
    return rows


for name in ("resnet50_num_workers_4/worker0.1623212756351", "resnet50_num_workers_0/worker0.1623143089861"):
    trace = f"{data}/kineto/kineto/samples/{name}.pt.trace.json.gz"
    rows = {}
    for row in report(trace, "memory"):
        sums = rows.setdefault(row["memory"], {"count": 0, "allocated_bytes": 0, "kept_bytes": 0})
        sums["memory_peak_bytes"] = row["memory_peak_bytes"]
        for figure in ("count", "allocated_bytes", "kept_bytes"):
            sums[figure] += row[figure]
    compare("memory " + name.split("/")[0], rows, memory(trace))

# --- rocprofv3: memory of the driver -----------------------------------------------------------------

trace = f"{data}/rocprof/hip_course/v3"
held, rows = {}, {}
for row in sorted(csv.DictReader(open(trace + "/output_memory_allocation_trace.csv")), key=lambda row: int(row["End_Timestamp"])):
    if row["Operation"].endswith("FREE"):
        place, size = held.pop(row["Address"])
        rows[place]["last_bytes"] -= size
        continue
    place, size = "host" if row["Agent_Id"] == "0" else "gpu 0", int(row["Allocation_Size"])
    held[row["Address"]] = place, size
    sums = rows.setdefault(place, {"count": 0, "peak_bytes": 0, "last_bytes": 0})
    sums["count"] += 1
    sums["last_bytes"] += size
    sums["peak_bytes"] = max(sums["peak_bytes"], sums["last_bytes"])
compare("memory_layers rocprofv3", {row["memory"]: row for row in report(trace, "memory_layers") if row["layer"] == "driver"}, rows)

# --- XSpace: an allocator's chunks by size -----------------------------------------------------------


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<d", message, at)[0]
            at += 8
        else:
            n = varint()
            yield key >> 3, message[at:at + n]
            at += n


def one(message, number, default=None):
    return next((value for field, value in fields(message) if field == number), default)


def chunks(name):
    """By allocator and bin: what is in use at the end, and the most bytes that were."""
    events = []
    for field, plane in fields(open(name, "rb").read()):
        if field != 1:
            continue
        names = {one(entry, 1): one(one(entry, 2), 2, b"") for number, entry in fields(plane) if number == 4}
        stats = {one(entry, 1): one(one(entry, 2), 2, b"").decode() for number, entry in fields(plane) if number == 5}
        for number, line in fields(plane):
            if number != 3:
                continue
            base = one(line, 3, 0)
            for inner, event in fields(line):
                kind = names.get(one(event, 1)) if inner == 4 else None
                if kind not in (b"MemoryAllocation", b"MemoryDeallocation"):
                    continue
                told = {}
                for number_2, stat in fields(event):
                    if number_2 == 4:
                        value = [value for field_2, value in fields(stat) if field_2 != 1][0]
                        is_name = any(field_2 == 7 for field_2, _ in fields(stat))
                        told[stats[one(stat, 1)]] = stats[value] if is_name else value.decode() if isinstance(value, bytes) else value
                events.append((base * 1000 + one(event, 2, 0), kind == b"MemoryAllocation", told))
    held, now, most = {}, collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(int)
    for _, is_allocation, told in sorted(events, key=lambda event: event[0] // 1000):
        allocator, address = told["allocator_name"], told["addr"]
        steps = [(held.pop((allocator, address), None), -1), (told if is_allocation else None, 1)]
        for chunk, sign in steps:
            if chunk is None:
                continue
            size = int(chunk["allocation_bytes"])
            number = min(max(size.bit_length() - 9, 0), 20)
            for key in ((allocator, number), (allocator, None)):
                for i, amount in enumerate((1, size, int(chunk["requested_bytes"]))):
                    now[key][i] += sign * amount
                most[key] = max(most[key], now[key][1])
        if is_allocation:
            held[allocator, address] = told
    return {key: {"used_chunks": n, "used_bytes": size, "rounding_bytes": size - requested, "most_used_bytes": most[key]}
            for key, (n, size, requested) in now.items()}


for name in ("jax_conv_minimal_08", "jax_te_fused_attn"):
    trace = f"{data}/xplane/tracelens/{name}.xplane.pb"
    compare("bins " + name, {(row["allocator"], row["bin"]): row for row in report(trace, "bins")}, chunks(trace))
PYTHON
