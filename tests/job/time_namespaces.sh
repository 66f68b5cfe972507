#!/usr/bin/env bash
# Two hosts that are time namespaces, each with a recording of its own: CLOCK_MONOTONIC is 1000 s ahead
# in one, a day in the other. tacho knows that it is one machine, and its times compare as they are.
# Where it is told that they are two, and the second's clock is declared as if there were no time
# namespaces, they are aligned: tests/support/clock_truth.py.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
unshare --time --fork --monotonic 1000 true 2>/dev/null ||
	{ echo "no time namespaces, or not for us: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"

evidence=collectives
interface=$(ip -o addr show up scope global 2>/dev/null | awk '{ sub(/@.*/, "", $2); print $2; exit }')
if [ -n "$interface" ]; then
	export GLOO_SOCKET_IFNAME=$interface
	evidence="collectives and messages"
fi

# record_host RANK AHEAD_S PORT: one rank, recorded from within its time namespace
record_host()
{
	rm -rf "$work/rank$1"
	RANK=$1 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$3 \
		unshare --time --fork --monotonic "$2" \
		"$TACHO" record -q --clock monotonic -o "$work/rank$1" -- "$python" \
		"$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 12 --batch 4 >/dev/null
}

record_hosts()
{
	local port=$((20000 + RANDOM % 12000)) other status=0

	set -m # a process group of its own
	record_host 1 86400 $port &
	other=$!
	set +m
	record_host 0 1000 $port || status=1
	[ $status = 0 ] || kill -- -$other 2>/dev/null
	wait $other && return $status
}
# the port may be somebody's
record_hosts || record_hosts || record_hosts

cat >"$work/check.py" <<'END'
import shutil
import sys

import clock_truth

S = 10**9

tacho, work, evidence = sys.argv[1:]
truth = [work + "/rank0", work + "/rank1"]
declared = [path + ".declared" for path in truth]
for path, copy in zip(truth, declared):
    shutil.copytree(path, copy)
ranks = clock_truth.read(*declared)
ahead_ns = {rank: metadata.integer("monotonic_ahead_ns") for rank, metadata in ranks.items()}
assert ahead_ns == {0: 1000 * S, 1: 86400 * S}, ahead_ns

# Ticks of the two are so far apart at the same moment, which what is declared takes account of.
base, rate = clock_truth.error_line(ranks[0], ranks[1])
assert rate == 1
base += ahead_ns[1] - ahead_ns[0]
assert abs(base) < S, base
# Undo that on rank 1.
ranks[1].clock["offset_s"] += ahead_ns[1] // S
base += ahead_ns[1]
for rank, metadata in ranks.items():
    metadata.machine = {"hostname": f"host{rank}", "boot_id": f"boot{rank}"}
    metadata.write()
clock_truth.check(tacho, declared, truth, (base, rate), evidence)
END
"$python" "$work/check.py" "$TACHO" "$work" "$evidence"
