#!/usr/bin/env bash
# tacho watch of a run on a folder that hosts share: a process of another host, of which nobody here sees whether it goes on, is not gone as
# long as it writes, and has not the memory of a process here; when it says that it ends, the run is over.
set -eu
work=$(mktemp -d)
record= watch=
trap '[ -z "$record" ] || kill $record 2>/dev/null || true; [ -z "$watch" ] || kill $watch 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
unshare -u true 2>/dev/null || { echo "no host of another name can be made here: skipped"; exit 77; }
mkdir here there
${CC:-cc} -O2 -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/include" -x c - -o job <<'END'
#include <unistd.h>

#include <tacho/mark.h>

/* Marks steps of 20 ms, until a file is there. */
int main(void)
{
	for (long step = 0; access("end", F_OK) != 0; step++) {
		TACHO_MARK_STEP(step);
		for (int i = 0; i < 100; i++)
			tacho_mark_end(TACHO_MARK_BEGIN("part"));
		usleep(20000);
	}
	return 0;
}
END
XDG_RUNTIME_DIR=$work/there unshare -u sh -c 'echo elsewhere >/proc/sys/kernel/hostname; exec "$@"' sh \
	"$TACHO" record -q --probes none -n 2 -o job.tacho -- ./job >out 2>err &
record=$!
export XDG_RUNTIME_DIR=$work/here
for ((i = 0; i < 300 && $(ls job.tacho/*/0-* 2>/dev/null | wc -l) < 2; i++)); do sleep 0.1; done
"$TACHO" watch job.tacho --json >found 2>said &
watch=$!
sleep 8
kill -0 $watch || { echo "watch took the run for over"; cat found said; exit 1; }
[ ! -s found ] || { echo "something was found:"; cat found; exit 1; }
"$TACHO" top job.tacho --count 1 --json >rows
grep -q '"state":"running"' rows || { echo "top:"; cat rows; exit 1; }
touch end
wait $record || { cat err; exit 1; }
record=
for ((i = 0; i < 300; i++)); do
	kill -0 $watch 2>/dev/null || break
	sleep 0.1
done
[ $i -lt 300 ] || { echo "watch does not see the end"; exit 1; }
wait $watch || { echo "watch ended with $?"; cat found said; exit 1; }
watch=
