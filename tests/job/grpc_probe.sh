#!/usr/bin/env bash
# The gRPC probe: C, and C++'s synchronous, queued and callback clients with each kind of server: bytes, messages, status, pairs; streams, errors, deadlines,
# cancels, nobody there; Ruby, and Python's own copy of gRPC; two hosts whose clocks are 3 ms apart; programs without gRPC.
set -u
work=$(mktemp -d)
hosts=()
cleanup() {
	for host in "${hosts[@]}"; do ip netns del "$host" 2>/dev/null; done
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work" || exit 1
calls=$TACHO_BUILD_DIR/tests/grpc_calls
core=$TACHO_BUILD_DIR/tests/grpc_core
[ -x "$calls" ] && [ -x "$core" ] || { echo "not built: no libgrpc++-dev"; exit 77; }
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv "${runs[@]:-run}" "$1" | tail -n +2; }
# as many pairs of a method, each a call of its own
pairs() { ask "select count(*), count(distinct slice_out), count(distinct slice_in) from flow join slice s on s.id = slice_out where s.name = '$1' and flow.category = 'request'"; }
# with_args KEY...: a table of requests and these args
with_args() {
	local key columns="" joins=""
	for key in "$@"; do
		columns+=", $key.int_value as $key"
		joins+=" left join args $key on $key.arg_set_id = s.arg_set_id and $key.key = '$key'"
	done
	echo "(select s.name, s.dur, side.string_value as side$columns from slice s join args side on side.arg_set_id = s.arg_set_id and side.key = 'side'$joins)"
}
is_trusted() { "$TACHO" info --json run | grep -q '"score":100' || wrong "$1: trust: $("$TACHO" info run)"; }

# job.sh SERVER HOW...: a server, and clients one after the other
cat >job.sh <<'END'
server=$1
shift
coproc SERVER { "$GRPC_CALLS" serve "$server" 127.0.0.1; }
server_pid=$SERVER_PID
read -r _ port <&"${SERVER[0]}"
for how in "$@"; do
	"$GRPC_CALLS" call "$how" "127.0.0.1:$port" || { echo "$how failed"; exit 1; }
done
eval "exec ${SERVER[1]}>&-"
wait "$server_pid"
END
export GRPC_CALLS=$calls
record() { timeout 60 "$TACHO" record -q --force --probes grpc -o run -- bash job.sh "$@" >out 2>err; }

"$core" >expected || wrong "the program itself fails"
timeout 60 "$TACHO" record -q --force -o run -- "$core" >out 2>err || wrong "core: $(cat out err)"
diff expected out || wrong "core prints something else"
[ ! -s err ] || wrong "core said: $(cat err)"
is_trusted core
ask "select name, side, sent_bytes, received_bytes, sent_messages, received_messages, status, count(*) from $(with_args sent_bytes received_bytes sent_messages received_messages status) group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2" >found
diff - found <<-END || wrong "core: other requests"
	/core/A_method_whose_name_does_not_fit_into_a_slice,client,1000,10,1,1,0,4
	/core/A_method_whose_name_does_not_fit_into_a_slice,server,10,1000,1,1,0,4
	/core/Short,client,1000,10,1,1,0,4
	/core/Short,server,10,1000,1,1,0,4
END
[ "$(pairs /core/Short)" = 4,4,4 ] || wrong "core: pairs: $(pairs /core/Short)"
[ "$("$TACHO" info --json run | grep -o '"record_cost_pct":[0-9.e-]*' | head -1)" != '"record_cost_pct":0' ] || wrong "it is said to cost nothing"

# 20 calls of each sort of client, of 100 to 119 bytes and answers twice as long: 2 bytes more each, and 3 from 128 on
sent=$(((100 + 119) * 20 / 2 + 20 * 2)) answered=$(((200 + 238) * 20 / 2 + 20 * 3))
for server in sync async callback; do
	record $server unary async callback || wrong "$server: $(cat out err)"
	[ ! -s out ] && [ ! -s err ] || wrong "$server said: $(cat out err)"
	is_trusted $server
	ask "select side, count(*), sum(sent_bytes), sum(received_bytes), sum(status) from $(with_args sent_bytes received_bytes status) where name = '/blobs.Store/Get' group by 1 order by 1" >found
	diff - found <<-END || wrong "$server: other requests"
		client,60,$((3 * sent)),$((3 * answered)),0
		server,60,$((3 * answered)),$((3 * sent)),0
	END
	[ "$(pairs /blobs.Store/Get)" = 60,60,60 ] || wrong "$server: pairs: $(pairs /blobs.Store/Get)"
	# what belongs together has the same bytes, and the server's lies in the client's
	ask "select count(*) from flow f join slice c on c.id = f.slice_out join slice s on s.id = f.slice_in
		join args a on a.arg_set_id = c.arg_set_id and a.key = 'sent_bytes' join args b on b.arg_set_id = s.arg_set_id and b.key = 'received_bytes'
		where f.category = 'request' and (a.int_value != b.int_value or s.ts < c.ts or s.ts + s.dur > c.ts + c.dur)" | grep -qx 0 || wrong "$server: wrong pairs"
	ask "select max(others) between 1 and 19 from $(with_args others) where side = 'client'" | grep -qx 1 || wrong "$server: calls at once had no others under way"
	"$TACHO" report --view latency --json run >latency.json || wrong "$server: no latencies"
	python3 - <<-END || wrong "$server: other latencies: $(head -c 600 latency.json)"
		import json
		rows = {row["kind"]: row for row in json.load(open("latency.json"))}
		assert all(rows[kind]["count"] == 60 and not rows[kind]["below_zero"] for kind in ("client", "server", "network", "request")), rows
	END
done

record sync stream fail deadline cancel || wrong "sync: $(cat out err)"
ask "select name, side, sent_messages, received_messages, status from $(with_args sent_messages received_messages status) order by 1, 2, 5" >found
diff - found <<-END || wrong "streams and errors"
	/blobs.Store/Fail,client,1,0,5
	/blobs.Store/Fail,server,0,1,5
	/blobs.Store/Flow,client,20,20,0
	/blobs.Store/Flow,server,20,20,0
	/blobs.Store/Wait,client,1,0,1
	/blobs.Store/Wait,client,1,0,4
	/blobs.Store/Wait,server,0,1,1
	/blobs.Store/Wait,server,0,1,1
END
ask "select count(*) from flow f join slice s on s.id = f.slice_out where s.name = '/blobs.Store/Wait' and f.category = 'request'" | grep -qx 0 || wrong "what was given up bounds clocks"
record callback fail || wrong "callback: $(cat out err)"
ask "select side, status from $(with_args status) order by 1" | tr '\n' ' ' | grep -qx 'client,5 server,5 ' || wrong "callback: other status"
timeout 60 "$TACHO" record -q --force --probes grpc -o run -- "$calls" call nobody 127.0.0.1:1 >out 2>err || wrong "nobody: $(cat out err)"
ask "select side, status from $(with_args status)" | grep -qx client,14 || wrong "nobody: another status"
timeout 60 "$TACHO" record -q --force --probes torch -o run -- "$core" >out 2>err
ask "select count(*) from slice where name like '/core/%'" | grep -qx 0 || wrong "a probe that is not wanted is there"

# a call that is under way when the process is killed is in the run, without an end
coproc SERVER { "$calls" serve sync 127.0.0.1; }
server_pid=$SERVER_PID
read -r _ port <&"${SERVER[0]}"
timeout 60 "$TACHO" record -q --force --probes grpc -o run -- sh -c "\"$calls\" call endless 127.0.0.1:$port & sleep 2; kill -9 \$!" >out 2>err
kill "$server_pid"
wait "$server_pid" 2>/dev/null
ask "select count(*) from slice s join args a on a.arg_set_id = s.arg_set_id where s.name = '/blobs.Store/Wait' and a.key = 'open'" | grep -qx 1 || wrong "killed: no open request"
if command -v babeltrace2 >/dev/null; then
	babeltrace2 ./run >events 2>&1 || wrong "babeltrace2: $(tail -1 events)"
fi

# Ruby's gRPC calls the shared library; Python's brings its own, which nobody sees: that is no error
if ruby -e 'require "grpc"' 2>/dev/null; then
	cat >ruby.rb <<-'END'
		require "grpc"
		stub = GRPC::ClientStub.new(ARGV[0], :this_channel_is_insecure)
		blob = ->(bytes) { "\x0a".b + [bytes].pack("C") + "x" * bytes } # field 1, of less than 128 bytes
		same = ->(bytes) { bytes }
		5.times { stub.request_response("/blobs.Store/Get", blob[60], same, same) }
		begin
		  stub.request_response("/blobs.Store/Fail", blob[60], same, same)
		rescue GRPC::NotFound
		  puts "not found"
		end
	END
	cat >ruby.sh <<-'END'
		coproc SERVER { "$GRPC_CALLS" serve sync 127.0.0.1; }
		read -r _ port <&"${SERVER[0]}"
		ruby ruby.rb "127.0.0.1:$port"
		kill "$SERVER_PID"
	END
	timeout 60 "$TACHO" record -q --force --probes grpc -o run -- bash ruby.sh >out 2>err
	grep -qx 'not found' out || wrong "Ruby: $(cat out err)"
	ask "select name, side, count(*), sum(sent_bytes), sum(received_bytes) from $(with_args sent_bytes received_bytes) group by 1, 2 order by 1, 2" >found
	diff - found <<-END || wrong "Ruby: other requests"
		/blobs.Store/Fail,client,1,62,0
		/blobs.Store/Fail,server,1,0,62
		/blobs.Store/Get,client,5,310,610
		/blobs.Store/Get,server,5,610,310
	END
	[ "$(pairs /blobs.Store/Get)" = 5,5,5 ] || wrong "Ruby: pairs: $(pairs /blobs.Store/Get)"
else
	echo "no Ruby with gRPC"
fi
if python3 -c 'import grpc' 2>/dev/null; then
	cat >python.py <<-'END'
		import grpc
		from concurrent import futures

		class All(grpc.GenericRpcHandler):
		    def service(self, details):
		        return grpc.unary_unary_rpc_method_handler(lambda request, context: request * 2)

		server = grpc.server(futures.ThreadPoolExecutor(2))
		server.add_generic_rpc_handlers((All(),))
		port = server.add_insecure_port("127.0.0.1:0")
		server.start()
		with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
		    print(channel.unary_unary("/a/B")(b"xy"))
		server.stop(None)
	END
	timeout 60 "$TACHO" record -q --force --probes grpc -o run -- python3 python.py >out 2>err || wrong "Python: $(cat out err)"
	grep -qx "b'xyxy'" out || wrong "Python: $(cat out err)"
	grep -q 'no calls of gRPC are recorded for .*cygrpc' err || wrong "Python: nobody says that nothing is seen: $(cat err)"
else
	echo "no Python with gRPC"
fi
timeout 60 "$TACHO" record -q --force --probes grpc -o run -- true >out 2>err || wrong "without gRPC: $(cat out err)"
[ ! -s out ] && [ ! -s err ] || wrong "without gRPC: $(cat out err)"

# two hosts, each with its recording; then one of them says that its clock is 3 ms ahead
runs=()
if [ "$(id -u)" = 0 ] && command -v ip >/dev/null && ip netns add "tachogrpc-$$-0" 2>/dev/null; then
	hosts=("tachogrpc-$$-0" "tachogrpc-$$-1")
	ip netns add "${hosts[1]}" && ip link add link0 netns "${hosts[0]}" type veth peer name link0 netns "${hosts[1]}" || exit 1
	for i in 0 1; do
		ip -n "${hosts[i]}" address add "10.78.0.$((i + 1))/24" dev link0
		ip -n "${hosts[i]}" link set link0 up
		ip -n "${hosts[i]}" link set lo up
	done
	coproc SERVER { RANK=0 WORLD_SIZE=2 ip netns exec "${hosts[0]}" "$TACHO" record -q --probes grpc -o host0 -- "$calls" serve sync 10.78.0.1; }
	server_pid=$SERVER_PID
	read -r _ port <&"${SERVER[0]}"
	RANK=1 WORLD_SIZE=2 ip netns exec "${hosts[1]}" "$TACHO" record -q --probes grpc -o host1 -- "$calls" call unary "10.78.0.1:$port" 200 || wrong "two hosts: the client failed"
	eval "exec ${SERVER[1]}>&-"
	wait "$server_pid"
	cat >clocks.py <<-'END'
		import json, subprocess, sys
		import clock_truth
		tacho = sys.argv[1]
		ranks = clock_truth.read("host0", "host1")
		shift_ns = 3_000_000
		ranks[1].clock["offset"] += shift_ns * ranks[1].clock["freq"] // 10**9
		for rank, metadata in ranks.items():
		    metadata.machine = {"hostname": f"host{rank}", "boot_id": f"boot{rank}"}
		    metadata.write()
		clocks = clock_truth.ask(tacho, "info", ["host0", "host1"])["clocks"]
		clock = next(row for row in clocks if row["relative_to"] != row["host"])
		error_us = abs(abs(clock["offset_ms"]) - 3) * 1000
		print(f"found {clock['offset_ms']:.4f} ms +- {clock['uncertainty_us']:.1f} us by {clock['bounds']} bounds")
		assert clock["contradicted"] == 0 and clock["bounds"] >= 400, clock
		assert error_us <= clock["uncertainty_us"] < 1500, (error_us, clock)
		rows = clock_truth.ask(tacho, "report", ["host0", "host1"], "--view", "latency")
		rows = {row["kind"]: row for row in rows}
		# as measured on one clock: between nothing and all that is not the server's
		assert rows["request"]["count"] == 200, rows
		assert -clock["uncertainty_us"] <= rows["request"]["min_us"], (rows, clock)
		assert rows["request"]["median_us"] <= rows["network"]["median_us"] + clock["uncertainty_us"], (rows, clock)
	END
	PYTHONPATH=$TACHO_SOURCE_DIR/tests/support python3 clocks.py "$TACHO" || wrong "two hosts: clocks"
else
	echo "no network namespaces"
fi
exit $failed
