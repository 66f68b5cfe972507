# Where the SQL comes from, what comes out, and what is refused.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks

ask() {
	echo "\$ tacho query $*"
	"$TACHO" query "$@" </dev/null
	echo "= $?"
}

ask "$run" "SELECT name, category, dur FROM slice LIMIT 3" 2>&1 | sed "s,$TACHO_SOURCE_DIR/,,"
cd "$TACHO_SOURCE_DIR/tests/data" || exit 1
ask two_ranks "SELECT count(*) AS n FROM slice; SELECT NULL AS x" --json
ask two_ranks "SELECT id, name FROM track" --format jsonl --limit 2
ask two_ranks "SELECT id, name FROM track" --limit 2
ask two_ranks "SELECT id, name FROM track LIMIT 2" --format tsv
ask two_ranks ".schema thread_track"
ask two_ranks ".schema nothing"
ask two_ranks "SELECT 1; SELECT * FROM nowhere; SELECT 2" --format csv
ask two_ranks "ATTACH '/tmp/x' AS x"
ask two_ranks "VACUUM INTO 'there'"
ask two_ranks "SELECT 1" --format xml
ask two_ranks "SELECT 1" --limit -1
ask two_ranks --file nowhere.sql
ask nowhere "SELECT 1"
ask "SELECT 1"
ask
echo "== from a pipe, with commands"
printf '%s\n' '.format csv' 'SELECT 1 AS a;' '' 'SELECT' ' 2 AS b; -- two' '.format json' 'SELECT 3 AS c' |
	"$TACHO" query two_ranks
echo "= $?"
echo "== an error tells its line"
printf '%s\n' '.format csv' 'SELECT 1 AS a;' 'SELECT 2 AS b,' '  nme;' | "$TACHO" query two_ranks
echo "= $?"
echo "SELECT 4 AS d; .quit" | "$TACHO" query two_ranks --file - --format csv
echo "= $?"
printf '.quit\nSELECT 5' | "$TACHO" query two_ranks
echo "= $?"
echo "== what is no text, or has no end"
printf 'SELECT 1;\0SELECT 2' | "$TACHO" query two_ranks --file - || echo "= $?"
ask two_ranks --file /dev/zero
ask two_ranks --file .
