# Where nothing was recorded nothing is wrong, and nothing can be concluded: that is no trust of 100.
info() {
	echo "== $1"
	shift
	"$TACHO" info "$@" 2>&1 | grep -E '^Trust|^  |^tacho' | sed "s|$PWD/||g"
}
mkdir empty nothing.tacho
cp "$TACHO_SOURCE_DIR/tests/data/two_ranks/run.ini" nothing.tacho
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" silent.tacho
chmod -R u+w silent.tacho
rm -f silent.tacho/vm-*/[0-9]*
info "a run without a process" nothing.tacho
info "a run whose processes wrote no record" silent.tacho
info "an empty folder" empty

echo '{"schemaVersion": 1, "distributedInfo": {"rank": 1, "world_size": 2}, "traceEvents": []}' >rank1.json
echo '{"traceEvents": []}' >chrome.json
info "Kineto" rank1.json
info "Chrome" chrome.json
cp "$TACHO_SOURCE_DIR/tests/data/kineto_gloo/rank0.json.gz" .
info "Kineto, beside a rank that has events" rank0.json.gz rank1.json
mkdir ctf
printf '/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; };\nstream { };\nevent { name = "e"; };\n' >ctf/metadata
info "CTF" ctf
