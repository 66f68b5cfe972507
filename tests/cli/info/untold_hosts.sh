# The Megatron sample, 8 ranks of one host that no file names, changed as if each rank had been given one device, which is number 0
# to it: one host all the same; with the clocks of ranks 4 to 7 put 3 ms ahead two, and the same rank late.
command -v python3 >/dev/null || exit 77
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto/megatron_tp8
[ -d "$data" ] || exit 77
mkdir one two
python3 - "$data" <<'PYTHON'
import gzip, json, sys
for rank in range(8):
    trace = json.load(gzip.open(f"{sys.argv[1]}/megatron_kineto_{rank}.json.gz", "rt"))
    trace["deviceProperties"] = trace["deviceProperties"][:1]
    for event in trace["traceEvents"]:
        if event.get("pid") == rank:
            event["pid"] = 0
    json.dump(trace, open(f"one/rank{rank}.json", "w"))
    for event in trace["traceEvents"]:
        if rank >= 4 and "ts" in event:
            event["ts"] += 3000
    json.dump(trace, open(f"two/rank{rank}.json", "w"))
PYTHON
for run in "$data" one two; do
	"$TACHO" info "$run" | grep -E '^hosts|^Trust|unknown host|^unknown'
	"$TACHO" report "$run" --view straggler | grep '^Rank'
done
