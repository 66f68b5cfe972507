#!/usr/bin/env bash
# run.sh [quick|long|all] [PATTERN]: run the programs of programs.txt, those whose name matches PATTERN (grep -E),
# with and without `tacho record`, each in an empty folder; same standard output, standard error (but for lines
# of tacho's own), exit code and files. TACHO, TACHO_SOURCE_DIR and TACHO_BUILD_DIR as in the tests. Exit 1: one
# differs.
#
# A program that is not installed is left out by name. One that differs is run some times more without tacho, beside
# endless loops, which bring out what depends on time: where it differs from itself, that says nothing of tacho, and it
# is named apart. So is one that differed once and then no more. TACHO_PROGRAMS: another list than programs.txt.
set -u
which=${1:-quick}
pattern=${2:-.}
work=$(mktemp -d)
loops=()
trap 'end_loops; chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
cc=${CC:-cc}
source=$TACHO_SOURCE_DIR/tests
$cc -O1 -D_GNU_SOURCE "$source/job/guest_job.c" -o "$work/guest" -lpthread || exit 1
$cc -O1 -D_GNU_SOURCE "$source/job/filter_job.c" -o "$work/filter" -lpthread || exit 1
export GUEST=$work/guest FILTER=$work/filter STACK=$TACHO_BUILD_DIR/tests/stack_use
export TESTS=$TACHO_BUILD_DIR/tests JOBS=$source/job ONNX=$TACHO_SOURCE_DIR/build/onnxruntime
export GRPC_CALLS=$TACHO_BUILD_DIR/tests/grpc_calls GRPC_CORE=$TACHO_BUILD_DIR/tests/grpc_core
export LC_ALL=C.UTF-8 HOME=$work OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ulimit -c 0

# do_it NAME LAUNCHER...: run $command in an empty folder; what came of it is then in $work/NAME.*
do_it() {
	local name=$1
	shift
	rm -rf "$work/here" && mkdir "$work/here"
	(cd "$work/here" && timeout 300 "$@" bash -c "$command" >"$work/$name.out" 2>"$work/$name.err" </dev/null) 2>/dev/null
	echo $? >"$work/$name.code"
	grep -v '^tacho: ' "$work/$name.err" >"$work/$name.error"
	(cd "$work/here" && find . -type f -size -1M -print0 | sort -z | xargs -0r sha256sum) >"$work/$name.files" 2>&1
}

# differs FIRST SECOND: what does, for people; nothing where they are alike
differs() {
	local part
	for part in code out error files; do
		cmp -s "$work/$1.$part" "$work/$2.$part" || {
			echo "$part"
			diff "$work/$1.$part" "$work/$2.$part" | head -4
		}
	done
}

end_loops() {
	[ ${#loops[@]} = 0 ] || { kill "${loops[@]}" && wait "${loops[@]}"; } 2>/dev/null
	loops=()
}

# steady: it does the same without tacho some times more, on a busy machine
steady() {
	local i result=0
	for i in $(seq "$(nproc)"); do
		while :; do :; done &
		loops+=($!)
	done
	for i in 1 2 3 4; do
		do_it again
		[ -z "$(differs plain again)" ] || { result=1; break; }
	done
	end_loops
	return $result
}

same=0 different=0
absent=() unsteady=() once=()
while IFS='|' read -r name speed needed command; do
	name=$(echo $name)
	read -r speed probes <<<"$speed"
	[ -n "$name" ] && [ "${name#\#}" = "$name" ] || continue
	[ "$which" = all ] || [ "$which" = "$speed" ] || continue
	echo "$name" | grep -qE "$pattern" || continue
	for program in $needed; do
		command -v "$(eval "echo $program")" >/dev/null || { absent+=("$name"); continue 2; }
	done
	do_it plain
	rm -rf "$work/run"
	do_it recorded "$TACHO" record -q --probes "all${probes/#+/,}" -o "$work/run" --
	difference=$(differs plain recorded)
	if [ -n "$difference" ]; then
		first=$difference
		steady || { unsteady+=("$name"); continue; }
		do_it recorded "$TACHO" record -q --force --probes "all${probes/#+/,}" -o "$work/run" --
		difference=$(differs plain recorded)
		[ -n "$difference" ] || once+=("$name: ${first//$'\n'/ }")
	fi
	if [ -n "$difference" ]; then
		echo "$name differs: $difference"
		different=$((different + 1))
	else
		same=$((same + 1))
	fi
done <"${TACHO_PROGRAMS:-$source/conformance/programs.txt}"
echo "$same as without tacho, $different not"
[ ${#absent[@]} = 0 ] || { printf 'not installed:'; printf ' %s;' "${absent[@]}"; echo; }
[ ${#unsteady[@]} = 0 ] || { printf 'not the same twice without tacho:'; printf ' %s;' "${unsteady[@]}"; echo; }
[ ${#once[@]} = 0 ] || { printf 'differs once, then no more:'; printf ' %s;' "${once[@]}"; echo; }
[ $different = 0 ]
