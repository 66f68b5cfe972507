# Dumps of PyTorch's Flight Recorder, as three ranks would write them, with members and types as in
# torch/csrc/distributed/c10d/FlightRecorder.hpp: rank 1 has not come to the third all-reduce; a group of two is through.
python=${PYTHON:-/usr/bin/python3}
cat >dump.py <<'END'
import json, pickle, sys

def entry(group, seq, name, state, begin, end, sizes):
    return {
        "frames": [{"name": "backward", "filename": "/home/me/train.py", "line": 30},
                   {"name": "<module>", "filename": "/home/me/train.py", "line": 60}],
        "record_id": seq, "pg_id": int(group), "process_group": (group, "default_pg"),
        "collective_seq_id": seq, "p2p_seq_id": 0, "op_id": seq, "profiling_name": name,
        "time_created_ns": 1700000000000000000 + begin * 10**6,
        "time_discovered_started_ns": 1700000000000000000 + begin * 10**6 if state != "scheduled" else None,
        "time_discovered_completed_ns": 1700000000000000000 + end * 10**6 if end else None,
        "duration_ms": float(end - begin) if end else None,
        "input_sizes": [sizes], "input_dtypes": ["Float"], "output_sizes": [sizes], "output_dtypes": ["Float"],
        "state": state, "is_p2p": False, "retired": state == "completed", "timeout_ms": 600000,
    }

def dump(rank, hang):
    entries = [entry("0", 1, "nccl:all_reduce", "completed", 0, 5, [4, 8]),
               entry("0", 2, "nccl:all_reduce", "completed", 10, 15, [4, 8])]
    if rank != 1 or mismatch:
        entries += [entry("0", 3, hang if rank == 0 else "nccl:all_reduce", "started", 20 + rank, 0, [1024]),
                    entry("0", 4, "nccl:broadcast", "scheduled", 21, 0, [3])]
    if rank < 2:
        entries.append(entry("1", 1, "nccl:all_gather", "completed", 16, 17, [2]))
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}
    if rank < 2:
        groups["1"] = {"name": "1", "desc": "undefined", "ranks": "[0, 1]"}
    return {"version": "2.4", "pg_config": groups, "pg_status": {"0": {"last_completed_collective": 2}},
            "entries": entries}

hang = sys.argv[1]
mismatch = hang != "nccl:all_reduce"
for rank in range(3):
    with open(f"dumps/nccl_trace_rank_{rank}", "wb") as file:
        if rank == 2:  # JSON in the place of a pickle
            file.write(json.dumps(dump(rank, hang)).encode())
        else:
            pickle.dump(dump(rank, hang), file)
END
mkdir dumps
"$python" dump.py nccl:all_reduce
"$TACHO" report dumps --view hang --width 0
"$TACHO" report dumps --view hang --json
"$TACHO" query dumps "SELECT name, count(*) AS n, sum(dur) AS ns FROM slice GROUP BY name ORDER BY name"
echo "--- mismatch"
"$python" dump.py nccl:reduce_scatter
"$TACHO" report dumps --view hang | tail -5
echo "--- of a run"
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/two_ranks" --view hang
echo "--- broken ones"
head -c 700 dumps/nccl_trace_rank_2 >cut_rank_0.json
"$TACHO" report cut_rank_0.json --view hang 2>&1 | head -12
# a pickle that would call something is refused, and calls nothing
"$python" - <<'END'
import os, pickle

class Call:
    def __reduce__(self):
        return os.system, ("touch called",)

pickle.dump({"pg_config": {}, "pg_status": {}, "entries": Call()}, open("evil_rank_0", "wb"))
END
"$TACHO" report evil_rank_0 --view hang
[ ! -e called ] || echo "the pickle was executed"
