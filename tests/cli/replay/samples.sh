# Replays with durations drawn from what was measured: the interval.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" replay "$run" --samples 200 | sed -n 3,9p
"$TACHO" replay "$run" --samples 200 --what-if bandwidth=2x | sed -n 3,9p
"$TACHO" replay "$run" --durations mean | sed -n 3,8p
"$TACHO" replay "$run" --durations median | sed -n 3,8p
"$TACHO" replay "$run" --durations sampled --json >first.json
"$TACHO" replay "$run" --samples 100 --seed 1 --json >second.json
cmp first.json second.json
python3 - <<'END'
import json
prediction = json.load(open("first.json"))
print(prediction["samples"], prediction["seed"], *prediction["interval_ms"], *prediction["median_interval_ms"])
END
"$TACHO" replay "$run" --durations guessed || echo "exit $?"
"$TACHO" replay "$run" --durations mean --samples 5 || echo "exit $?"
"$TACHO" replay "$run" --samples -1 || echo "exit $?"
"$TACHO" replay "$run" --step 1 --samples 5 || echo "exit $?"
