# Plans that are refused before the job starts, which is then not started.
write_plan()
{
	echo "{\"tacho_plan\": $1, \"job\": {\"ranks\": 2, \"gradients\": [[40, \"float32\"], [8, \"float32\"]]}, \"changes\": {$2}}" >plan.json
}
refused()
{
	"$TACHO" apply plan.json -- touch started
	echo "exit $?"
	[ ! -e started ] || { echo "the job was started"; rm started; }
}
write_plan 1 '"buckets": [[0], [0]]'
refused
write_plan 1 '"buckets": [[0, 1]], "partition_bytes": 4096000'
refused
write_plan 1 ''
refused
write_plan 7 '"buckets": [[0, 1]]'
refused
write_plan 1 '"run": "/bin/sh"'
refused
head -c 40 plan.json >cut.json
mv cut.json plan.json
refused
rm plan.json
refused
write_plan 1 '"buckets": [[0, 1]]'
"$TACHO" apply plan.json touch started
echo "exit $?"
"$TACHO" apply plan.json --
echo "exit $?"
"$TACHO" apply -- touch started
echo "exit $?"
"$TACHO" apply -n 5000 plan.json -- touch started
echo "exit $?"
"$TACHO" apply plan.json -- ./no-such-program
echo "exit $?"
[ ! -e started ] || echo "the job was started"
# A plan that is good, and a job in which nobody carries it out: the job's output and exit status are its own.
"$TACHO" apply plan.json -- sh -c 'echo out; exit 3' 2>errors
echo "exit $?"
sed -E 's|[^ ]*/plan.json|plan.json|' errors
