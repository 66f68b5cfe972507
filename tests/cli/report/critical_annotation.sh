# The critical path of one rank's events in an annotation; where there are several ranks it has to be chosen. The
# same path, marked in an export: its slices, and arrows between them.
run=$TACHO_SOURCE_DIR/tests/data/kineto
report() { "$TACHO" report "$run" --view critical "$@" | sed '1,3d'; }
report --rank 0 --annotation ProfilerStep --limit 5
report --rank 0 --annotation ProfilerStep --instance 77
report --annotation ProfilerStep
"$TACHO" export "$run" --to chrome -o marked.json --rank 0 --critical ProfilerStep 2>/dev/null
python3 - <<'END'
import json
events = json.load(open("marked.json"))["traceEvents"]
marked = [event["name"] for event in events if event.get("args", {}).get("critical")]
arrows = [event for event in events if event.get("cat") == "critical_path"]
print(len(marked), "slices, of them", sorted(set(marked))[:4], len(arrows) // 2, "arrows")
END
"$TACHO" export "$run" --to chrome -o none.json --critical ProfilerStep; echo "exit $?"
