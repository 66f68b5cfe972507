#!/usr/bin/env bash
# tacho watch: faults put into a job of two ranks are named, each within ten seconds, with rank and cause; report --follow has
# the steps that report has; a job that nothing is done to has no hang, no lost rank, no leak and no starved loader. What else
# takes the machine's cores may well make steps slow, so that is not judged here (unit/live/test_detect does).
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work OMP_NUM_THREADS=1
record=
trap '[ -z "$record" ] || kill $record 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"

# A job whose rank 1 does as a file says, from the moment on that it is there. A step takes 20 ms, most of it asleep.
cat >job.py <<'END'
import os, sys, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

dist.init_process_group("gloo")
rank = dist.get_rank()

def fault():
    try:
        return open("fault").read().strip()
    except FileNotFoundError:
        return ""

class Data(Dataset):
    def __len__(self):
        return 8 * 3000
    def __getitem__(self, index):
        if rank == 1 and fault() == "loader" and index % 8 == 0:
            time.sleep(0.05)
        return torch.full((64,), float(index % 7))

torch.manual_seed(1)
torch.set_num_threads(1)
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
leak = []
for step, x in enumerate(DataLoader(Data(), batch_size=8)):
    optimizer.zero_grad()
    time.sleep(0.02)
    now = fault() if rank == 1 else ""
    if now == "straggler":
        time.sleep(0.05)
    elif now == "leak":
        leak.append(bytearray(os.urandom(2000)) * 1000)
    elif now == "mismatch":
        dist.broadcast(torch.ones(7), 1)
    elif now == "exit":
        os._exit(3)
    if (now or fault()).startswith("end ") and step >= int(fault().split()[1]):
        break  # the same step on both ranks
    model(x).sum().backward()
    optimizer.step()
END

# begin: record the job; sets $record, $rank1 and $n, its steps so far, when it has had some
begin()
{
	local i

	n=0
	rm -rf fault job.tacho
	"$TACHO" record -q -n 2 -o job.tacho -- "$python" job.py >job.log 2>&1 &
	record=$!
	for ((i = 0; i < 100 && n < 60; i++)); do
		sleep 1
		"$TACHO" top job.tacho --json 2>/dev/null >rows || true
		n=$(sed -n 's/.*"steps":\([0-9]*\).*/\1/p' rows)
		n=${n:-0}
	done
	[ "$n" -ge 60 ] || { cat job.log rows; return 1; }
	rank1=$(grep -l '^	rank = 1;' job.tacho/*/metadata | head -1 | sed 's/.*-\([0-9]*\)\/metadata/\1/')
	[ -n "$rank1" ] || { head -40 job.tacho/*/metadata; return 1; }
}
end()
{
	kill $record 2>/dev/null || true
	wait $record 2>/dev/null || true
	record=
}

# caught WORDS COMMAND...: COMMAND makes a fault; a finding that has these words (a regular expression) comes
caught()
{
	local words=$1 watch i

	shift
	"$TACHO" watch job.tacho --json --seconds 40 >found 2>watch.err &
	watch=$!
	sleep 1
	"$@"
	local begun=$SECONDS
	for ((i = 0; i < 380; i++)); do
		if grep -E "$words" found >line; then
			break
		fi
		sleep 0.1
	done
	local took=$((SECONDS - begun))
	kill $watch 2>/dev/null || true
	wait $watch && status=0 || status=$?
	[ -s line ] || { echo "nothing like '$words' was found:"; cat found watch.err; return 1; }
	[ $status = 1 ] || { echo "watch ended with $status"; return 1; }
	echo "found within $took s: $(sed -n '1s/.*"what":"\([^"]*\)".*/\1/p' line)"
	# the machine may have much else to do
	[ $took -le ${MOST_SECONDS:-30} ]
}

begin
caught '"kind":"hang","rank":1,.*all_reduce.*(rank 1 is stopped|rank 1 has not come.*is stopped)' kill -STOP "$rank1"
kill -CONT "$rank1"
end

for fault in straggler loader leak; do
	begin
	case $fault in
	straggler) words='"kind":"straggler","rank":1,.*idle time' ;;
	loader) words='"kind":"loader","rank":1,' ;;
	leak) words='"kind":"memory_growth","rank":1,' ;;
	esac
	caught "$words" sh -c "echo $fault >fault"
	end
done

begin
caught '"kind":"mismatch",.*(broadcast|all_reduce).*rank [01]: gloo:(broadcast|all_reduce)' sh -c "echo mismatch >fault"
end

begin
caught '"kind":"rank_gone","rank":1,.*status 3' sh -c "echo exit >fault"
end

# Nothing is wrong with this one; and it is followed as it goes.
begin
"$TACHO" report job.tacho --follow --json >followed &
follow=$!
"$TACHO" watch job.tacho --json >found &
watch=$!
sleep 10
echo "end $((n + 800))" >fault.new
mv fault.new fault
wait $record
record=
wait $follow
wait $watch || true
! grep -E '"kind":"(hang|mismatch|stall|rank_gone|loader|memory_growth)"' found || exit 1
"$TACHO" report job.tacho --view step --json >whole
"$python" - followed whole <<'END'
import json, sys
# line by line, byte for byte, but for `state`, which is by what was known then
drop = lambda line: __import__("re").sub(r'"state":"[a-z-]*"', "", line)
key = lambda line: (json.loads(line)["step"], json.loads(line)["rank"])
followed = sorted((l.strip() for l in open(sys.argv[1])), key=key)
whole = sorted((l.strip().rstrip(",") for l in open(sys.argv[2]) if '"step"' in l), key=key)
assert len(followed) > 100, len(followed)
assert [drop(l) for l in followed] == [drop(l) for l in whole], next(
    (a, b) for a, b in zip(followed, whole) if drop(a) != drop(b))
END
"$TACHO" report job.tacho --follow >text
"$TACHO" report job.tacho --view step >other
grep -F "$(grep -E '^ +0 ' other)" text >/dev/null
