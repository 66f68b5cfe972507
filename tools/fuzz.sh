#!/usr/bin/env bash
# fuzz.sh [--keep] SECONDS [-seed=N] [LIBFUZZER OPTION...] [TARGET...]: run the fuzz targets of build/fuzz, or those named, for
# so long in all, as many at a time as there are cores, each as long as the others. A crash is an error; the input that crashed
# is left in build/fuzz/crashes.
#
# Without -seed= the seed follows from the commit, so that CI tries other inputs for each change, and the same if it is run
# again. It is printed, with the command that does the same once more.
# With --keep, what was found of use goes on from one time to the next, in build/fuzz/corpus (tools/grow_corpus.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

keep=0
if [ "$1" = --keep ]; then
	keep=1
	shift
fi
total=$1
shift
seed=
options=()
names=()
for word; do
	case $word in
	-seed=*) seed=${word#-seed=} ;;
	-*) options+=("$word") ;;
	*) names+=("$word") ;;
	esac
done
if [ ! "$seed" ]; then
	commit=$(git rev-parse HEAD 2>/dev/null || echo 1)
	seed=$((16#${commit:0:7} + 1))
fi
if [ ${#names[@]} = 0 ]; then
	for target in build/fuzz/tests/fuzz_*; do
		[ ! -x "$target" ] || [ ! -f "$target" ] || names+=("$(basename "$target")")
	done
fi
if [ ${#names[@]} = 0 ]; then
	echo "fuzzing: there is no fuzz target in build/fuzz/tests" >&2
	exit 1
fi
jobs=$(nproc)
seconds=$((total * jobs / ${#names[@]}))
[ "$seconds" -gt 0 ] || seconds=1

# As in test.sh.
runner=()
if setarch -R true 2>/dev/null; then
	runner=(setarch -R)
fi
seeds=$PWD/tests/fuzz/corpus
mkdir -p build/fuzz/crashes build/fuzz/corpus
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

again() { # [TARGET]
	printf 'tools/fuzz.sh'
	[ $keep = 0 ] || printf ' --keep'
	printf ' %s' "$total" "-seed=$seed" "${options[@]}" "$@"
	printf '\n'
}

fuzz() { # NAME
	local name=$1 corpus=$scratch/$1 log=build/fuzz/$1.log status=0 words

	[ $keep = 0 ] || corpus=build/fuzz/corpus/$name
	words=(-max_total_time="$seconds" -timeout=120 -rss_limit_mb=2048 -reload=0 -seed="$seed" "${options[@]}"
		-artifact_prefix=build/fuzz/crashes/"$name"- "$corpus")
	mkdir -p "$corpus"
	[ ! -d "$seeds/$name" ] || words+=("$seeds/$name")
	"${runner[@]}" "build/fuzz/tests/$name" "${words[@]}" >"$log" 2>&1 || status=$?
	if [ $status = 0 ]; then
		echo "fuzzing: $name: $(tail -n 1 "$log")"
		return
	fi
	{
		tail -n 50 "$log"
		echo "fuzzing: $name failed (status $status). The input is in build/fuzz/crashes; to see it again:"
		echo "    ${runner[*]} build/fuzz/tests/$name build/fuzz/crashes/$name-..."
		echo "to find it again, of the same commit (for $((seconds)) s):"
		echo "    ${runner[*]} build/fuzz/tests/$name ${words[*]}"
	} >&2
	return 1
}

echo "fuzzing: ${#names[@]} targets, $seconds s each, $jobs at a time, seed $seed"
echo "fuzzing: to do the same once more:  $(again)"
running=0
failed=0
for name in "${names[@]}"; do
	if [ $running = "$jobs" ]; then
		wait -n || failed=1
		running=$((running - 1))
	fi
	fuzz "$name" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=1
	running=$((running - 1))
done
exit $failed
