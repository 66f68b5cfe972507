"""Texts and lines: oneDNN's verbose output, nccl-tests, NCCL's Inspector and profiler."""
import json
import re

from recounts import Recount, read_bytes


def lines_of(path):
    return read_bytes(path).decode("utf-8", "replace").splitlines()


def onednn(path):
    """Rows of executions, all together: the last column is milliseconds."""
    count = Recount()
    for line in lines_of(path):
        cells = line.split(",")
        if cells[0].split("_")[0] not in ("onednn", "dnnl", "mkldnn") or len(cells) < 5:
            continue
        words = [cell.strip() for cell in cells]
        if "exec" in words:
            try:
                count.slice(None, round(float(cells[-1]) * 1e6), "kernel")
            except ValueError:
                count.omit("a row that was cut off")
    return count


def nccl_tests(path):
    """A row of the table is two collectives of every rank, out of place and in place, as long as its means say."""
    count = Recount()
    lines = lines_of(path)
    count.ranks = sum(bool(re.match(r"#\s+Rank\s+\d+", line)) for line in lines)
    number = r"(?:[\d.]+|N/A)"
    row = re.compile(rf"\s+\d+\s+\d+\s+\w+(?:\s+\w+)?(?:\s+-?\d+)?\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+{number}"
                     rf"\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+{number}\s*$")
    for line in lines:
        if found := row.match(line):
            for time_us in found.groups():
                for _ in range(count.ranks):
                    count.slice(None, round(float(time_us) * 1000), "collective")
    return count


def nccl_profiler(path):
    """Calls and proxy operations by type; a collective lasts until its last channel stopped."""
    count = Recount()
    kinds = {"ncclProfileCollApi": "runtime", "ncclProfileP2pApi": "runtime", "ncclProfileKernelLaunch": "runtime"}
    rows = [json.loads(line) for line in lines_of(path) if line.startswith("{")]
    channels, ranks = {}, set()
    for row in rows:
        if row.get("type") == "ncclProfileKernelCh":
            channels.setdefault(row["parentObj"], []).append(row["stop"]["ts"])
    for row in rows:
        if row.get("recordType") != "event":
            continue
        ranks.add(row["rank"])
        length = row["stop"]["ts"] - row["start"]["ts"]
        if row["type"] == "ncclProfileColl":
            end = max(channels.get(row["eventAddr"], [row["stop"]["ts"]]))
            count.slice(row["details"]["func"].lower(), round((end - row["start"]["ts"]) * 1000), "collective")
        elif row["type"] in kinds:
            count.slice(None, round(length * 1000), "runtime")
        elif row["type"] == "ncclProfileKernelCh":
            count.slice(f"channel {row['details']['channel']}", round(length * 1000))
    count.ranks = len(ranks)
    count.rounding_ns = 4  # times are microseconds since the machine was started, to a nanosecond
    return count


def nccl_inspector(path):
    """Records of one collective each."""
    count = Recount()
    text, decoder, at = read_bytes(path).decode("utf-8", "replace"), json.JSONDecoder(), 0
    ranks = set()
    while (at := text.find("{", at)) >= 0:
        try:
            row, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            at += 1
            continue
        performance = row.get("coll_perf")
        if performance:
            count.slice(performance["coll"].lower(), round(performance["coll_exec_time_us"] * 1000), "collective")
            ranks.add((row["header"]["id"], row["header"]["rank"]))
    return count
