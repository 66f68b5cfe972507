#!/usr/bin/env bash
# check-rooms.sh: the rooms of src/ include what lies below them, and nothing above. A room may include those of the
# lines before its own; rooms of one line do not include each other. Exit 1 names each include that goes up.
#
# live/ is a room of its own beside src/: it may include all of these, and none of them includes it.
#
# The importer has rooms of its own: src/import/read knows no format, src/import is what all formats share, and a format
# includes these two and the dialects that it is of, which are named here, but no other format.
set -euo pipefail
cd "$(dirname "$0")/.."

levels="
base
trace
correlate cost import
analyze
learn
graph query
replay
edit
predict
optimize export
precision
live
"
# A room of the importer, and which others it may include besides import and import/read. `-`: none, import neither.
formats="
read:        -
exported:
tensorflow:  chrome
chrome:      exported
byteprofile: chrome tensorflow
ctf:         exported
execution:
intel:       chrome
kineto:      chrome
memory:
nccl:        chrome
nsys:
onnxruntime: chrome
perfetto:    exported rocm
rocm:        chrome
xla:         chrome
"
awk -v levels="$levels" -v formats="$formats" '
BEGIN {
	n = split(levels, lines, "\n")
	for (i = 1; i <= n; i++) {
		m = split(lines[i], rooms, " ")
		for (j = 1; j <= m; j++)
			level[rooms[j]] = i
	}
	n = split(formats, lines, "\n")
	for (i = 1; i <= n; i++) {
		m = split(lines[i], rooms, /:? +/)
		sub(/:$/, "", rooms[1])
		if (rooms[1] == "")
			continue
		is_format[rooms[1]] = 1
		allowed[rooms[1], rooms[1]] = allowed[rooms[1], "read"] = 1
		allowed[rooms[1], ""] = rooms[2] != "-"
		for (j = 2; j <= m; j++)
			allowed[rooms[1], rooms[j]] = 1
	}
	allowed["", ""] = allowed["", "read"] = is_format[""] = 1
}
function name(room) {
	return room == "" ? "import" : "import/" room
}
function fail(why) {
	printf "%s:%d: %s\n", FILENAME, FNR, why
	failed = 1
}
/^#include "[a-z]+\// {
	n_from = split(FILENAME, path, "/")
	split($2, quoted, "\"")
	n_to = split(quoted[2], to, "/")
	from = path[1] == "live" ? "live" : path[2]
	if (!(from in level))
		fail("the room " from " has no place in tools/check-rooms.sh")
	else if (to[1] in level && to[1] != from && level[to[1]] >= level[from])
		fail(from " lies below " to[1] " and does not include it")
	if (from != "import" || to[1] != "import")
		next
	from = n_from > 3 ? path[3] : ""
	other = n_to > 2 ? to[2] : ""
	if (!(from in is_format))
		fail("the room import/" from " has no place in tools/check-rooms.sh")
	else if (!((from, other) in allowed) || !allowed[from, other])
		fail(name(from) " does not include " name(other) ": neither shared nor a dialect of it")
}
END { exit failed }' $(find src live -name '*.[ch]' | sort)
