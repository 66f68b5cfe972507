"""Protocol buffers, walked field by field: XSpaces, Perfetto traces, TensorFlow's StepStats and profiles, Chakra's nodes.

Field numbers are those of the projects' .proto files.
"""
import re
import zlib

from recounts import Recount, read_bytes


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of each field of a message; a text or message is bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 5:
            value, at = int.from_bytes(data[at:at + 4], "little"), at + 4
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def message(data, repeated=()):
    """A message as a dictionary by field number; fields in `repeated` are lists."""
    result = {number: [] for number in repeated}
    for number, value in fields(data):
        if number in repeated:
            result[number].append(value)
        else:
            result[number] = value
    return result


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def text(value):
    return value.decode("utf-8", "replace")


def xplane(path):
    """Events of all lines by name; begin and end are each cut to nanoseconds."""
    count = Recount()
    for number, plane_data in fields(read_bytes(path)):
        if number != 1:
            continue
        plane = message(plane_data, repeated=(3, 4))
        names = {}
        for entry in plane[4]:
            metadata = message(message(entry).get(2, b""))
            names[metadata.get(1, message(entry).get(1))] = text(metadata.get(4) or metadata.get(2, b""))
        for line_data in plane[3]:
            line = message(line_data, repeated=(4,))
            for event_data in line[4]:
                event = message(event_data)
                if 5 in event:
                    count.omit("events that were summed up have no time")
                    continue
                name = names.get(event.get(1, 0), f"event {event.get(1, 0)}")
                if name in ("MemoryAllocation", "MemoryDeallocation"):
                    count.omit("memory events")
                    continue
                begin = event.get(2, 0)
                count.slice(name, (begin + event.get(3, 0)) // 1000 - begin // 1000)
    return count


def perfetto(path):
    """Slices by name, each end with the last begin of its track."""
    count = Recount()
    names, defaults, open_slices = {}, {}, {}
    packets, unpacked = [], []
    try:
        for number, value in fields(read_bytes(path)):
            if number == 1:
                packets.append(value)
    except (ValueError, IndexError):
        count.omit("what follows a byte that begins no packet")
    for packet in packets:
        inner = message(packet)
        if 50 in inner:
            unpacked += [value for number, value in fields(zlib.decompress(inner[50])) if number == 1]
        else:
            unpacked.append(packet)
    for data in unpacked:
        packet = message(data)
        sequence = packet.get(10, 0)
        if packet.get(41) or packet.get(13, 0) & 1:
            names = {key: value for key, value in names.items() if key[0] != sequence}
        for entry in message(packet.get(12, b""), repeated=(2,))[2]:
            interned = message(entry)
            names[sequence, interned[1]] = text(interned.get(2, b""))
        if 59 in packet:
            defaults[sequence] = message(message(packet[59]).get(11, b"")).get(11)
        if 11 not in packet:
            continue
        event = message(packet[11])
        track = event.get(11, defaults.get(sequence))
        at = packet.get(8, 0)
        if event.get(9) == 1:
            name = text(event[23]) if 23 in event else names.get((sequence, event.get(10)), "")
            open_slices.setdefault(track, []).append((name, at))
        elif event.get(9) == 2 and open_slices.get(track):
            name, begin = open_slices[track].pop()
            count.slice(name, at - begin)
        elif event.get(9) == 4:
            count.omit("values of counters")
    count.left_out.update({"slices without an end": sum(map(len, open_slices.values()))} if any(open_slices.values()) else {})
    return count


def step_stats(path):
    """Runs of nodes on executors by the node's name; on streams by what follows the node's name."""
    count = Recount()
    metadata = message(read_bytes(path))
    devices = message(metadata[1], repeated=(1,))[1]
    described = [message(device, repeated=(2,)) for device in devices]
    for device in described:
        name = text(device.get(1, b""))
        for node_data in device[2]:
            node = message(node_data)
            label = text(node.get(1, b""))
            is_stream = "/stream:" in name or name.endswith("memcpy")
            called = label.split(":", 1)[-1] if is_stream else label.split(":")[0]
            count.slice(called, max(signed(node.get(4, 0)), 1) * 1000)
    count.ranks, count.steps = 1, 1
    return count


def tfprof(path):
    """Runs of nodes: (begin, duration) of each execution on a processor and on an accelerator's stream."""
    count = Recount()
    steps = set()
    for number, entry in fields(read_bytes(path)):
        if number != 1:
            continue
        node = message(message(entry)[2], repeated=(12,))
        name = text(node.get(1, b""))
        for execution in node[12]:
            step = message(execution)
            profile = message(step.get(2, b""), repeated=(4, 5))
            ran = False
            for device in profile[4] + profile[5]:
                for times in message(message(device).get(2, b""), repeated=(1,))[1]:
                    values = [signed(v) for v in packed(times)]
                    count.slice(name, max(values[1], 1) * 1000)
                    ran = True
            if ran:
                steps.add(step.get(1, 0))
    count.steps, count.ranks = len(steps), None
    return count


def packed(data):
    """The repeated integers of field 1."""
    values = []
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                values.append(one)
        elif number == 1:
            values.append(value)
    return values


def chakra(path):
    """Nodes by name, with their recorded durations; the first message is the trace's metadata."""
    count = Recount()
    data, at, is_first = read_bytes(path), 0, True
    while at < len(data):
        size, at = varint(data, at)
        if not is_first:
            node = message(data[at:at + size])
            count.slice(text(node.get(2, b"")), node.get(7, 0) * 1000)
        is_first = False
        at += size
    count.ranks = 1
    return count
