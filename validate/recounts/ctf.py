"""CTF, as babeltrace2 prints it: all events but definitions (OTF2); calls of functions (cyg-profile), regions (OTF2)."""
import re
import subprocess

from recounts import Recount

LINE = re.compile(r"^\[(\d+)\.(\d{9})\] (?:\(\S+\) )?(?:[^:{]*? )?([\w:]+): \{(.*)$")


def field(text, name):
    found = re.search(rf"\b{name} = (0x[0-9A-Fa-f]+|-?\d+|\"[^\"]*\")", text)
    return found[1].strip('"') if found else None


def ctf(path):
    count = Recount()
    printed = subprocess.run(["babeltrace2", "--clock-seconds", "--no-delta", str(path)], capture_output=True, text=True,
                             errors="replace").stdout
    count.events = 0
    open_slices, regions, texts, at = {}, {}, {}, 0
    for line in printed.splitlines():
        found = LINE.match(line)
        count.events += not found or not found[3].startswith("GlobalDef")
        if not found:
            continue
        at, name, rest = int(found[1] + found[2]), found[3], found[4]
        if name.endswith(":func_entry"):
            open_slices.setdefault(field(rest, "vtid"), []).append((field(rest, "addr").lower(), at))
        elif name.endswith(":func_exit") and open_slices.get(field(rest, "vtid")):
            called, begin = open_slices[field(rest, "vtid")].pop()
            count.slice(called, at - begin)
        elif name == "GlobalDef_String":
            texts[field(rest, "self")] = field(rest, "stringValue")
        elif name == "GlobalDef_Region":
            regions[field(rest, "self")] = texts.get(field(rest, "name"))
        elif name == "Event_Enter":
            open_slices.setdefault(field(rest, "locationID") or field(rest, "location"), []).append((field(rest, "region"), at))
        elif name == "Event_Leave":
            stack = open_slices.get(field(rest, "locationID") or field(rest, "location"))
            if stack:
                region, begin = stack.pop()
                count.slice(regions.get(region), at - begin)
    for stack in open_slices.values():  # what never ended lasts to the last event
        for called, begin in stack:
            count.slice(regions.get(called, called), at - begin)
    return count
