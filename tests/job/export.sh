#!/usr/bin/env bash
# Exports of a real recording: whole files that other parsers read, or none.
set -eu
work=$(mktemp -d)
trap 'umount -l "$work/mount" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"
${CC:-cc} -O1 -Wall -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread
"$TACHO" record -q --probes alloc -o runs.tacho -- ./guest_job fork >/dev/null
"$TACHO" record -q --probes alloc -o work.tacho -- ./guest_job fill 20000 >/dev/null || [ $? = 3 ]

fail() {
	echo "$*"
	exit 1
}

# Whatever the format and the way out, the same bytes; the name is the run's.
for format in chrome:json perfetto:pftrace; do
	name=${format%:*} file=work.${format#*:}
	"$TACHO" export work.tacho --to $name 2>said.txt
	grep -q "Wrote $file" said.txt || fail "no word on $file: $(cat said.txt)"
	"$TACHO" export work.tacho/ --to $name -o - >stdout.bin 2>said.txt
	[ -s said.txt ] && fail "said something beside standard output: $(cat said.txt)"
	cmp $file stdout.bin
	[ "$(stat -c %a $file)" = "$(printf %o $((0666 & ~$(umask))))" ] || fail "mode of $file"

	cp $file before
	echo old >$file
	"$TACHO" export work.tacho --to $name 2>said.txt && fail "replaced $file"
	[ "$(cat $file)" = old ] || fail "touched $file"
	"$TACHO" export work.tacho --to $name --force 2>said.txt
	cmp $file before

	"$TACHO" export work.tacho --to $name -o - 2>said.txt >/dev/full && fail "disk full unnoticed"
	[ "$(wc -l <said.txt)" = 1 ] || fail "not one message: $(cat said.txt)"
	grep -q 'No space left' said.txt
	if mkdir -p mount && mount -t tmpfs -o size=64k tmpfs mount 2>/dev/null; then
		status=0
		"$TACHO" export work.tacho --to $name -o mount/out 2>said.txt || status=$?
		[ $status = 2 ] || fail "disk full: exit code $status"
		[ "$(wc -l <said.txt)" = 1 ] || fail "not one message: $(cat said.txt)"
		[ -z "$(ls -A mount)" ] || fail "left behind: $(ls -A mount)"
		umount -l mount
	fi
done

# All that was recorded is in the file.
for run in work runs; do
	"$TACHO" export $run.tacho --to chrome -o $run.json --force 2>/dev/null
	python3 "$TACHO_SOURCE_DIR/tests/support/chrome_lines.py" $run.json >lines.txt
	"$TACHO" info $run.tacho --json >info.json
	python3 - <<'EOF'
import json
lines = open("lines.txt").read().splitlines()
info = json.load(open("info.json"))
slices = [line for line in lines if line.startswith("slice|")]
assert len(slices) == info["kinds"]["annotation"], (len(slices), info["kinds"])
assert len({line.split("|")[1] for line in slices}) == len(info["processes"]), info["processes"]
EOF
done

# Ctrl-C leaves nothing.
mkdir stopped
("$TACHO" export work.tacho work.tacho runs.tacho --to chrome -o stopped/out.json 2>/dev/null & echo $! >pid; wait) &
for _ in $(seq 200); do
	[ -s pid ] && kill -TERM "$(cat pid)" 2>/dev/null && break
	sleep 0.002
done
wait
[ -z "$(ls -A stopped | grep -v '^out.json$' || true)" ] || fail "left behind: $(ls -A stopped)"

# The same of a folder: a full disk, a signal at the call that makes it and while a stream is in it.
if mkdir -p mount && mount -t tmpfs -o size=64k tmpfs mount 2>/dev/null; then
	status=0
	"$TACHO" export work.tacho --to ctf -o mount/out.ctf 2>said.txt || status=$?
	[ $status = 2 ] || fail "disk full: exit code $status"
	[ "$(wc -l <said.txt)" = 1 ] || fail "not one message: $(cat said.txt)"
	grep -q 'No space left' said.txt || fail "$(cat said.txt)"
	[ -z "$(ls -A mount)" ] || fail "left behind: $(ls -A mount)"
	umount -l mount
fi

# Nor does a signal that comes at the very call that makes the temporary file. On one core tacho has one
# thread, and makes its calls in the same order each time.
core=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')

# signalled CALL PATTERN: the signal comes at the last call of that name whose line matches
signalled() {
	rm -rf stopped && mkdir stopped
	strace -f -e "trace=$1" -o calls.txt taskset -c "$core" "$TACHO" export work.tacho --to ctf -o stopped/out.ctf 2>/dev/null
	call=$(grep "$1(" calls.txt | grep -n "$2" | tail -n 1 | cut -d: -f1)
	[ -n "$call" ] || fail "no $1 with $2"
	rm -rf stopped/* && status=0
	strace -f -o /dev/null -e "trace=$1" -e "inject=$1:signal=TERM:when=$call" \
		taskset -c "$core" "$TACHO" export work.tacho --to ctf -o stopped/out.ctf 2>/dev/null || status=$?
	[ $status = 143 ] || fail "the signal came to nothing: exit code $status"
	[ -z "$(ls -A stopped)" ] || fail "left behind: $(ls -A stopped)"
}
if strace -o /dev/null true 2>/dev/null; then
	# LeakSanitizer traces its own process, which cannot be done to one that strace does it to
	export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
	signalled mkdir 'out.ctf'
	signalled openat 'stream_0'
	rm -rf stopped && mkdir stopped
	strace -f -e trace=openat -o calls.txt taskset -c "$core" "$TACHO" export work.tacho --to chrome -o stopped/out.json 2>/dev/null || true
	call=$(grep openat calls.txt | grep -n O_EXCL | head -n 1 | cut -d: -f1)
	[ -n "$call" ] || fail "no temporary file made"
	rm -rf stopped/* && status=0
	strace -f -o /dev/null -e trace=openat -e inject=openat:signal=TERM:when="$call" \
		taskset -c "$core" "$TACHO" export work.tacho --to chrome -o stopped/out.json 2>/dev/null || status=$?
	[ $status = 143 ] || fail "the signal came to nothing: exit code $status"
	[ -z "$(ls -A stopped)" ] || fail "left behind: $(ls -A stopped)"
fi
echo "exports are whole or not there"
