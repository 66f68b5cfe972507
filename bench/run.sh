#!/usr/bin/env bash
# run.sh [BUILD_DIR]: every benchmark here that this machine can run. Timings decide nothing: a figure above its
# target is printed like any other. BENCH_JOB=1 adds the wall-clock comparison of a job (ab.py), some minutes.
set -u
source_dir=$(cd "$(dirname "$0")/.." && pwd)
build_dir=$(realpath "${1:-${TACHO_BUILD_DIR:-$source_dir/build/default}}")
status=0

run() {
	echo "== $1"
	shift
	"$@"
	case $? in
	0) ;;
	77) echo "   (skipped)" ;;
	*) status=1 ;;
	esac
	echo
}

echo "$(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), load $(cut -d' ' -f1 /proc/loadavg)"
echo
run "one record (target: 30 ns)" "$source_dir/bench/record.sh" "$build_dir"
run "a call of HIP and of Level Zero, on stand-ins (target: 30 ns a hook)" "$source_dir/bench/device_calls.sh" "$build_dir"
if [ -x "$source_dir/bench/torch_op.sh" ]; then
	run "one PyTorch operation above an empty callback (target: 60 ns)" "$source_dir/bench/torch_op.sh" "$build_dir"
fi
run "a call of gRPC, recorded and not" bash "$source_dir/bench/grpc_calls.sh" "$build_dir"
run "opening a run (target: 50 M events/s)" "$source_dir/bench/reader.sh" "$build_dir"
run "exports of a million slices" bash "$source_dir/bench/export.sh" "$build_dir"
run "SQL over 4 M slices" bash "$source_dir/bench/query_speed.sh" "$build_dir"
run "replay of 8 ranks (targets: 20 and 5 M nodes/s)" bash "$source_dir/bench/replay_speed.sh" "$build_dir"
run "a Kineto trace of 1 GB (targets: 2 s, 3 s as gzip, 0.5 GB)" bash "$source_dir/bench/kineto.sh" "$build_dir"
run "a folder of 64 ranks' Kineto traces, 1 GB" bash "$source_dir/bench/ranks.sh" "$build_dir"
run "a run of 64 ranks, reported by several processes" bash "$source_dir/bench/peers.sh" "$build_dir"
run "CTF of others (target: 0.8 of babeltrace2's dummy sink)" bash "$source_dir/bench/foreign_ctf.sh" "$build_dir"
if [ "${BENCH_JOB:-}" = 1 ]; then
	run "a job's steps, recorded and unrecorded by turns (target: 1 %)" \
		/usr/bin/python3 "$source_dir/bench/alternate.py" --build "$build_dir"
	run "a job of two ranks, recorded against unrecorded (target: 1 %)" \
		/usr/bin/python3 "$source_dir/bench/ab.py" --build "$build_dir"
fi
exit $status
