# A model of a table: trained, shown, asked; the same again is the same file.
table=$TACHO_SOURCE_DIR/tests/fuzz/corpus/fuzz_cost_model/table.csv
cp "$table" table.csv
"$TACHO" cost train --table table.csv -o model.json --calls calls.csv
"$TACHO" cost train --table calls.csv -o again.json >/dev/null
sed 's/calls.csv/table.csv/' again.json | diff -q model.json - >/dev/null || echo "of its own calls it learns something else"
"$TACHO" cost train --table table.csv -o same.json >/dev/null
cmp model.json same.json
"$TACHO" cost predict model.json --op aten::mm --shapes '[[64,32],[32,128]]' --device V100
"$TACHO" cost predict model.json --op aten::mm --shapes '[[1000,512],[512,512]]' --device H100 --by roofline
"$TACHO" cost predict model.json --op aten::mm+aten::mm --shapes '[[64,32],[32,128]];[[64,128],[128,32]]' --device V100
"$TACHO" cost predict model.json --table table.csv --by roofline --json | python3 -c '
import json, sys
for row in json.load(sys.stdin):
    print(row["device"], row["class"], row["shapes"], row["by"], row["count"], row["measured_us"])'
# operations of a run of hosts, and what a model that has communication and corrections shows
"$TACHO" cost train "$TACHO_SOURCE_DIR/tests/data/two_ranks" -o run.json --from "$TACHO_SOURCE_DIR/tests/fuzz/corpus/fuzz_cost_model/whole.json" |
	sed "s|$TACHO_SOURCE_DIR/||; s/^trained on  */trained on  /" # that column is as wide as the folder's name
"$TACHO" cost predict run.json "$TACHO_SOURCE_DIR/tests/data/two_ranks" --by table --wide | head -4
"$TACHO" cost show run.json --json | python3 -c '
import json, sys
shown = json.load(sys.stdin)
print(*shown)
print(shown["corrections"])'
