# Profiles for compilers, of small traces: XLA's text, and the members of Inductor's.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/xplane/gpu.xplane.pb" --to pgle -o -
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/two_ranks" --to pgle -o -
echo "exit $?"
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/kineto/first.pt.trace.json" --to inductor -o pge.json 2>&1
python3 - <<'END'
import json
trace = json.load(open("pge.json"))
print(*trace)
for event in trace["traceEvents"][:6]:
    print(event["cat"], event["name"], event["dur"], event["args"])
END
