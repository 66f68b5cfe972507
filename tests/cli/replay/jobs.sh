# The recording beside itself: whose steps take how long.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
ln -s "$run" other.tacho
"$TACHO" replay "$run" --what-if jobs=other.tacho@2ms | sed -n 3,12p
"$TACHO" replay "$run" --what-if jobs=other.tacho --json >first.json
"$TACHO" replay "$run" --what-if jobs=other.tacho --json >second.json
cmp first.json second.json
python3 -c 'import json; print(json.load(open("first.json"))["jobs"])'
"$TACHO" replay "$run" --what-if jobs=nowhere.tacho || echo "exit $?"
