# Runs of the ranks of one job, each recorded by a tacho record of its own, in one folder: one run. What is not one
# job is refused.
data=$TACHO_SOURCE_DIR/tests/data/two_ranks
# part FOLDER RANK: the recording of one rank
part()
{
	local process=vm-27175
	[ "$2" = 0 ] || process=vm-27178
	mkdir -p "$1"
	cp -r "$data/$process" "$1/"
	chmod -R u+w "$1"
	grep -v '^ranks=' "$data/run.ini" >"$1/run.ini"
}
part job/h0/r0.tacho 0
part job/h1/r1.tacho 1
echo 'no trace' >job/notes.txt
"$TACHO" info job
for command in 'report --view step --json' 'query' 'export --to csv -o -' 'replay --json'; do
	arguments=()
	[ "$command" != query ] || arguments=('SELECT name, ts, dur FROM slice ORDER BY name, ts')
	"$TACHO" $command "$data" "${arguments[@]}" >together.txt
	"$TACHO" $command job "${arguments[@]}" >apart.txt
	cmp together.txt apart.txt && echo "$command: the same as of one run"
done
"$TACHO" diff "$data" job | grep -E '^(with|Step)'

# The same job in two places is not one run, but two to be compared.
mkdir twice
cp -r job twice/first
cp -r job twice/second
"$TACHO" info twice
echo "exit $?"
"$TACHO" replay twice --json
echo "exit $?"
"$TACHO" replay "$data" -w jobs=twice
echo "exit $?"
cp -r job other
sed -i 's/world_size = 2/world_size = 4/' other/h1/r1.tacho/*/metadata
"$TACHO" info other
echo "exit $?"
sed -i 's/world_size = 4/world_size = 2/; s/job = ""/job = "4711"/' other/h1/r1.tacho/*/metadata
sed -i 's/job = ""/job = "4712"/' other/h0/r0.tacho/*/metadata
"$TACHO" info other
echo "exit $?"
"$TACHO" info other/h0/r0.tacho other/h1 | grep -E '^(ranks|Trust|  [a-z])'

# What is not whole, or not read, is told by name.
mv job/h1/r1.tacho job/h1/.r1.tacho
"$TACHO" export job --to chrome -o job/trace.json >/dev/null
sed -i '/^end_unix_ns/d' job/h0/r0.tacho/run.ini
mkdir job/h2
cp job/h0/r0.tacho/run.ini job/h2/
"$TACHO" info job | grep -E '^(ranks|Trust|  [a-z])'
"$TACHO" info job/h0/r0.tacho job/trace.json
echo "exit $?"
