# A wrong word gets the nearest right one and all that there are; exit 2, and one line.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
try() { "$TACHO" "$@" 2>&1 | sed "s,$TACHO_SOURCE_DIR/,," | cut -c 1-160; [ "${PIPESTATUS[0]}" = 2 ] || echo "not exit 2"; }
try reprot "$run"
try sunset
try report "$run" --viev op
try report "$run" --json --all --steps=1 --limmit=3
try report "$run" --view kernal
try report "$run" --view strag
try report "$run" --view op --sort self
try diff "$run" "$run" --view kernels
try diff "$run" "$run" --sort ratoi
try export "$run" --to perfeto
try export "$run" --to html5
try query "$run" --format jsn 'SELECT 1'
try replay "$run" --what-if bandwith=2x
try replay "$run" --what-if bucketmb=8
try replay "$run" --what-if weather=good
try replay "$run" --what-if 'drop:kernels~mm'
try record --clock tcs -- true
try record --probes sockets -- true
try record --rank 2 -- true
try probe biuld torch
try report "$run" --view op --select micro
try report "$run" --view op --order-by nmae
try report "$run" --view op --mean every
# Ranks and steps that the run does not have, and no rank at all.
for command in report 'export --to csv -o x.csv' "diff $run"; do
	try $command "$run" --rank 9
	try $command "$run" --steps 100:200
done
try report "$run" --steps 100
try record -n 0 -- true
try record -n -1 -- true
echo '{"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}' >no_steps.json
try report no_steps.json --steps 1:2
ls
