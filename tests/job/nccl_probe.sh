#!/usr/bin/env bash
# The NCCL probe, on a stand-in for NCCL: every version of the interface, two ranks, another plug-in beside it, and NCCL as it should
# not be. There is no GPU and no NCCL in it. TACHO_NCCL_HEADERS may name a folder with NVIDIA's profiler_v1.h to profiler_v6.h: then
# the declarations are compared with theirs.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
host=$TACHO_BUILD_DIR/tests/standins/nccl_host
others=$TACHO_BUILD_DIR/tests/standins/libnccl_other
failed=0
wrong() { echo "$*"; failed=1; }
ask() { "$TACHO" query --format csv "$1" "$2" | tail -n +2; }
# record RUN VERSION SCENARIO [N]
record() {
	local run=$1
	shift
	"$TACHO" record -q --force -o "$run" -- "$host" "$@" >out 2>err || wrong "$*: ended with $?"
	[ ! -s err ] || wrong "$*: $(cat err)"
}

for version in 1 2 3 4 5 6; do
	record run $version train 4
	grep -qx "tacho version $version" out || wrong "version $version: $(cat out)"
	[ "$(ask run "select name, count(*) from slice where category = 'collective' group by 1 order by 1" | paste -sd' ')" = \
		"AllReduce RING/LL,4 Send,4" ] || wrong "version $version: other collectives"
	[ "$(ask run "select distinct int_value from args a join slice s on a.arg_set_id = s.arg_set_id
		where s.category = 'collective' and a.key = 'bytes'")" = 4194304 ] || wrong "version $version: bytes"
	# who works for it, and when it is over: with the last of these
	n_channels=4
	[ "$version" -ge 3 ] || n_channels=0
	[ "$(ask run "select count(*) from slice where name = 'NCCL: channel 1'")" = $n_channels ] || wrong "version $version: channels"
	off=$(ask run "select min(c.ts + c.dur - w.ts - w.dur) from slice c, slice w where c.name = 'AllReduce RING/LL' and w.ts >= c.ts and w.ts < c.ts + c.dur
		and (w.name like 'NCCL: channel%' or w.name like 'NCCL: sends to%' or w.name like 'NCCL: receives from%') group by c.id" | sort -n | sed -n '1p;$p' | paste -sd' ')
	[[ $off =~ ^-?[012]\ -?[012]$ ]] || wrong "version $version: collectives end ${off:-who knows how many} ns from the last of what works for them"
	if [ "$version" -ge 4 ]; then
		[ "$(ask run "select min(dur) >= 499990 and max(dur) <= 500010 from slice where name like 'NCCL: channel%'")" = 1 ] ||
			wrong "version $version: channels last $(ask run "select dur from slice where name like 'NCCL: channel%'" | paste -sd' ')"
	fi
	if [ "$version" -ge 5 ]; then
		[ "$(ask run "select group_concat(name) from (select distinct name from slice where category = 'runtime' order by 1)")" = \
			'"NCCL: kernel launch,ncclAllReduce,ncclSend"' ] || wrong "version $version: other calls"
	fi
	[ "$("$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1)" = '"score":100' ] || wrong "version $version: trust"
done
[ "$(ask run "select count(*) from slice where name in ('NCCL: send waits for device', 'NCCL: send is on its way',
	'NCCL: receive waits for data', 'NCCL: network, InfiniBand', 'NCCL: proxy is active')")" = 20 ] || wrong "states of steps"

# what a job of two ranks has in common
"$TACHO" record -q -n 2 --force -o run -- "$host" 6 train 5 >out 2>err || wrong "two ranks"
[ "$(ask run "select name, count(*), min(ranks), min(bytes) from collective where name like 'All%' group by 1")" = "AllReduce RING/LL,5,2,4194304" ] ||
	wrong "the ranks' all-reduces are not the same ones: $(ask run "select * from collective")"
[ "$(ask run "select count(*), min(ranks) from collective where name in ('Send', 'Recv')")" = 5,2 ] || wrong "sends and receives are no pairs"

# fewer things, if asked for
"$TACHO" record -q --nccl calls --force -o run -- "$host" 6 train 4 >out 2>err
[ "$(ask run "select count(*) from slice where name like 'NCCL: s%' or name like 'NCCL: channel%'")" = 0 ] || wrong "--nccl calls records steps"
"$TACHO" record -q --nccl channels --force -o run -- "$host" 6 train 4 >out 2>err
[ "$(ask run "select count(*) from slice where name like 'NCCL: channel%'")" = 8 ] || wrong "--nccl channels records none"
[ "$(ask run "select count(*) from slice where name like 'NCCL: send step'")" = 0 ] || wrong "--nccl channels records steps"

# another plug-in, of the same version and of an earlier one, gets what it asked for, and only its own handles
for other in 3 6; do
	export OTHER_PLUGIN_COUNTS=$work/counts
	NCCL_PROFILER_PLUGIN=${others}_v$other.so "$host" 6 train 3 >/dev/null 2>err
	cp counts alone
	NCCL_PROFILER_PLUGIN=${others}_v$other.so "$TACHO" record -q --force -o run -- "$host" $other train 3 >out 2>err
	grep -qx "tacho version $other" out || wrong "$(cat out err)"
	grep -qx 'strange: 0' counts || wrong "the other plug-in of version $other: $(cat counts)"
	NCCL_PROFILER_PLUGIN=${others}_v$other.so "$TACHO" record -q --force -o run -- "$host" 6 train 3 >out 2>err
	grep -qx 'strange: 0' counts || wrong "the other plug-in of version $other under NCCL of version 6: $(cat counts)"
	cmp -s counts alone || wrong "the other plug-in gets $(cat counts), alone $(cat alone)"
	[ "$(grep -c '^type [1467]:' counts)" -ge 3 ] || wrong "the other plug-in gets $(cat counts)"
	[ "$(ask run "select count(*) from slice where category = 'collective'")" = 6 ] || wrong "beside another plug-in collectives are missing"
	unset OTHER_PLUGIN_COUNTS
done
NCCL_PROFILER_PLUGIN=/nowhere/plugin.so "$TACHO" record -q --force -o run -- "$host" 6 train 1 >out 2>err
grep -q '/nowhere/plugin.so, which was named before' err || wrong "nobody says that the other plug-in is not there: $(cat err)"
grep -q 'tacho version 6' out || wrong "without the other plug-in nothing is recorded"

# with the CUDA probe in the same process each collective is there once, as its kernel
standins=$TACHO_BUILD_DIR/tests/standins/cuda
NCCL_HOST_CUDA=$standins/libcudart.so.12 TACHO_CUPTI=$(ls "$standins"/12/libcupti.so.*) "$TACHO" record -q --force -o run -- "$host" 6 train 4 >out 2>err
[ ! -s err ] || wrong "beside the CUDA probe: $(cat err)"
[ "$(ask run "select name, count(*) from slice where category = 'collective' group by 1")" = "ncclDevKernel_AllReduce_Sum_f32_RING_LL,4" ] || wrong "beside the CUDA probe: $(ask run "select name, count(*) from slice where category = 'collective' group by 1" | paste -sd' ')"
[ "$(ask run "select count(*) from slice where name in ('NCCL: AllReduce RING/LL', 'NCCL: Send')")" = 8 ] || wrong "beside the CUDA probe NCCL's collectives are missing"
[ "$(ask run "select count(*) from slice k join slice l on l.id = k.launch_id join slice p on p.id = l.parent_id where k.category = 'collective' and
	l.name = 'cudaLaunchKernel' and p.name = 'NCCL: kernel launch'")" = 4 ] || wrong "the kernel's launch is not in NCCL's"

# NCCL as it should not be: a right timeline, or a problem with a name
record run 6 misuse
"$TACHO" info run | grep -q 'impossible time: 1' || wrong "a channel that ends before it begins is no problem"
record run 3 misuse
for scenario in threads unload pxn; do
	record run 6 $scenario 3
	[ "$("$TACHO" info run --json | grep -o '"score":[0-9]*' | head -1)" = '"score":100' ] || wrong "$scenario: trust"
	[ "$(ask run "select count(*) from slice where category = 'collective' and dur >= 0")" -ge 2 ] || wrong "$scenario: collectives"
done
[ "$(ask run "select max(dur) < 1500000 from slice where name = 'AllReduce RING/LL'")" = 1 ] ||
	wrong "an operation of another process works for a collective of this one"
record run 6 fork
grep -qx 'child 0' out || wrong "a forked child dies"
[ "$(ask run "select count(*) from slice where name = 'AllReduce RING/LL'")" = 2 ] || wrong "the child of a fork is missing"
"$TACHO" record -q --force -o run -- "$host" 6 open >out 2>err
"$TACHO" info run | grep -q 'AllReduce RING/LL' || wrong "what hangs is not said to be open"
record run 6 many
"$TACHO" info run | grep -q 'lost records' || wrong "more events than anybody keeps are not counted as lost"

# all in one program, which the sanitizers see where they are built in; then it does not fork, for the allocator of gcc 12's address sanitizer does not
# know of that: a child waits for ever for its lock, where a thread that is not in the child had it
fork=fork
! ldd "$TACHO" | grep libasan >/dev/null || fork=
for scenario in train misuse threads unload $fork pxn many; do
	for version in 1 3 4 6; do
		rm -rf whole
		mkdir whole
		TACHO_RUN_DIR=whole NCCL_PROFILER_PLUGIN=STATIC_PLUGIN \
			"${host}_whole" $version $scenario 3 >out 2>err || wrong "whole, version $version $scenario: ended with $?"
		[ ! -s err ] || wrong "whole, version $version $scenario: $(head -20 err)"
		ls whole/*/metadata >/dev/null || wrong "whole, version $version $scenario: nothing was recorded"
	done
done

# without NCCL nothing changes
"$TACHO" record -q --force -o run -- env -u NCCL_PROFILER_PLUGIN "$host" 6 >out 2>err
[ "$(cat out)" = "no plug-in" ] || wrong "$(cat out)"
[ "$(NCCL_PROFILER_PLUGIN=$TACHO_BUILD_DIR/lib/tacho/libtacho_nccl.so "$host" 6 train 2 2>&1)" = "tacho version 6" ] ||
	wrong "the plug-in without the agent does something"

headers=${TACHO_NCCL_HEADERS:-}
[ -n "$headers" ] || exit $failed
cat >same.cc <<'CPP'
#include <sys/types.h>
#include <stdint.h>
#include <stddef.h>
typedef pid_t ncclPid_t;
typedef int ncclResult_t;
typedef void (*ncclDebugLogger_t)(int, unsigned long, const char *, int, const char *, ...);
enum ncclProfilerEventState_t {};
#define STATE(v) typedef ncclProfilerEventState_t ncclProfilerEventState_v##v##_t;
STATE(1) STATE(2) STATE(3) STATE(4) STATE(5) STATE(6)
#include "profiler_v6.h"
#include "profiler_v4.h"
#include "profiler_v3.h"
#include "profiler_v2.h"
#include "profiler_v1.h"
extern "C" {
#include "nccl/nccl_abi.h"
}
#define SAME(v, theirs, ours) static_assert(offsetof(ncclProfilerEventDescr_v##v##_t, theirs) == offsetof(nccl_descriptor, ours) && \
	sizeof(((ncclProfilerEventDescr_v##v##_t *)0)->theirs) == sizeof(((nccl_descriptor *)0)->ours), #theirs);
#define COLL(v, o) SAME(v, coll.seqNumber, o.sequence) SAME(v, coll.func, o.func) SAME(v, coll.sendBuff, o.send) SAME(v, coll.recvBuff, o.receive) \
	SAME(v, coll.count, o.count) SAME(v, coll.root, o.root) SAME(v, coll.datatype, o.datatype) SAME(v, coll.nWarps, o.n_warps) \
	SAME(v, coll.algo, o.algo) SAME(v, coll.proto, o.proto)
#define NAMED(v, c, o) SAME(v, c.name, o.name) SAME(v, c.commHash, o.hash)
#define P2P(v, o) SAME(v, p2p.func, o.func) SAME(v, p2p.buff, o.buffer) SAME(v, p2p.datatype, o.datatype) SAME(v, p2p.count, o.count) SAME(v, p2p.peer, o.peer)
#define PROXY(v) SAME(v, parentObj, head.parent) SAME(v, rank, head.rank) SAME(v, proxyOp.pid, same.proxy_op.pid) SAME(v, proxyOp.channelId, same.proxy_op.channel) \
	SAME(v, proxyOp.peer, same.proxy_op.peer) SAME(v, proxyOp.nSteps, same.proxy_op.n_steps) SAME(v, proxyOp.chunkSize, same.proxy_op.chunk_bytes) \
	SAME(v, proxyOp.isSend, same.proxy_op.is_send) SAME(v, proxyStep.step, same.proxy_step.step)
#define NET(v) SAME(v, kernelCh.channelId, same.kernel_ch.channel) SAME(v, netPlugin.id, same.net.id) SAME(v, netPlugin.data, same.net.data)
#define API(v) SAME(v, type, head.type) SAME(v, groupApi.graphCaptured, same.group_api.is_captured) SAME(v, groupApi.groupDepth, same.group_api.depth) \
	SAME(v, collApi.func, same.coll_api.func) SAME(v, collApi.stream, same.coll_api.stream) SAME(v, collApi.graphCaptured, same.coll_api.is_captured) \
	SAME(v, p2pApi.func, same.p2p_api.func) SAME(v, p2pApi.stream, same.p2p_api.stream) SAME(v, kernelLaunch.stream, same.kernel_launch.stream) \
	SAME(v, coll.parentGroup, coll_v4.group) SAME(v, p2p.parentGroup, p2p_v4.group)
PROXY(1) PROXY(2) PROXY(3) PROXY(4) PROXY(5) PROXY(6)
COLL(1, coll_v1) COLL(2, coll_v2) COLL(3, coll_v3) COLL(4, coll_v4) COLL(5, coll_v4) COLL(6, coll_v4)
NAMED(1, coll, coll_v1) NAMED(2, coll, coll_v2) NAMED(3, coll, coll_v3) NAMED(1, p2p, p2p_v1) NAMED(2, p2p, p2p_v2) NAMED(3, p2p, p2p_v2)
P2P(1, p2p_v1) P2P(2, p2p_v2) P2P(3, p2p_v2) P2P(4, p2p_v4) P2P(5, p2p_v4) P2P(6, p2p_v4)
NET(3) NET(4) NET(5) NET(6) API(5) API(6)
SAME(4, type, head.short_type) SAME(4, kernelCh.pTimer, same.kernel_ch.timer) SAME(6, kernelCh.pTimer, same.kernel_ch.timer)
SAME(6, ceColl.func, same.ce_coll.func) SAME(6, ceColl.syncStrategy, same.ce_coll.how) SAME(6, ceColl.count, same.ce_coll.count)
SAME(6, ceColl.stream, same.ce_coll.stream) SAME(6, ceCollSync.nRanks, same.ce_sync.n_ranks) SAME(6, ceCollBatch.totalBytes, same.ce_batch.bytes)
#define PLUGIN(v) static_assert(sizeof(ncclProfiler_v##v##_t) == sizeof(nccl_plugin) && \
	offsetof(ncclProfiler_v##v##_t, stopEvent) == offsetof(nccl_plugin, stop_event) && \
	offsetof(ncclProfiler_v##v##_t, recordEventState) == offsetof(nccl_plugin, record_state) && \
	offsetof(ncclProfiler_v##v##_t, finalize) == offsetof(nccl_plugin, finalize), "plug-in");
PLUGIN(1) PLUGIN(2) PLUGIN(3) PLUGIN(4) PLUGIN(5) PLUGIN(6)
CPP
c++ -std=c++17 -fsyntax-only -I"$headers" -I"$TACHO_SOURCE_DIR/probes" same.cc || wrong "NVIDIA's headers say otherwise"
exit $failed
