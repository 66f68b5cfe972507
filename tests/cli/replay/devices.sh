# Ranks with devices: the recording replayed as it is; with kernels and their launches gone; a fill, which there is
# none of.
run=$TACHO_SOURCE_DIR/tests/data/kineto
times() { sed -n '/^measured/,/^nine in ten runs/p'; }
"$TACHO" replay "$run" | times
"$TACHO" replay "$run" --what-if 'drop:kernel~.' --what-if 'drop:launch~.' | times
"$TACHO" replay "$run" --what-if 'bandwidth=2x' --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
print(answer["error_pct"], [row["resource"] for row in answer["utilisation"] if "stream" in row["resource"]])'
"$TACHO" replay "$run" --what-if 'scale:memset~.=2'; echo "exit $?"
# a device that falls behind its host ends the step
"$TACHO" replay "$run" --what-if 'scale:kernel~.=100' | grep -e '^in . of' -e '^Critical'
"$TACHO" replay "$run" --what-if 'scale:kernel~.=100' --json | grep -e step_ends_on -e device_bound_steps
# beside the same job, whose devices fall behind as these do: once the bytes of both take longer than all else
"$TACHO" replay "$run" --what-if "jobs=$run" --what-if 'bandwidth=0.001x' --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
job = answer["jobs"][0]
print(answer["step_ends_on"], job["alone_step_ms"], job["predicted_step_ms"] > 10 * job["alone_step_ms"], answer["predicted_step_ms"] > 10 * answer["baseline_step_ms"])'
