"""Execution traces in JSON and memory snapshots."""
import io
import json
import pickle

from recounts import Recount, read_bytes, read_json


def pytorch_et(path):
    """Operations by name; they have an order and no times. A collective that an operation asks for is one more."""
    count = Recount()
    for node in read_json(path)["nodes"]:
        name = node["name"]
        if not name.startswith("[pytorch|profiler|execution_"):
            count.slice(name, None)
    count.ranks = 1
    return count


def chakra_json(path):
    """Nodes of both JSON forms: one document with a `workload_graph`, or documents one behind the other."""
    count = Recount()
    text, decoder, at = read_bytes(path).decode(), json.JSONDecoder(), 0
    documents = []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        document, at = decoder.raw_decode(text, at)
        documents.append(document)
    nodes = documents[0]["workload_graph"] if "workload_graph" in documents[0] else documents[1:]
    for node in nodes:
        micros = node.get("durationMicros", node.get("runtime", 0))
        name = node.get("name", node.get("Name", ""))
        count.slice(name, None if "workload_graph" in documents[0] else int(micros) * 1000)
    count.ranks = 1
    return count


class PlainUnpickler(pickle.Unpickler):
    """Plain values only: whatever names a class or function ends the reading."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def memory_snapshot(path):
    """Allocations and completed frees that the allocator recorded, and what was held before the first of them: blocks
    that are freed without having been handed out, and those in use at the end that were not handed out either."""
    count = Recount()
    events, handed_out = 0, 0
    snapshot = PlainUnpickler(io.BytesIO(read_bytes(path))).load()
    for device, trace in enumerate(snapshot["device_traces"]):
        live = set()
        for entry in trace:
            if entry["action"] == "alloc":
                events += 1
                handed_out += entry["size"]
                live.add(entry["addr"])
            elif entry["action"] == "free_completed":
                events += 1
                if entry["addr"] not in live:
                    events += 1  # handed out before the first entry
                    handed_out += entry["size"]
                live.discard(entry["addr"])
        for segment in snapshot["segments"]:
            for block in segment["blocks"]:
                if segment["device"] == device and block["state"].startswith("active") and block["address"] not in live:
                    events += 1
                    handed_out += block["size"]
    count.memory = (events, handed_out)
    count.ranks = 1
    return count


def memory_timeline(path):
    """The last value of each category's counter: all its bytes added up, from before the recording on."""
    names = ["parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"]
    count = Recount()
    sums = {}
    for _, _, size, category in read_json(path):
        name = names[category] + " bytes"
        sums[name] = sums.get(name, 0) + size
    count.last_values = sums
    return count
