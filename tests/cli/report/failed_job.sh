# A job that failed says so first, and a report without anything in it says why.
facts() { # RANKS STATUS...: a run without any trace, of children that ended so
	local ranks=$1 number=0 status
	shift
	mkdir -p none.tacho
	printf '[run]\ncommand=python3 train.py\nhost=a\nstart_unix_ns=1795261247198342696\nranks=%s\n' "$ranks" >none.tacho/run.ini
	for status; do
		printf '\n[child %s]\npid=%s\nrank=%s\nstatus=%s\nend_unix_ns=%s\n' $number $((100 + number)) \
			$((ranks ? number : -1)) "$status" $((1795261252986801099 - number)) >>none.tacho/run.ini
		number=$((number + 1))
	done
}
head_of() { "$TACHO" report "$@" 2>&1 | sed -n 1,3p; }
facts 0 exit=3
"$TACHO" report none.tacho
"$TACHO" info none.tacho | sed -n 1p
"$TACHO" info none.tacho | grep ended
"$TACHO" info none.tacho --json | grep -E '"(exit|failures)"'
facts 0 exit=0
head_of none.tacho
facts 2 signal=15 exit=1
head_of none.tacho

# Beside traces: one rank was killed, a wrapper's exit status stands for the job.
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" run.tacho
chmod -R u+w run.tacho
sed -i '/^\[child 1\]/,$ s/^status=.*/status=signal=9/' run.tacho/run.ini
head_of run.tacho
"$TACHO" info run.tacho --json | grep -A3 -E '"(exit|failures)"' | head -n 4
sed -i 's/^status=.*/status=exit=1/' run.tacho/run.ini
head_of run.tacho

# A folder of documents is no trace, whatever they quote.
"$TACHO" report "$TACHO_SOURCE_DIR/docs" 2>&1 | sed "s,$TACHO_SOURCE_DIR,SOURCE,"
"$TACHO" report "$TACHO_SOURCE_DIR/docs/formats.md" 2>&1 | sed "s,$TACHO_SOURCE_DIR,SOURCE,"

# Why a table is empty, where there is something else.
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/onednn" --view comm --view op 2>&1 | grep '^There'
echo '{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}' >chrome.json
"$TACHO" report chrome.json | grep -E '^(There|No)'
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/two_ranks" --view op --show nowhere | grep 'hides them all'
