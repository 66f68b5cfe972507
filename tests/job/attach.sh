#!/usr/bin/env bash
# tacho attach and stop: programs that are attached to in the middle of malloc, fork, vfork, system calls, the loader, a signal handler and
# with 200 threads go on as if nothing had been; who cannot be attached to is refused with a reason.
# TACHO_ATTACH_TRIALS sets how often each (2; `make attach-trials`: 20), TACHO_ATTACH_MOMENTS which ("refused" alone: none).
set -u
trials=${TACHO_ATTACH_TRIALS:-2}
moments=${TACHO_ATTACH_MOMENTS:-malloc mallocs fork vfork calls epoll sleep loader handler threads vectors arena refused}
work=$(mktemp -d)
pids=()
trap 'for p in "${pids[@]}"; do kill -9 $p 2>/dev/null; done; rm -rf "$work"' EXIT
cd "$work" || exit 1
job=$TACHO_SOURCE_DIR/tests/job/attach_job.c
${CC:-cc} -O1 -Wall "$job" -o attach_job -lpthread || exit 1
fail() { echo "$*"; exit 1; }

# begin NAME COMMAND... : start it; its id is in $pid
begin() {
	local name=$1
	shift
	"$@" >"$name.out" 2>"$name.err" &
	pid=$!
	pids+=($pid)
	for ((i = 0; i < 400; i++)); do
		[ -s "$name.out" ] && return
		sleep 0.05
	done
	fail "$name has not begun"
}
# finish NAME SECONDS : end it by SIGTERM; it must end well, and within that time
finish() {
	kill -TERM $pid
	for ((i = 0; i < $2 * 20; i++)); do
		kill -0 $pid 2>/dev/null || break
		sleep 0.05
	done
	kill -9 $pid 2>/dev/null && fail "$1 hangs"
	wait $pid
	status=$?
	[ $status = 0 ] || { cat "$1.err"; fail "$1 ended with $status"; }
}
# A sleep that was interrupted goes on with what is left: by restart_syscall (219 on x86-64, 128 on AArch64), not from its begin.
sleeps_the_rest() {
	local number

	for ((i = 0; i < 100; i++)); do
		read -r number _ <"/proc/$pid/syscall"
		case $number in 219 | 128) return ;; esac
		sleep 0.05
	done
	fail "the program does not go on with its sleep: it is in system call $number"
}

# --- bad moments: nothing of these programs is recorded but that they are attached to ---
"$TACHO" attach 1 --bogus 2>/dev/null && fail "a wrong option was taken"
for moment in ${moments/refused/}; do
	program=(./attach_job "$moment" "${TACHO_ATTACH_PACE:-1}")
	# with one arena only, which the one thread shares with what comes in
	[ "$moment" = arena ] && program=(env MALLOC_ARENA_MAX=1 ./attach_job malloc)
	begin "$moment" "${program[@]}"
	for ((trial = 1; trial <= trials; trial++)); do
		timeout 120 "$TACHO" attach -q --json --force -o run.tacho --duration 50ms $pid >attach.out 2>attach.err ||
			{ cat attach.err; fail "$moment, trial $trial: tacho attach has failed"; }
		[ "$moment" != sleep ] || sleeps_the_rest
		sed -n 's/.*"stopped_us":\([0-9]*\).*/\1/p' attach.out >>"$moment.us"
	done
	finish "$moment" 60
	echo "$moment: $trials times, a thread was stopped for $(sort -n "$moment.us" | sed -n '1p;$p' | awk '
		{ ms[NR] = $1 / 1000 } END { printf "%.1f to %.1f ms", ms[1], ms[NR] }')"
done
[ "$moments" = "${moments/refused/}" ] && exit 0

# --- refused ---
# refused WHAT TEXT COMMAND... : tacho attach says TEXT of the process
refused() {
	local what=$1 text=$2
	shift 2
	begin refused "$@"
	timeout 60 "$TACHO" attach -o refused.tacho --duration 100ms "${victim:-$pid}" 2>attach.err
	[ $? = 2 ] || { cat attach.err; fail "$what was not refused"; }
	grep -q "$text" attach.err || { cat attach.err; fail "$what was refused without its reason"; }
	[ -e refused.tacho ] && fail "$what: a folder is left behind"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
}
echo 'int main(void) { puts("ready"); fflush(stdout); for (;;) pause(); }' >wait.c
${CC:-cc} -static -include stdio.h -include unistd.h wait.c -o static_job &&
	refused "a static program" "statically linked" ./static_job
if ${CC:-cc} -m32 -include stdio.h -include unistd.h wait.c -o other_job 2>/dev/null; then
	refused "a 32-bit program" "32-bit" ./other_job
fi
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	refused "another user's process" "another user" setpriv --reuid 65534 --clear-groups ./attach_job epoll
	${CC:-cc} -include stdio.h -include unistd.h wait.c -o suid_job && chown 65534 suid_job && chmod 4755 suid_job
	refused "a set-uid program" "set-uid" ./suid_job
fi
if command -v strace >/dev/null; then
	begin traced ./attach_job epoll
	strace -o /dev/null -p $pid 2>/dev/null &
	tracer=$!
	pids+=($tracer)
	for ((i = 0; i < 100; i++)); do
		grep -q '^TracerPid:.[^0]' /proc/$pid/status && break
		sleep 0.05
	done
	timeout 60 "$TACHO" attach -o refused.tacho --duration 100ms $pid 2>attach.err && fail "a traced process was taken"
	grep -q "traced already" attach.err || { cat attach.err; fail "a traced process was refused without its reason"; }
	kill $tracer
	wait $tracer 2>/dev/null
fi
begin stopped ./attach_job malloc # epoll_wait says EINTR after SIGCONT
kill -STOP $pid
timeout 60 "$TACHO" attach -o refused.tacho --duration 100ms $pid 2>attach.err && fail "a stopped process was taken"
grep -q "is stopped" attach.err || { cat attach.err; fail "a stopped process was refused without its reason"; }
kill -CONT $pid
finish stopped 30
timeout 60 "$TACHO" attach -o refused.tacho $pid 2>attach.err
[ $? = 2 ] && grep -q "does not exist" attach.err || { cat attach.err; fail "a process that has ended was not refused"; }
