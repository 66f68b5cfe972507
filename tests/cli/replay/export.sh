# The replay beside what was measured: two processes a rank, with the same slices.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run" --what-if bandwidth=0.1x --export replay.json >/dev/null || exit
"$TACHO" replay "$run" --export replay.pftrace >/dev/null && head -c 1 replay.pftrace | wc -c
"$TACHO" replay "$run" --export replay.json >/dev/null || echo "exit $?"
python3 - <<'END'
import collections, json
events = json.load(open("replay.json"))["traceEvents"]
slices = collections.Counter(e["pid"] for e in events if e["ph"] == "X")
print(sorted(slices.items()))
END
