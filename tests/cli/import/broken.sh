# What cannot be read is told with file and byte; what can be is read.
traces=$TACHO_SOURCE_DIR/tests/data/kineto
first=$traces/first.pt.trace.json
head -c 5000 "$first" >cut.json
head -c 1500 "$traces/second.pt.trace.json.gz" >cut.json.gz
head -c 200 "$first" >head.json
sed 's/aten::mm/say "mm"/' "$first" >quotes.json
sed 's/"name": "aten::mm"/"name" "aten::mm"/' "$first" >colons.json
sed 's/"ph": "X"/"ph" "X"/; s/"ph": "[iM]"/"ph"/' "$first" >nothing.json
printf '{"schemaVersion": 1, "traceEvents": []}' >no_events.json
printf 'no trace at all' >text.json
: >empty.json
mkdir empty
for file in cut.json cut.json.gz quotes.json colons.json; do
	"$TACHO" info "$file" | grep -E '^(holds|Trust|  [a-z])'
done
for file in head.json nothing.json no_events.json text.json empty.json empty none.json; do
	"$TACHO" info "$file"
	echo "exit $?"
done
ln -s "$TACHO_SOURCE_DIR/tests/data/two_ranks" own
"$TACHO" info own cut.json
