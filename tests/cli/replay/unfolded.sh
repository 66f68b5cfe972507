# Ranks that were not recorded, each played by itself: the same step; also where some of them are changed.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run" --what-if ranks=64 --unfolded | sed '/^Critical path/,$d'
"$TACHO" replay "$run" --what-if ranks=64 --unfolded --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
print(answer["unfolded_ranks"], answer["unfolded_step_ms"] == answer["predicted_step_ms"])'
"$TACHO" replay "$run" --what-if ranks=64 --what-if straggler:5,40-63=2 --unfolded --json | python3 -c '
import json, sys
answer = json.load(sys.stdin)
print(answer["unfolded_ranks"], answer["unfolded_step_ms"] == answer["predicted_step_ms"],
      sorted({row["resource"].split()[1] for row in answer["utilisation"] if row["resource"].startswith("rank")}))'
"$TACHO" replay "$run" --what-if ranks=8 --what-if scale:8:op~mm=2 || echo "exit $?"
"$TACHO" replay "$run" --what-if "jobs=$run" --unfolded || echo "exit $?"
"$TACHO" replay "$run" --what-if ranks=64 --unfolded --samples 3 || echo "exit $?"
