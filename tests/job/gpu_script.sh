#!/usr/bin/env bash
# tests/gpu/run, as far as it goes without a GPU: on the stand-ins all is as it should be; what is missing, of another length or costs too much is told; without a
# GPU it says so.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }
run=$TACHO_SOURCE_DIR/tests/gpu/run
"$run" --stand-in --jobs eager --steps 10 --pairs 0 --out ok >said 2>&1 || wrong "with the stand-ins: $(cat said)"
grep -q '^80 pieces of work on 2 streams' said || wrong "not all was compared: $(cat said)"
grep -q '^values of sm__cycles_active at the begin of their kernel: 50' said || wrong "kernels are not counted: $(cat said)"
grep -q '^sm__cycles_active in samples of which kernels run half or more' said || wrong "devices are not sampled: $(cat said)"
[ -s ok/fixture.tar.gz ] || wrong "no run was brought back"
# a trace in which one kernel is missing, and one in which they are longer
/usr/bin/python3 - <<'PYTHON'
import json
trace = json.load(open("ok/eager.json"))
kernels = [e for e in trace["traceEvents"] if e["cat"] == "kernel"]
events = [e for e in trace["traceEvents"] if e is not kernels[3]]
json.dump({**trace, "traceEvents": events}, open("missing.json", "w"))
for e in kernels:
    e["dur"] *= 1.5
json.dump(trace, open("longer.json", "w"))
PYTHON
compare() { /usr/bin/python3 "$TACHO_SOURCE_DIR/tests/gpu/compare.py" "$@" >said 2>&1; }
compare ok/eager.tacho ok/eager.json || wrong "it is not the same as itself: $(cat said)"
compare ok/eager.tacho missing.json && wrong "a kernel that is missing is not seen"
grep -q 'recorded, .* profiled' said || wrong "a kernel that is missing: $(cat said)"
compare ok/eager.tacho longer.json && wrong "longer kernels are not seen"
grep -q 'ns recorded, .* ns profiled' said || wrong "longer kernels: $(cat said)"
printf 'plain 10\nrecorded 10.1\nplain 10\nrecorded 10.05\n' >pairs
/usr/bin/python3 "$TACHO_SOURCE_DIR/tests/gpu/cost.py" pairs | grep -q 'cost of recording: 0.75 %' || wrong "the cost of recording"
printf 'plain 10\nrecorded 10.3\n' >pairs
/usr/bin/python3 "$TACHO_SOURCE_DIR/tests/gpu/cost.py" pairs >/dev/null && wrong "a cost of 3 % is not too much"
nvidia-smi -L >/dev/null 2>&1 || { "$run" --no-build >said; [ $? = 77 ] || wrong "without a GPU it does not say so"; }
"$run" --nonsense 2>/dev/null
[ $? = 2 ] || wrong "an option that is none"
exit $failed
