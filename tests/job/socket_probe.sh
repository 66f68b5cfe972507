#!/usr/bin/env bash
# The socket probe: each call that moved bytes on a TCP connection is there once, with its bytes and
# both ends; what did not, or was no connection, is not; and gloo's ring sends what an all-reduce needs.
. "$TACHO_SOURCE_DIR/tests/support/probe_run.sh"
command -v babeltrace2 >/dev/null || skip "no babeltrace2"

record socket "$TACHO_BUILD_DIR/tests/socket_calls"
[ -s "$work/said" ] && fail "something was said: $(cat "$work/said")"
sent='is_receive = 0' received='is_receive = 1'
for call in write:100 writev:200 sendto:700 sendmsg:200; do
	expect 1 "${call%:*}" "bytes = ${call#*:}, $sent"
done
for call in read:100 readv:200 recvfrom:700 recvmsg:200; do
	expect 1 "${call%:*}" "bytes = ${call#*:}, $received"
done
for bytes in 300 31 13 5 29 37; do
	expect 1 send "bytes = $bytes, $sent"
done
for bytes in 300 20 11 13 5 29 37 92; do
	expect 1 recv "bytes = $bytes, $received"
done
expect 4 write "bytes = 23, $sent, fd = 100,"
expect 5 write .
expect 6 send .
expect 8 recv .
expect 1 epoll_wait .
# One of the two found something at once; on a busy machine that may take as long as a wait.
expect_up_to 2 epoll_pwait .
expect_up_to 2 poll .
expect 0 recv 'duration = 18446744073709551615'
expect 2 socket 'picoseconds = [1-9][0-9]*, event_kind = 14' # of the process and of its child
expect 2 socket 'picoseconds = [1-9][0-9]*, event_kind = 3,'

# Both ends name the same connection, from their sides.
ports_of() {
	grep -F " $1: {" "$work/events" | grep -F "$2" | sed 's/.*local_port = \([0-9]*\), peer_port = \([0-9]*\),.*/\1 \2/'
}
read -r client server < <(ports_of sendto 'bytes = 700')
[ "$(ports_of recvfrom 'bytes = 700')" = "$server $client" ] || fail "the ends differ"
loopback='\[10\] = 255, \[11\] = 255, \[12\] = 127, \[13\] = 0, \[14\] = 0, \[15\] = 1'
expect 1 sendto "local_address = .*$loopback.*peer_address = .*$loopback"

cat >"$work/times.py" <<'PYTHON'
import sys
from records import named, read

records = read(sys.argv[1])
blocked = [r for r in named(records, "recv") if r["bytes"] == 13][0]
assert blocked.end_ns - blocked.begin_ns > 50 * 10**6, blocked
wait = named(records, "epoll_wait")[0]
assert wait.end_ns - wait.begin_ns >= 29 * 10**6, wait
PYTHON
export PYTHONPATH=$TACHO_SOURCE_DIR/tests/support
python3 "$work/times.py" "$work/run" || fail "the times are wrong"
"$TACHO" report "$work/run" --json >"$work/report.json" 2>"$work/report.err"
"$TACHO" info "$work/run" --json >"$work/info.json" || fail "tacho info does not read it"
python3 -c 'import json, sys
info = json.load(open(sys.argv[1]))
assert info["trust"]["score"] == 100 and info["dropped_events"] == 0, info' "$work/info.json" || fail "not trusted"

# Two ranks reduce S bytes: the ring of two sends S from each.
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || finish
cat >"$work/ring.py" <<'PYTHON'
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
gradient = torch.ones(4 * 2**20)
for _ in range(3):
    dist.all_reduce(gradient)
dist.barrier()
print(gradient.sum().item())
PYTHON
"$TACHO" record -q -n 2 -o "$work/ring" -- "$python" "$work/ring.py" >"$work/ring.out" 2>"$work/ring.err" ||
	fail "the ranks failed: $(cat "$work/ring.err")"
[ "$(grep -o 33554432.0 "$work/ring.out" | wc -l)" = 2 ] || fail "wrong sum: $(cat "$work/ring.out")"
cat >"$work/ring_check.py" <<'PYTHON'
import sys
from records import named, read

records = read(sys.argv[1])
reduces = [r for r in named(records, "gloo:all_reduce") if r["bytes"] == 2**24]
assert len(reduces) == 6, len(reduces)
messages = [r for r in records if "is_receive" in r]
begin = min(r.begin_ns for r in reduces)
end = max(r.end_ns for r in reduces)
inside = [r for r in messages if begin <= r.begin_ns and r.end_ns <= end]
for is_receive in 0, 1:
    moved = sum(r["bytes"] for r in inside if r["is_receive"] == is_receive)
    need = 6 * 2**24
    assert need <= moved < need * 1.001 + 4096, (is_receive, moved, need)
sent = sum(r["bytes"] for r in messages if not r["is_receive"])
received = sum(r["bytes"] for r in messages if r["is_receive"])
assert abs(sent - received) < 4096, (sent, received)
assert named(records, "epoll_wait")
PYTHON
"$python" "$work/ring_check.py" "$work/ring" || fail "gloo's ring is not as it must be"
finish
