#!/usr/bin/env bash
# The probe of ONNX Runtime: sessions and runs of a program in C, on what stands in for the library and, where `make check-onnxruntime` has
# brought them, on the real one as Node.js and Python have it (build/onnxruntime). Programs do what they do without it.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
job=$TACHO_BUILD_DIR/tests/standins/onnxruntime_job
standins=$TACHO_BUILD_DIR/tests/standins/onnxruntime
real=${TACHO_ONNXRUNTIME:-$TACHO_SOURCE_DIR/build/onnxruntime}
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv run "$1" | tail -n +2; }
is() { # is WHAT SQL ANSWER
	local answer
	answer=$(ask "$2")
	[ "$answer" = "$3" ] || wrong "$1: $answer, not $3"
}
runs_of="select count(*) from slice where category = 'op' and name ="

nodes="select (select count(*) from slice where category = 'op' and name not like 'onnxruntime: %')"

# arg_of MODEL KEY: the begin of a question for runs of the model whose arg is something
arg_of() {
	echo "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id where s.name = 'onnxruntime: $1' and a.key = '$2' and a.string_value"
}

# same WHAT OPTION... -- COMMAND...: the same output and exit code with and without; nothing said, nothing lost
same() {
	local what=$1 options=() code
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f own_*.json
	"$@" >plain 2>plain.err
	code=$?
	rm -f own_*.json
	"$TACHO" record -q --force ${options[@]+"${options[@]}"} -o run -- "$@" >out 2>err
	[ $? = $code ] || wrong "$what: another exit code"
	cmp -s plain out || wrong "$what: the program said other things: $(diff plain out | head -3)"
	cmp -s plain.err err || wrong "$what: it is said: $(diff plain.err err | head -3)"
	"$TACHO" info --json run | grep -q '"dropped_events":0' || wrong "$what: records were dropped"
}

# --- on the stand-in
for variant in closed open; do
	library=$standins/$variant/libonnxruntime.so.1
	same "$variant runs" -- "$job" "$library" runs
	is "$variant runs" "$runs_of 'onnxruntime: model'" 11
	is "$variant inputs" "$(arg_of model inputs) = 'float32[2,3]'" 11
	is "$variant outputs" "$(arg_of model outputs) = 'float32[2,3]'" 10
	is "$variant names" "select text from mark where name = 'onnxruntime: tensors'" 'model: x -> y'
	is "$variant loads" "select group_concat(name) from (select name from slice where name like 'onnxruntime: load %' order by ts)" \
		'"onnxruntime: load model,onnxruntime: load missing"'
	is "$variant open slices" "select count(*) from slice where dur < 0" 0
	same "$variant more" -- "$job" "$library" more
	is "$variant more" "$runs_of 'onnxruntime: graph from memory'" 3
	is "$variant more's inputs" "$(arg_of 'graph from memory' inputs) = 'float32[2,3]'" 1
	is "$variant more's outputs" "$(arg_of 'graph from memory' outputs) in ('float32[2,3]', 'float32[]')" 2
	same "$variant later" -- "$job" "$library" later
	is "$variant later" "select count(*) from slice where name = 'onnxruntime: model' and dur >= 0" 21
	same "$variant threads" -- "$job" "$library" threads
	is "$variant threads" "$runs_of 'onnxruntime: model'" 4800
	same "$variant fork" -- "$job" "$library" fork
	is "$variant fork" "$runs_of 'onnxruntime: model'" 3
	is "$variant fork" "select count(distinct t.upid) from slice s join thread_track tt on tt.id = s.track_id join thread t using (utid)
		where s.name = 'onnxruntime: model'" 2
	# it is loaded, unloaded and loaded again more often than there are places for libraries
	same "$variant reload" -- "$job" "$library" reload
	is "$variant reload" "$runs_of 'onnxruntime: model'" 6
done

# an interface that is not known
"$TACHO" record -q --force -o run -- "$job" "$standins/other/libonnxruntime.so.1" runs >out 2>err
"$job" "$standins/other/libonnxruntime.so.1" runs | cmp -s - out || wrong "another version: the program said $(cat out)"
grep -q 'is not one of version 1.5 or later' err || wrong "nobody says that another version is not recorded: $(cat err)"
is "another version" "select count(*) from slice where name like 'onnxruntime%'" 0

# nodes, by the library's own profiler
library=$standins/closed/libonnxruntime.so.1
same nodes --onnx-nodes -- "$job" "$library" runs
is nodes "select count(*) from slice where name = 'Add' and category = 'op'" 11
is "nodes' place" "select count(*) from slice s join slice p on p.id = s.parent_id or p.name = 'session_initialization'
	where s.name = 'session_initialization' and s.category = 'annotation'" 1
[ "$(ls run/traces | wc -l)" = 1 ] || wrong "nodes: $(ls run/traces)"
"$TACHO" info --json run | grep -qE '"score":(9[5-9]|100)' || wrong "nodes: trust: $("$TACHO" info run | tail -5)"
same "nodes at exit" --onnx-nodes -- "$job" "$library" leave
is "nodes at exit" "select count(*) from slice where name = 'Add'" 1
same "the program's own profile" --onnx-nodes -- "$job" "$library" own
[ -s own_now.json ] || wrong "the program's own profile is not there"
[ ! -d run/traces ] || wrong "the program's own profile was switched: $(ls -A run/traces)"
same "nodes refused" --onnx-nodes -- env STANDIN_REFUSES_PROFILING=1 "$job" "$library" runs
is "nodes refused" "$runs_of 'onnxruntime: model'" 11
same "nodes and a fork" --onnx-nodes -- "$job" "$library" fork
is "nodes and a fork" "select count(*) from slice where name = 'Add'" 2

# attached to late: sessions that were created before are not known by name
"$job" "$library" patient >out 2>err &
pid=$!
until grep -q began out 2>/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
if "$TACHO" attach -q --force -d 500ms -o run $pid >said 2>&1; then
	is "attached" "select count(*) > 0 from slice where name = 'onnxruntime: a model' and category = 'op'" 1
elif ! grep -qi 'not permitted\|ptrace' said; then
	wrong "attach: $(cat said)"
fi
kill -TERM $pid 2>/dev/null
wait $pid 2>/dev/null

# all in one program, which the sanitizers see where they are built in; then it does not fork, for the allocator of gcc 12's address sanitizer does not
# know of that: a child waits for ever for its lock, where a thread that is not in the child had it
fork=fork
! ldd "$TACHO" | grep libasan >/dev/null || fork=
for way in runs more later threads $fork leave own; do
	for has_nodes in 0 1; do
		rm -rf whole own_*.json
		mkdir whole
		# the job leaves sessions behind in some ways
		TACHO_RUN_DIR=$PWD/whole TACHO_ONNX_NODES=$has_nodes ASAN_OPTIONS=detect_leaks=0 "${job}_whole" "$library" $way >out 2>err ||
			wrong "whole, $way: ended with $?"
		"$job" "$library" $way | cmp -s - out || wrong "whole, $way: the program said other things"
		[ ! -s err ] || wrong "whole, $way: $(head -20 err)"
		"$TACHO" query --format csv whole "select count(*) > 0 from slice where name like 'onnxruntime: %' and dur >= 0" | grep -qx 1 ||
			wrong "whole, $way: nothing was recorded"
	done
done

# --- on the real library
python3 "$TACHO_SOURCE_DIR/tests/job/tiny_onnx.py" tiny.onnx || wrong "no model"
library=$(find "$real/node/node_modules/onnxruntime-node/bin" -path '*/linux/x64/*' -name 'libonnxruntime.so.1*' 2>/dev/null | sort | head -1)
if [ -n "$library" ]; then
	echo "with $library"
	for way in runs threads fork own; do
		same "real $way" -- "$job" "$library" $way tiny.onnx
	done
	same "real runs" -- "$job" "$library" runs tiny.onnx
	is "real runs" "$runs_of 'onnxruntime: tiny.onnx'" 11
	is "real inputs" "$(arg_of tiny.onnx inputs) = 'float32[2,3]'" 11
	is "real outputs" "$(arg_of tiny.onnx outputs) = 'float32[2,3]'" 10
	same "real nodes" --onnx-nodes -- "$job" "$library" leave tiny.onnx
	is "real nodes at exit" "$nodes between 1 and 3" 1
	same "real nodes" --onnx-nodes -- "$job" "$library" threads tiny.onnx
	# ONNX Runtime may make one of the three
	is "real nodes" "$nodes in (4800, 9600, 14400)" 1
	is "real nodes are within runs" "$nodes = 0 or exists (select 1 from slice o where o.category = 'op' and o.name not like 'onnxruntime:%' and not exists (select 1 from slice r
		where r.name = 'onnxruntime: tiny.onnx' and r.track_id = o.track_id and o.ts >= r.ts - 2000 and o.ts + o.dur <= r.ts + r.dur + 2000))" 0
	"$TACHO" info --json run | grep -qE '"score":(9[5-9]|100)' || wrong "real nodes: trust: $("$TACHO" info run | tail -5)"
	cp "$TACHO_SOURCE_DIR/tests/job/onnxruntime_job.js" "$real/node/"
	same node -- node "$real/node/onnxruntime_job.js" tiny.onnx
	is node "$runs_of 'onnxruntime: tiny.onnx'" 11
	same "node's nodes" --onnx-nodes -- node "$real/node/onnxruntime_job.js" tiny.onnx
	is "node's nodes" "$nodes in (10, 20, 30)" 1
fi
python=$real/python/bin/python
if [ -x "$python" ]; then
	"$python" -c 'import onnxruntime; print("with onnxruntime", onnxruntime.__version__)'
	for way in runs own shared threads; do
		for option in --quiet --onnx-nodes; do
			same "Python $way $option" $option -- "$python" "$TACHO_SOURCE_DIR/tests/job/onnxruntime_jobs.py" $way tiny.onnx
		done
		case $way in
		runs)
			is "Python" "$runs_of 'onnxruntime: tiny.onnx'" 12
			is "Python, from memory" "$runs_of 'onnxruntime: tiny'" 1
			is "Python's nodes" "$nodes in (12, 24, 36)" 1
			;;
		own) is "Python's own profile" "$nodes = 0" 1 ;;
		threads) is "Python's threads" "$runs_of 'onnxruntime: tiny.onnx'" 400 ;;
		esac
	done
fi
exit $failed
