#!/usr/bin/env bash
# The NVTX probe: ranges and marks with their domains, categories and payloads; programs that misuse the interface. Where
# TACHO_NVTX_PYTHON names a Python with NVIDIA's package nvtx, the same of that.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
calls=$TACHO_BUILD_DIR/tests/nvtx_calls
failed=0
wrong() { echo "$*"; failed=1; }

# slices: name and number of all regions
slices() { "$TACHO" query --format csv run "select name, count(*) from slice where category = 'annotation' group by 1 order by 1"; }

"$TACHO" record -q -o run -- "$calls" misuse >out 2>err
[ "$(cat out)$(cat err)" = done ] || wrong "the program said: $(cat out err)"
slices >found
diff - found <<-END || wrong "other regions"
	name,count(*)
	?,2
	across,1
	größer 😀,1
	loader/read: batch,1
	loader: ?,1
	loader: registered,3
	outer,1
	value,1
END
"$TACHO" query run "select count(*) from slice where dur < 0" | grep -qx ' *0' || wrong "a slice is open"
"$TACHO" query --format csv run "select p.name from slice s join slice p on s.parent_id = p.id where s.name = 'loader: registered' limit 1" | grep -qx 'loader/read: batch' || wrong "ranges do not lie in each other"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 ./run >events 2>&1 || wrong "babeltrace2: $(tail -1 events)"
	grep -qE 'NVTX: rank: ' events || wrong "no mark of the default domain"
	grep -qE 'loader: value: .*"0.5"' events || wrong "no mark with a payload"
	grep -qE 'loader/read: batch: .* id = 7' events || wrong "no payload"
fi
"$TACHO" info --json run | grep -q '"rank":0' || wrong "a program's mark 'rank' was taken for tacho's"
"$TACHO" record -q --force -o run -- "$calls" anew >out 2>err
"$TACHO" query --format csv run "select count(*), sum(n) from (select count(*) n from slice where name like 'range %' group by name having n = 2)" | grep -qx 5000,10000 ||
	wrong "texts at one address are taken for each other"
"$TACHO" query --format csv run "select count(*) from slice where name like 'xxx%'" | grep -qx 2 || wrong "a long text is lost"
NVTX_INJECTION64_PATH=/other/tool.so "$TACHO" record --force -o run -- "$calls" >out 2>err
[ "$(cat out)" = "no tool" ] || wrong "another tool's variable was changed"
grep -q 'NVTX_INJECTION64_PATH names /other/tool.so already' err || wrong "nobody says that another tool was there first"

python=${TACHO_NVTX_PYTHON:-}
[ -n "$python" ] || exit $failed
cat >job.py <<'PYTHON'
import threading

import nvtx

with nvtx.annotate("outer"):
    with nvtx.annotate("inner", domain="loader", category="read", payload=7):
        pass
    nvtx.mark("moment")
across = nvtx.start_range("across")
thread = threading.Thread(target=lambda: nvtx.end_range(across))
thread.start()
thread.join()
nvtx.push_range("pushed")
nvtx.pop_range()
print("done")
PYTHON
"$TACHO" record -q --force -o run -- "$python" job.py >out 2>err
[ "$(cat out)$(cat err)" = done ] || wrong "the package's program said: $(cat out err)"
slices >found
for region in across,1 'loader/read: inner,1' outer,1 pushed,1; do
	grep -qxF "$region" found || wrong "no '$region' in $(cat found)"
done
exit $failed
