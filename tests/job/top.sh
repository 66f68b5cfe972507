#!/usr/bin/env bash
# tacho top: on a terminal it shows the jobs that are being recorded, and of one its ranks, operations and findings; without
# one it prints the same rows. Ctrl-C and q give the terminal back.
set -eu
command -v tmux >/dev/null || { echo "no tmux: skipped"; exit 77; }
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
"$TACHO" --version | grep "^built with:.*screen of top" >/dev/null || { echo "no ncurses: skipped"; exit 77; }
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work OMP_NUM_THREADS=1
tmux="tmux -S $work/socket -f /dev/null"
record=
trap '$tmux kill-server 2>/dev/null || true; [ -z "$record" ] || kill $record 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"

# What it says where there is no job.
"$TACHO" top --count 1 | grep "You are recording no job now" >/dev/null
[ "$("$TACHO" top --json)" = "[]" ]

"$TACHO" record -q -n 2 -o job.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" \
	--model mlp --steps 100000 >job.log 2>&1 &
record=$!

# shown TEXT: wait until the screen shows a line that matches.
shown()
{
	local i

	for ((i = 0; i < 600; i++)); do
		$tmux capture-pane -p -t top >screen
		if grep -E -- "$1" screen >/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	echo "the screen never showed '$1':"
	cat screen
	return 1
}

$tmux new-session -d -s top -x 160 -y 40 "$TACHO top --interval 0.5; echo left with \$?; sleep 1000"
shown "job.tacho +2 +[1-9][0-9]* +[0-9.]+" # two ranks, steps, and how long they take
shown "^job +ranks +steps +step ms +trend"
$tmux send-keys -t top Enter
shown "^ranks"
shown "^ *1 +[0-9]+ +[0-9]+ .*running"
$tmux send-keys -t top o
shown "aten::(addmm|linear)"
$tmux send-keys -t top f
shown "^findings"
$tmux send-keys -t top Tab
shown "^ranks"
# Another key than y does nothing; then the job goes on unrecorded, and then it is recorded into a run of its own.
$tmux send-keys -t top s
shown "^Stop recording .*job.tacho\?"
$tmux send-keys -t top n
shown "^r: ranks"
ranks=$(grep -l '^	rank = [01];' job.tacho/*/metadata | sed 's/.*-\([0-9]*\)\/metadata/\1/' | sort)
$tmux send-keys -t top s
shown "^Stop recording"
$tmux send-keys -t top y
shown "goes on unrecorded|not permitted|may not"
if grep "goes on unrecorded" screen >/dev/null; then
	for pid in $ranks; do kill -0 "$pid"; done
	shown "^ *1 +[0-9]+ +.*unrecorded"
	$tmux send-keys -t top a
	shown "^Record again .*job.tacho\?"
	$tmux send-keys -t top y
	shown "^tacho: recording process [0-9]+ into ddp_train-"
	for ((i = 0; i < 300 && $(ls -d ddp_train-*.tacho/*/metadata 2>/dev/null | wc -l) < 2; i++)); do sleep 0.1; done
	again=$(ls -d ddp_train-*.tacho) || { echo "there is no run"; ls -la; exit 1; }
	[ "$(ls -d "$again"/*/metadata | wc -l)" -ge 2 ] || { echo "it is not recorded again"; ls -la; exit 1; }
	sleep 1
	"$TACHO" stop -q --job "$(echo "$ranks" | head -1)"
	"$TACHO" report "$again" --view op --json | grep addmm >/dev/null
	for pid in $ranks; do kill -0 "$pid"; done
fi
$tmux resize-window -t top -x 60 -y 15
shown "^ranks"
$tmux send-keys -t top q
shown "^tacho top.*1 jobs"
$tmux send-keys -t top q
shown "^left with 0"
$tmux send-keys -t top C-c # the sleep

"$TACHO" top --json --count 1 >rows
grep '"run":"[^"]*job.tacho","ranks":2,' rows >/dev/null
"$TACHO" top --interval nonsense 2>/dev/null && exit 1
"$TACHO" top no-such-run --count 1 | grep unreadable >/dev/null

# The job was not harmed, and its end is seen.
kill $record
wait $record 2>/dev/null || true
record=
"$TACHO" top job.tacho --count 1 | grep -E "job.tacho +2 .* over" >/dev/null
