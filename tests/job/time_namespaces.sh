#!/usr/bin/env bash
# Three hosts that are time namespaces, each with a recording of its own: CLOCK_MONOTONIC is 1000 s ahead
# in one, a day in the next, an hour in the third, and CLOCK_BOOTTIME is off by something else. Where that is allowed each
# is a network namespace, too. tacho knows that it is one machine, and its times compare as they are.
# Where it is told that they are three, and the clocks of the others are declared as if there were no time
# namespaces, they are aligned, and the step replayed is the same: tests/support/clock_truth.py.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
unshare --time --fork --monotonic 1000 true 2>/dev/null ||
	{ echo "no time namespaces, or not for us: skipped"; exit 77; }
work=$(mktemp -d)
hosts=()
cleanup()
{
	for host in "${hosts[@]}"; do
		ip netns del "$host" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap cleanup EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"
monotonic_s=(1000 86400 3600)
boottime_s=(5000 0 7200)

# The first host's device is a bridge, to which the others are connected.
make_hosts()
{
	local rank
	[ "$(id -u)" = 0 ] && command -v ip >/dev/null || return
	for rank in 0 1 2; do
		ip netns add "tachotime-$$-$rank" || return
		hosts+=("tachotime-$$-$rank")
		ip -n "${hosts[rank]}" link set lo up || return
	done
	ip -n "${hosts[0]}" link add link0 type bridge || return
	for rank in 1 2; do
		ip link add link0 netns "${hosts[rank]}" type veth \
			peer name "port$rank" netns "${hosts[0]}" || return
		ip -n "${hosts[0]}" link set "port$rank" master link0 up || return
	done
	for rank in 0 1 2; do
		ip -n "${hosts[rank]}" address add "10.79.0.$((rank + 1))/24" dev link0 || return
		ip -n "${hosts[rank]}" link set link0 up || return
	done
}

evidence=messages
if make_hosts 2>/dev/null; then
	export GLOO_SOCKET_IFNAME=link0 MASTER_ADDR=10.79.0.1
else
	for host in "${hosts[@]}"; do
		ip netns del "$host" 2>/dev/null || true
	done
	hosts=()
	export MASTER_ADDR=127.0.0.1
	interface=$(ip -o addr show up scope global 2>/dev/null | awk '{ sub(/@.*/, "", $2); print $2; exit }')
	if [ -n "$interface" ]; then
		export GLOO_SOCKET_IFNAME=$interface
	else
		evidence=collectives # the loopback does not join hosts
	fi
fi

# record_host RANK PORT: one rank, recorded from within its namespaces
record_host()
{
	local enter=()
	[ ${#hosts[@]} = 0 ] || enter=(ip netns exec "${hosts[$1]}")
	rm -rf "$work/rank$1"
	RANK=$1 WORLD_SIZE=3 MASTER_PORT=$2 "${enter[@]}" \
		unshare --time --fork --monotonic "${monotonic_s[$1]}" --boottime "${boottime_s[$1]}" \
		"$TACHO" record -q --clock monotonic -o "$work/rank$1" -- "$python" \
		"$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 10 --batch 4 >/dev/null
}

record_hosts()
{
	local port=$((20000 + RANDOM % 12000)) others=() other status=0

	set -m # process groups of their own
	for other in 1 2; do
		record_host $other $port &
		others+=($!)
	done
	set +m
	record_host 0 $port || status=1
	for other in "${others[@]}"; do
		[ $status = 0 ] || kill -- -"$other" 2>/dev/null || true
		wait "$other" || status=1
	done
	return $status
}
# where there are no network namespaces, the port may be somebody's
record_hosts || record_hosts || record_hosts

# In one folder they are one run, as they are when each is named.
mkdir "$work/job"
for rank in 0 1 2; do
	cp -r "$work/rank$rank" "$work/job/"
done
"$TACHO" report --view step --json "$work/rank0" "$work/rank1" "$work/rank2" >"$work/named.json"
"$TACHO" report --view step --json "$work/job" >"$work/folder.json"
cmp "$work/named.json" "$work/folder.json"

cat >"$work/check.py" <<'END'
import shutil
import sys

import clock_truth

S = 10**9

tacho, work, evidence = sys.argv[1:]
truth = [f"{work}/rank{rank}" for rank in range(3)]
declared = [path + ".declared" for path in truth]
for path, copy in zip(truth, declared):
    shutil.copytree(path, copy)
ranks = clock_truth.read(*declared)
ahead_ns = {rank: metadata.integer("monotonic_ahead_ns") for rank, metadata in ranks.items()}
assert ahead_ns == {0: 1000 * S, 1: 86400 * S, 2: 3600 * S}, ahead_ns

errors = {}
for rank in 1, 2:
    # Ticks of two are so far apart at the same moment, which what is declared takes account of.
    base, rate = clock_truth.error_line(ranks[0], ranks[rank])
    assert rate == 1
    base += ahead_ns[rank] - ahead_ns[0]
    assert abs(base) < S, base
    # Undo that.
    ranks[rank].clock["offset_s"] += ahead_ns[rank] // S
    errors[rank] = base + ahead_ns[rank], rate
for rank, metadata in ranks.items():
    metadata.machine = {"hostname": f"host{rank}", "boot_id": f"boot{rank}"}
    metadata.write()
clock_truth.check(tacho, declared, truth, errors, evidence)
END
"$python" "$work/check.py" "$TACHO" "$work" "$evidence"
