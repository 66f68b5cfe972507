#!/usr/bin/env bash
# record --keep-last Nsteps keeps the newest N steps that have ended, whole, and of what is older no more than what shares a file with them;
# a job that has fewer loses nothing.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_RUNTIME_DIR=$work
${CC:-cc} -O2 -D_GNU_SOURCE -I"$TACHO_SOURCE_DIR/include" -x c - -o job <<'END'
#include <stdlib.h>
#include <unistd.h>

#include <tacho/mark.h>

/* STEPS PAUSE_US: steps of 400 ranges; the first half of them are shorter. */
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 0, pause_us = argc > 2 ? atol(argv[2]) : 0;

	for (long step = 0; step < n; step++) {
		TACHO_MARK_STEP(step);
		for (int i = 0; i < 400; i++)
			tacho_mark_end(TACHO_MARK_BEGIN("part"));
		usleep((useconds_t)(step < n / 2 ? pause_us / 2 : pause_us));
	}
	return 0;
}
END
value() { "$TACHO" query --format csv "$1" "$2" | tail -1; }
# check RUN STEPS KEPT: the newest KEPT of the job's STEPS are whole, and so few of the older that files of 4 MiB explain them
check()
{
	local n_whole n_all

	n_whole=$(value "$1" "SELECT count(*) FROM step WHERE is_complete")
	n_all=$(value "$1" "SELECT count(*) FROM slice WHERE name = 'part'")
	[ "$n_whole" -ge $(($3 - 1)) ] || { echo "$1: only $n_whole whole steps are there"; return 1; }
	[ "$n_all" -ge $(($3 * 400)) ] || { echo "$1: only $n_all ranges are there"; return 1; }
	# 32 bytes each; two files of 4 MiB are in use, one is not known to be full, one holds the oldest that is kept
	[ "$n_all" -le $(($3 * 400 + 4 * 131072)) ] || { echo "$1: $n_all ranges are there"; return 1; }
}

"$TACHO" record -q --probes none --keep-last 50steps -o fifty.tacho -- ./job 2500 6000
check fifty.tacho 2500 50
grep -q keep-last fifty.tacho/losses || { echo "nothing was removed"; exit 1; }
[ "$(value fifty.tacho "SELECT count(*) < 2000 FROM step")" = 1 ] || { echo "all steps are there"; exit 1; }
# two ranks, far fewer steps than there are to keep
"$TACHO" record -q --probes none -n 2 --keep-last "1000 steps" -o few.tacho -- ./job 100 1000
[ "$(value few.tacho "SELECT count(*) FROM slice WHERE name = 'part'")" = 80000 ] || { echo "something is lost"; exit 1; }
[ ! -e few.tacho/losses ]
for wrong in 0steps 99999999steps -1steps 20stairs steps; do
	! "$TACHO" record --keep-last=$wrong -o wrong.tacho -- true 2>said || { echo "$wrong was taken"; exit 1; }
	grep -q 'keep-last' said
done

# steps that an optimizer tells
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: the rest is left out"; exit 0; }
OMP_NUM_THREADS=1 "$TACHO" record -q --keep-last 20steps -o torch.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" \
	--model mlp --width 64 --steps 800 --batch 8 --read-ms 2 >log 2>&1 || { tail log; exit 1; }
n=$(value torch.tacho "SELECT count(*) FROM step WHERE is_complete")
[ "$n" -ge 19 ] && [ "$n" -lt 700 ] || { echo "torch.tacho has $n whole steps"; cat log; exit 1; }
