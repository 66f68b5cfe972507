#!/usr/bin/env bash
# The probe of the heap: every block that a program says it has had is in the run, in that order, and no small one; threads,
# forks, failures, other allocators, and a Python program do the same as without it; what PyTorch takes is there once.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
calls=$TACHO_BUILD_DIR/tests/malloc_calls
failed=0
wrong() { echo "$*"; failed=1; }

# events RUN: what the run has of the heap, as the program tells it
events() {
	"$TACHO" query --format csv "$1" "select case when bytes > 0 then 'had ' || printf('%d', address) || ' ' || bytes
		else 'gave ' || printf('%d', address) end from memory order by ts, id" | tail -n +2
}

same_with() { # same_with NAME LAUNCHER... -- WAY: what the program says with the probe and without
	local name=$1 way=${*: -1}
	shift
	"$calls" "$way" >plain 2>/dev/null
	"$TACHO" record -q --force --probes malloc -o "$name.run" -- "${@:1:$#-2}" "$calls" "$way" >out 2>/dev/null ||
		wrong "$name: the program failed"
	cmp -s plain out || wrong "$name: the program said $(cat out)"
	"$TACHO" info --json "$name.run" | grep -q '"dropped_events":0' || wrong "$name: records were dropped"
}

"$TACHO" record -q --probes malloc --malloc-min 90K -o run -- "$calls" ways >out 2>told || wrong "the program failed"
[ "$(cat out)" = all ] || wrong "the program said $(cat out)"
events run >found
diff <(sed -n 's/^+/had/p; s/^-/gave/p' told) found || wrong "other blocks than the program had"

same_with threads env -- threads
# each thread takes and gives back two blocks a round
"$TACHO" query --format csv threads.run "select count(*), sum(bytes > 0) from memory" | tail -1 >found
awk -F, '{ exit !($1 >= 64000 && $2 >= 32000 && $1 < 64400) }' found || wrong "threads: $(cat found) records"
same_with fork env -- fork
"$TACHO" query --format csv fork.run "select count(distinct track_id) >= 22 from memory" | tail -1 | grep -qx 1 || wrong "a child is missing"
same_with fail env -- fail
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
	[ -z "$path" ] || for way in threads fork; do
		same_with "$library-$way" env LD_PRELOAD="$path" -- "$way"
	done
done

# all blocks, in an interpreter
export PYTHONMALLOC=malloc
/usr/bin/python3 -c 'import json; print(len(json.dumps(list(range(50000)))))' >plain
"$TACHO" record -q --probes all,malloc --malloc-min 1 -o python.run -- \
	/usr/bin/python3 -c 'import json; print(len(json.dumps(list(range(50000)))))' >out || wrong "Python failed"
cmp plain out || wrong "Python said something else"
"$TACHO" query --format csv python.run "select count(*) > 10000 from memory" | tail -1 | grep -qx 1 || wrong "Python's blocks are not there"

unset PYTHONMALLOC
/usr/bin/python3 -c 'import torch' 2>/dev/null || exit $failed
cat >tensors.py <<'PYTHON'
import torch

for _ in range(100):
    x = torch.empty(123456, dtype=torch.uint8)
    del x
PYTHON
for probes in torch,malloc torch,alloc,malloc; do
	"$TACHO" record -q --force --probes $probes -o torch.run -- /usr/bin/python3 tensors.py || wrong "$probes: PyTorch failed"
	n=$("$TACHO" query --format csv torch.run "select count(*) from memory where bytes = 123456" | tail -1)
	[ "$n" = 100 ] || wrong "$probes: 100 tensors are $n blocks"
done
exit $failed
