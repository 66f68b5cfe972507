#!/usr/bin/env bash
# check-rooms.sh: the stages of src/ include what lies below them, and nothing above. A stage may include those of the
# lines before its own; stages of one line do not include each other. Exit 1 names each include that goes up.
set -euo pipefail
cd "$(dirname "$0")/.."

levels="
base
trace
correlate cost import
analyze
graph query
replay
edit
predict
export
"
awk -v levels="$levels" '
BEGIN {
	n = split(levels, lines, "\n")
	for (i = 1; i <= n; i++) {
		m = split(lines[i], rooms, " ")
		for (j = 1; j <= m; j++)
			level[rooms[j]] = i
	}
}
/^#include "[a-z]+\// {
	split(FILENAME, path, "/")
	from = path[2]
	split($2, to, /["\/]/)
	if (!(from in level)) {
		printf "%s: the room %s has no place in tools/check-rooms.sh\n", FILENAME, from
		failed = 1
	} else if (to[2] in level && to[2] != from && level[to[2]] >= level[from]) {
		printf "%s:%d: %s lies below %s and does not include it\n", FILENAME, FNR, from, to[2]
		failed = 1
	}
}
END { exit failed }' $(find src -name '*.[ch]' | sort)
