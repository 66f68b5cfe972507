#!/usr/bin/env bash
# The relay of the validation kit carries a connection between two namespaces, whole and later: an echo
# through it takes no less than the delay both ways, but for ticks. It and its devices are gone when it was told to end.
set -u
skip() {
	echo "$1"
	exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can make network namespaces"
[ -c /dev/net/tun ] || skip "no /dev/net/tun"
command -v ip >/dev/null || skip "no ip"
work=$(mktemp -d)
a=tachorelay-$$-a b=tachorelay-$$-b
cleanup() {
	kill "${relay:-}" "${echo_server:-}" 2>/dev/null
	ip netns del $a 2>/dev/null
	ip netns del $b 2>/dev/null
	rm -rf "$work"
}
trap cleanup EXIT
fail() {
	echo "$1"
	exit 1
}
ip netns add $a 2>/dev/null && ip netns add $b || skip "no network namespaces"
# A device that is up sends IPv6 discovery by itself, which is dropped while the other is not up yet.
for namespace in $a $b; do
	ip netns exec $namespace sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' 2>/dev/null
done
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined \
	"$TACHO_SOURCE_DIR/validate/latency_relay.c" -o "$work/relay" || fail "does not compile"

for wrong in "" "$a:x" "--delay-us -1 $a:x $b:x" "--delay-us 1s $a:x $b:x" "$a:x no-such-namespace:x" "$a $b" \
	"$a:a-name-too-long-for-a-device $b:x"; do
	# shellcheck disable=SC2086
	"$work/relay" $wrong >/dev/null 2>&1 && fail "accepted: $wrong"
done

mkfifo "$work/said"
"$work/relay" --delay-us 20000 --queue-mb 1 $a:r0 $b:r0 >"$work/said" 2>"$work/err" &
relay=$!
exec 3<"$work/said"
read -r line <&3
[ "$line" = ready ] || skip "no TAP devices: $(cat "$work/err")"
ip -n $a address add 10.78.0.1/24 dev r0 && ip -n $a link set r0 up || fail "device a"
ip -n $b address add 10.78.0.2/24 dev r0 && ip -n $b link set r0 up || fail "device b"

cat >"$work/echo.py" <<'PYTHON'
import hashlib, socket, sys, time

if sys.argv[1] == "server":
    with socket.create_server(("10.78.0.2", 7777)) as server:
        print("listening", flush=True)
        connection = server.accept()[0]
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        sys.exit(0)
with socket.create_connection(("10.78.0.2", 7777), timeout=60) as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for size in (1, 1000, 300000):
        sent = hashlib.sha256(str(size).encode()).digest() * (size // 32 + 1)
        sent = sent[:size]
        began = time.monotonic()
        connection.sendall(sent)
        got = b""
        while len(got) < size:
            part = connection.recv(1 << 16)
            assert part, "the connection ended"
            got += part
        took_ms = 1000 * (time.monotonic() - began)
        assert got == sent, f"{size} bytes came back as others"
        assert took_ms >= 39, f"{size} bytes came back after {took_ms} ms"
PYTHON
mkfifo "$work/listens"
ip netns exec $b python3 "$work/echo.py" server >"$work/listens" &
echo_server=$!
read -r _ <"$work/listens"
ip netns exec $a python3 "$work/echo.py" client || fail "the echo"
kill -TERM $relay
read -r totals <&3
wait $relay || fail "the relay ended with $?: $(cat "$work/err")"
[ -s "$work/err" ] && fail "said: $(cat "$work/err")"
python3 -c 'import json, sys
totals = json.loads(sys.argv[1])
assert totals["frames"] > 10 and totals["bytes"] > 600000 and totals["dropped"] == 0, totals' "$totals" ||
	fail "the totals"
ip -n $a link show r0 >/dev/null 2>&1 && fail "the device is still there"
exit 0
