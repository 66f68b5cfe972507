#!/usr/bin/env bash
# Programs that want to be alone: sanitizers, other preloaded libraries, filters of system calls. They start, do
# and print the same under tacho.
set -u
work=$(mktemp -d)
failed=0
n=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cc=${CC:-cc}
source=$TACHO_SOURCE_DIR/tests/job
is_sanitized=no
! ldd "$TACHO" | grep -q libasan || is_sanitized=yes
ulimit -c 0
$cc -O1 -D_GNU_SOURCE "$source/guest_job.c" -o guest_job -lpthread || exit 1
$cc -O1 -D_GNU_SOURCE "$source/filter_job.c" -o filter_job -lpthread || exit 1

wrong() {
	echo "$name: $*"
	failed=1
}

# same COMMAND...: output, error and exit code are the same, but for lines of tacho's own on standard error
same() {
	local plain status
	n=$((n + 1))
	{ timeout 300 "$@" >plain.out 2>plain.err </dev/null; } 2>/dev/null
	plain=$?
	{ timeout 300 "$TACHO" record -q --probes alloc,blas,dnn,socket,python -o run-$n.tacho -- "$@" >job.out 2>job.err </dev/null; } 2>/dev/null
	status=$?
	[ $status = $plain ] || wrong "exit code $status, without tacho $plain: $(head -5 job.err)"
	cmp -s plain.out job.out || wrong "standard output differs: $(diff plain.out job.out | head -5)"
	grep -v '^tacho: ' job.err | diff - plain.err >/dev/null || wrong "standard error differs: $(head -5 job.err)"
}

# recorded NAME: the last run has slices of that name
recorded() {
	babeltrace2 run-$n.tacho/*/ 2>bt.err | grep -q "$1" || wrong "no $1 was recorded: $(cat bt.err job.err)"
}

for sanitizer in address undefined leak thread; do
	for compiler in "$cc" "clang -shared-libsan" clang; do
		name="$compiler -fsanitize=$sanitizer"
		$compiler -g -O1 -D_GNU_SOURCE -fsanitize=$sanitizer "$source/guest_job.c" -o checked -lpthread 2>/dev/null &&
			./checked exit 0 >/dev/null 2>&1 || { echo "$name: not to be had here"; continue; }
		same ./checked exit 3
		recorded ' main:'
		same ./checked fork
		recorded ' worker:'
	done
done

for library in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libeatmydata.so libasan.so.8 libSegFault.so; do
	name="preloaded $library"
	path=$(ls /usr/lib/*/$library /lib/*/$library 2>/dev/null | head -1)
	[ -n "$path" ] || { echo "$name: not to be had here"; continue; }
	same env LD_PRELOAD="$path" ./guest_job exit 3
	[ $is_sanitized = no ] || continue # its own runtime wants to be the first
	LD_PRELOAD=$path "$TACHO" record -q --probes socket -o preload.tacho -- sh -c 'echo "$LD_PRELOAD"' >job.out
	case $(cat job.out) in
	"$path:"*libtacho.so*) ;;
	*) wrong "it has lost its place: $(cat job.out)" ;;
	esac
	rm -rf preload.tacho
	LD_PRELOAD=$path "$TACHO" record -q --probes socket -o preload.tacho -- ./guest_job exit 3 >job.out 2>job.err
	[ $? = 3 ] || wrong "exit code with tacho behind it: $(head -3 job.err)"
	rm -rf preload.tacho
done

if grep -q '^Seccomp' /proc/self/status; then
	for mode in strict prctl syscall; do
		name="a filter: $mode"
		same ./filter_job $mode
		recorded ' write:'
		"$TACHO" info run-$n.tacho | grep -q 'restricts its system calls' || wrong "the run does not say that it ends early"
	done
	name="a filter from before exec"
	same ./filter_job exec
	name="no filter"
	same ./filter_job talk
	recorded ' write:'
fi
[ $failed = 0 ] && echo "all as without tacho"
exit $failed
