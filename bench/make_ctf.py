#!/usr/bin/env python3
"""Write a CTF trace as LTTng-UST writes them: a stream a core, packets, a compact header, vpid and vtid with
every event; requests that begin and end, allocations, and messages with a text.
  make_ctf.py FOLDER MILLIONS_OF_EVENTS

All packets of a core hold the same bytes but for their time: the header of an event has the low 32 bits of the
clock, and each packet begins 2^32 ns after the one before."""
import os
import struct
import sys

CORES = 4
EVENTS = 16384  # a packet
METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := address_t;
trace {
	major = 1; minor = 8; byte_order = le;
	packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
env {
	hostname = "bench"; domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13;
};
clock { name = monotonic; freq = 1000000000; offset = 1539783991179109860; };
typealias integer { size = 32; align = 8; signed = false; map = clock.monotonic.value; } := stamp32_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := stamp64_t;
stream {
	id = 0;
	packet.context := struct {
		stamp64_t timestamp_begin; stamp64_t timestamp_end; uint64_t content_size; uint64_t packet_size;
		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;
	};
	event.header := struct { uint16_t id; stamp32_t timestamp; };
	event.context := struct { uint32_t _vpid; uint32_t _vtid; };
};
event { id = 0; name = "app:request_entry"; stream_id = 0; fields := struct { uint64_t _id; uint32_t _kind; }; };
event { id = 1; name = "app:request_exit"; stream_id = 0; fields := struct { uint64_t _id; uint32_t _status; }; };
event { id = 2; name = "app:buffer"; stream_id = 0; fields := struct { address_t _address; uint64_t _size; }; };
event { id = 3; name = "app:message"; stream_id = 0; fields := struct { uint32_t _level; string _text; }; };
"""


def packet_events(core):
    """The events of a packet, and the time of the last, since its begin."""
    out = bytearray()
    time = core * 100
    for number in range(EVENTS):
        time += 4000
        kind = (0, 2, 3, 1)[number % 4]
        out += struct.pack("<HIII", kind, time, 4000, 4000 + core)
        if kind == 2:
            out += struct.pack("<QQ", 0x7F0000000000 + number * 64, 64)
        elif kind == 3:
            out += struct.pack("<I", 6) + b"a message of the usual length\0"
        else:
            out += struct.pack("<QI", number // 4, number % 7)
    return bytes(out), time


def write_stream(folder, core, packets):
    events, last = packet_events(core)
    with open(os.path.join(folder, f"channel0_{core}"), "wb") as stream:
        for number in range(packets):
            begin = number << 32
            head = struct.calcsize("<IIQQQQQQI")
            bits = 8 * (head + len(events))
            stream.write(struct.pack("<IIQQQQQQI", 0xC1FC1FC1, 0, begin, begin + last, bits, bits, number, 0, core))
            stream.write(events)


def main():
    folder, events = sys.argv[1], float(sys.argv[2]) * 1e6
    os.makedirs(folder)
    with open(os.path.join(folder, "metadata"), "w", encoding="ascii") as metadata:
        metadata.write(METADATA)
    packets = max(1, round(events / CORES / EVENTS))
    for core in range(CORES):
        write_stream(folder, core, packets)
    print(CORES * EVENTS * packets, "events")


main()
