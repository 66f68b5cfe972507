# Traces of other tools in a run: what is added, what the run had already, what is refused, and that reports have both.
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" run
chmod -R u+w run
# of the run's first record, which is not the launcher's
start_us=$(("$("$TACHO" info run --json | sed -n 's/.*"start_unix_ns":\([0-9]*\).*/\1/p')" / 1000))

# row NAME PID TID TS_US DUR_US: an operation, at microseconds since the run's first record
row()
{
	printf '{"ph":"X","cat":"cpu_op","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s}' "$1" "$2" "$3" \
		$((start_us + $4)) "$5"
}
# trace FILE ROW...
trace()
{
	local file=$1 IFS=,
	shift
	echo "{\"traceEvents\":[$*]}" >"$file"
}

trace more.json "$(row decode 27175 27175 3000000 500)" "$(row resize 27175 1 3100000 500)" "$(row log 4711 4711 3200000 9)"
"$TACHO" add run more.json
ls -A run/traces run/traces/more.json
stat -c '%a' run/traces run/traces/more.json run/traces/more.json/more.json
"$TACHO" info run | grep -E '^(ranks|steps|holds|Trust|   )'
"$TACHO" query run "SELECT slice.name, ts, dur, pid, thread.name AS thread, slice.depth FROM slice JOIN thread USING (track_id)
	JOIN process USING (upid) WHERE slice.name IN ('decode', 'resize', 'log') ORDER BY ts"
"$TACHO" query run "SELECT name, first, second, text FROM mark WHERE name = 'added_trace'"

# The run once more counts nothing twice.
rm -r run/traces
"$TACHO" export run --to chrome -o again.json >/dev/null
# Without when they were: the origin may move by what the clocks' readings are rounded to
figures()
{
	"$TACHO" report run --view step --json | sed 's/"start_ms":[^,]*,//'
	"$TACHO" report run --view memory --json | sed 's/"peak_at_ms":[^,]*,//'
}
figures >before.json
"$TACHO" add --link run again.json
readlink run/traces/again.json/again.json | sed "s|$PWD|.|"
figures >after.json
cmp before.json after.json && echo 'the same'
rm -r run/traces

# What does not belong to it is refused, and leaves nothing.
refused()
{
	"$TACHO" add "$@"
	echo "exit $?"
	ls -A run | grep traces
}
trace early.json "$(row decode 27175 27175 -100000000 5)"
trace unknown.json '{"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":3,"dur":1}'
trace one.json "$(row decode 1 1 0 5)"
echo 'no trace' >notes.txt
mkdir folder
refused run early.json
refused run unknown.json
refused --pid=9 run one.json
refused --rank=2 run one.json
refused run notes.txt
refused run folder
refused run nowhere.json
refused run
refused more.json one.json
refused --rank=1 run one.json more.json
"$TACHO" add --rank=1 run one.json
refused run one.json | tail -1
"$TACHO" add run one.json
"$TACHO" query run "SELECT slice.name, pid FROM slice JOIN thread USING (track_id) JOIN process USING (upid)
	WHERE slice.name = 'decode'"

# A trace that is damaged later is a problem of the run; --force removes what tacho put there.
echo '{"traceEvents":[' >run/traces/one.json/one.json
"$TACHO" info run | grep -A 2 '^Trust'
"$TACHO" record -q --probes none --force -o run -- true && ls -A run
