# Ranks with devices: the recording replayed as it is; with kernels and their launches gone; a fill, which there is
# none of.
run=$TACHO_SOURCE_DIR/tests/data/kineto
times() { sed -n '/^measured/,/^nine/p'; }
"$TACHO" replay "$run" | times
"$TACHO" replay "$run" --what-if 'drop:kernel~.' --what-if 'drop:launch~.' | times
"$TACHO" replay "$run" --what-if 'bandwidth=2x' --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
print(answer["error_pct"], [row["resource"] for row in answer["utilisation"] if "stream" in row["resource"]])'
"$TACHO" replay "$run" --what-if 'scale:memset~.=2'; echo "exit $?"
