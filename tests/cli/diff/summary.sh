# Two ranks of a run compared as if they were two runs, and a run with itself.
data=$TACHO_SOURCE_DIR/tests/data
cp -r "$data/two_ranks" base
mkdir first second
cp -r base/vm-27175 first && cp -r base/vm-27178 second
"$TACHO" diff first second --limit 4
"$TACHO" diff base base --view comm --view region
"$TACHO" diff base base --steps 2 --view kernel --name sgemm
# Two repetitions against one, in both ways of saying so; two sides.
"$TACHO" diff first,second first second --view op --name mm --sort name
"$TACHO" diff --base first --base second first --view kernel
# No steps on either side, then on one.
trace() { echo '{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"mm","ts":1,"dur":'$1',"pid":1,"tid":1}]}'; }
trace 2000 >short.json
trace 3000 >long.json
"$TACHO" diff short.json long.json --view op
"$TACHO" diff base long.json
