# A folder of two Kineto files, one of them compressed, is a run for every command; so is one file of it.
traces=$TACHO_SOURCE_DIR/tests/data/kineto
"$TACHO" info "$traces"
"$TACHO" report "$traces" --view step --view kernel --view comm
"$TACHO" replay "$traces" | head -4
for to in perfetto chrome; do
	"$TACHO" export --to $to -o $to.trace "$traces" | cut -d. -f1
done
grep -o '"name":"ampere_sgemm_[^"]*"' chrome.trace | sort | uniq -c
"$TACHO" info "$traces/second.pt.trace.json.gz" --min-trust 90 | sed -n '/^Trust/,$p'
echo "exit ${PIPESTATUS[0]}"
