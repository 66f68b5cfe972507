"""chrome_lines.py FILE: what a Chrome trace shows, as the lines that trace_lines.h describes."""
import collections
import decimal
import json
import sys


def ns(microseconds):
    value = decimal.Decimal(str(microseconds)) * 1000
    assert value == int(value), microseconds
    return int(value)


def main():
    # Numbers stay text: a double would hide digits that were lost.
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    events = trace["traceEvents"]
    processes, threads = {}, {}
    for event in events:
        if event["ph"] == "M" and event["name"] == "process_name":
            assert event["pid"] not in processes
            processes[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            assert (event["pid"], event["tid"]) not in threads
            threads[event["pid"], event["tid"]] = event["args"]["name"]
    open_slices = collections.defaultdict(list)
    flows = collections.defaultdict(dict)
    lines = []
    innermost = None
    for event in events:
        phase = event["ph"]
        if phase == "M":
            continue
        process = processes[event["pid"]]
        thread = threads[event["pid"], event["tid"]] if "tid" in event else "process"
        begin = ns(event["ts"])
        if phase == "X":
            end = begin + ns(event["dur"])
            stack = open_slices[event["pid"], event["tid"]]
            while stack and stack[-1][1] <= begin:
                stack.pop()
            assert not stack or (stack[-1][0] <= begin and end <= stack[-1][1]), (event, stack)
            lines.append(f"slice|{process}|{thread}|{len(stack)}|{event['cat']}|{event['name']}|{begin}|{end}")
            stack.append((begin, end))
            innermost = event
        elif phase in "sf":
            ends = flows[event["id"]]
            assert phase not in ends, event
            assert (innermost["pid"], innermost["tid"], innermost["ts"]) == (
                event["pid"], event["tid"], event["ts"]), (event, innermost)
            assert phase == "s" or event["bp"] == "e"
            ends[phase] = (innermost["name"], begin, event["name"])
        elif phase == "C":
            (value,) = event["args"].values()
            lines.append(f"count|{process}|{event['name']}|{begin}|{float(value):.17g}")
        elif phase == "i":
            lines.append(f"moment|{process}|{thread}|{event['name']}|{begin}")
        else:
            raise AssertionError(event)
    for ends in flows.values():
        (first, first_ns, kind), (second, second_ns, other_kind) = ends["s"], ends["f"]
        assert kind == other_kind and first_ns <= second_ns
        lines.append(f"flow|{first}|{first_ns}|{second}|{second_ns}")
    print("\n".join(sorted(lines, key=lambda line: line.encode())), end="")


main()
