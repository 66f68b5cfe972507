#!/usr/bin/env bash
# JAX and TensorFlow on two hosts: each, a network namespace with a name of its own, records its part, and what is gathered is one
# job: ranks, steps, what went over the network, collectives of both; its losses are those of the job that nobody records.
#
# TACHO_TF_PYTHON and TACHO_JAX_PYTHON name Pythons that have them; else the python3 on the PATH is tried. Skipped where neither has, and
# where this user cannot make network namespaces.
set -u
jobs=$TACHO_SOURCE_DIR/tests/job
work=$(mktemp -d)
hosts=("tacho-$$-a" "tacho-$$-b")
remove() { for host in "${hosts[@]}"; do ip netns del "$host" 2>/dev/null; done; }
trap 'remove; rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
wrong() { echo "$*"; failed=1; }

make_hosts()
{
	local i

	for i in 0 1; do
		ip netns add "${hosts[i]}" && ip -n "${hosts[i]}" link set lo up || return 1
	done
	ip -n "${hosts[0]}" link add link0 type veth peer name link0 netns "${hosts[1]}" || return 1
	for i in 0 1; do
		ip -n "${hosts[i]}" address add "10.77.9.$((i + 1))/24" dev link0 && ip -n "${hosts[i]}" link set link0 up || return 1
	done
}

# on HOST COMMAND...: there, where the machine has another name, which means its address (gloo asks)
on()
{
	local host=$1

	shift
	echo "10.77.9.$((host + 1)) node$host" >"names.$host"
	ip netns exec "${hosts[host]}" unshare -u -m sh -c \
		"echo node$host >/proc/sys/kernel/hostname && mount --bind $work/names.$host /etc/hosts && exec \"\$@\"" sh "$@"
}

# job NAME PYTHON SCRIPT MODE [RECORDER...]: both hosts' tasks; what they say goes to NAME.0 and NAME.1
job()
{
	local name=$1 python=$2 script=$3 mode=$4 i code=0 pids=()

	shift 4
	for i in 0 1; do
		JAX_JOB_PROCESS=$i JAX_JOB_ADDRESS=10.77.9.1:7010 \
			TF_CONFIG="{\"cluster\": {\"worker\": [\"10.77.9.1:7011\", \"10.77.9.2:7011\"]}, \"task\": {\"type\": \"worker\", \"index\": $i}}" \
			on $i "${@//HOST/$i}" "$python" "$jobs/$script" "$mode" 40 >"$name.$i" 2>"$name.$i.err" &
		pids+=($!)
	done
	for i in 0 1; do wait "${pids[i]}" || code=$?; done
	return $code
}

# check PYTHON SCRIPT MODE
check()
{
	local i

	job plain "$@" || { wrong "$2 $3 ends with an error without tacho: $(tail -3 plain.1.err)"; return; }
	mkdir -p host-0 host-1
	job recorded "$@" "$TACHO" record -q --force -o "$work/host-HOST/run" -- || { wrong "$2 $3 ends with an error: $(tail -3 recorded.1.err)"; return; }
	for i in 0 1; do
		grep '^loss' recorded.$i >told && [ -s told ] && grep '^loss' plain.$i | cmp - told || wrong "$2 $3, host $i: other losses"
	done
	rm -rf whole
	"$TACHO" gather -q -o whole host-0/run host-1/run || { wrong "$2 $3: the parts are not gathered"; return; }
	"$TACHO" info whole --json >info.json
	"$TACHO" report whole --view comm --json >comm.json || wrong "$2 $3: there is no report"
	/usr/bin/python3 - "$2 $3" <<'END_CHECK' || failed=1
import json, sys

job, info, comm = sys.argv[1], json.load(open("info.json")), json.load(open("comm.json"))
ranks = {process["rank"]: process["host"] for process in info["processes"] if process["rank"] is not None}
assert ranks == {0: "node0", 1: "node1"}, (job, ranks)
assert info["steps"] == 20 and info["steps_found"] == "annotated", (job, info["steps"], info["steps_found"])
assert info["trust"]["present_score"] >= 95, (job, info["trust"])
assert info["kinds"]["op"] > 100 and info["kinds"]["message"] > 100, (job, info["kinds"])
if job.startswith("jax"):
    assert comm and all(row["ranks"] == 2 and row["count"] >= 18 for row in comm), (job, comm)
print(job, info["step_median_ms"], "ms", info["kinds"])
END_CHECK
	"$TACHO" replay whole --json >/dev/null || wrong "$2 $3: there is no replay"
}

has() { command -v "$1" >/dev/null && "$1" -c "import $2" 2>/dev/null; }
tf=${TACHO_TF_PYTHON:-python3} jax=${TACHO_JAX_PYTHON:-python3}
has "$jax" jax || jax=
has "$tf" tensorflow || tf=
[ "$jax$tf" ] || exit 77
make_hosts 2>said || { echo "no network namespaces: $(cat said)"; exit 77; }
[ -z "$jax" ] || check "$jax" jax_jobs.py processes
[ -z "$tf" ] || check "$tf" tensorflow_jobs.py workers
exit $failed
