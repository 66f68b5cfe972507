# Sourced by tests/job/*_probe.sh: run a program with and without probes, and look at what they wrote.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

skip() {
	echo "skipped: $*"
	exit 77
}

fail() {
	echo "failed: $*" >&2
	failures=$((failures + 1))
}

# record PROBES COMMAND...: the command with the agent and the probes (words) preloaded; its output
# must be what it is without. What was recorded is then in $work/events, one line a record.
record() {
	local probes=$1 preload=$TACHO_BUILD_DIR/lib/tacho/libtacho.so probe status
	shift
	for probe in $probes; do
		preload=$preload:$TACHO_BUILD_DIR/lib/tacho/libtacho_$probe.so
	done
	rm -rf "$work/run" && mkdir "$work/run"
	"$@" >"$work/expected" 2>"$work/expected.err"
	status=$?
	TACHO_RUN_DIR=$work/run LD_PRELOAD=$preload "$@" >"$work/actual" 2>"$work/actual.err"
	[ $? = $status ] || fail "exit code of $1 differs from $status: $(cat "$work/actual.err")"
	diff "$work/expected" "$work/actual" || fail "output of $1 differs"
	diff "$work/expected.err" "$work/actual.err" >"$work/said"
	babeltrace2 "$work/run" >"$work/events" 2>"$work/babeltrace.err" ||
		fail "babeltrace2: $(cat "$work/babeltrace.err")"
}

# expect COUNT NAME PATTERN: so many records of that name match the pattern (grep -E).
expect() {
	local count

	count=$(grep -F " $2: {" "$work/events" | grep -cE "$3")
	[ "$count" = "$1" ] || fail "$count instead of $1 records '$2' match '$3'"
}

# expect_up_to MOST NAME PATTERN: at least one, and no more than that.
expect_up_to() {
	local count

	count=$(grep -F " $2: {" "$work/events" | grep -cE "$3")
	[ "$count" -ge 1 ] && [ "$count" -le "$1" ] || fail "$count instead of 1 to $1 records '$2' match '$3'"
}

# dims M N ...: the pattern of a kernel's dims.
dims() {
	local pattern='' index=0 size

	for size in "$@"; do
		pattern="$pattern, \[$index\] = $size"
		index=$((index + 1))
	done
	echo "dims = \[ ${pattern#, } \]"
}

finish() {
	[ $failures = 0 ] || sed 's/^/  | /' "$work/events" | head -40
	exit $((failures > 0))
}
