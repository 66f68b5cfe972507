#!/usr/bin/env bash
# Two ranks, one of them on a host of its own, as it says, whose clock is 5 s ahead and 50 ppm fast, as
# its trace declares (the agent's test_clock and test_host): tests/support/clock_truth.py.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 PYTHONPATH="$TACHO_SOURCE_DIR/tests/support"

# The loopback does not join two hosts. Where there is no other address, no message is paired, and
# collectives alone must do.
evidence=collectives
interface=$(ip -o addr show up scope global 2>/dev/null | awk '{ sub(/@.*/, "", $2); print $2; exit }')
if [ -n "$interface" ]; then
	export GLOO_SOCKET_IFNAME=$interface
	evidence=messages
fi

cat >"$work/rank.sh" <<'END'
#!/bin/sh
[ "$RANK" = 0 ] || export TACHO_TEST_CLOCK=5000000000,50000 TACHO_TEST_HOST=other
exec "$@"
END
chmod +x "$work/rank.sh"
"$TACHO" record -q -n 2 -o "$work/declared" -- "$work/rank.sh" "$python" \
	"$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 12 --batch 4 >/dev/null

cat >"$work/check.py" <<'END'
import shutil
import sys

import clock_truth

tacho, work, evidence = sys.argv[1:]
shutil.copytree(work + "/declared", work + "/truth")
ranks = clock_truth.read(work + "/truth")
error = clock_truth.error_line(ranks[0], ranks[1])
assert 49 < (error[1] - 1) * 10**6 < 51, error
assert ranks[1].machine == {"hostname": "other", "boot_id": "other"}, ranks[1].machine
ranks[1].clock = ranks[0].clock
ranks[1].machine["boot_id"] = ranks[0].machine["boot_id"]
ranks[1].write()
clock_truth.check(tacho, [work + "/declared"], [work + "/truth"], {1: error}, evidence)
END
"$python" "$work/check.py" "$TACHO" "$work" "$evidence"
