#!/usr/bin/env bash
# The PyTorch probe is built once and kept; without a compiler, or when the compiler fails, one
# sentence says so and the job runs unrecorded; two builds at once are one probe.
set -eu
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
echo 'import torch; print(torch.ones(3).sum().item())' >"$work/job.py"

# record [VARIABLE=VALUE...]
record()
{
	rm -rf "$work/run"
	env "$@" "$TACHO" record -o "$work/run" -- "$python" "$work/job.py" >"$work/out" 2>"$work/err"
	[ "$(cat "$work/out")" = 3.0 ] || { echo "the job said: $(cat "$work/out")"; exit 1; }
}

# said N TEXT: exactly N lines of the last record's stderr have it
said()
{
	[ "$(grep -c -- "$2" "$work/err")" = "$1" ] || { cat "$work/err"; echo "not $1 times: $2"; exit 1; }
}

mkdir "$work/empty"
record PATH="$work/empty" CXX=''
said 1 "operations will not be recorded: .* no C++ compiler"
said 0 "was built for"

printf '#!/bin/sh\necho "I am broken" >&2\nexit 1\n' >"$work/broken"
chmod +x "$work/broken"
record CXX="$work/broken"
said 1 "the compiler failed; see "
log=$(sed -n 's/.*failed; see \(.*\)/\1/p' "$work/err")
grep -q "I am broken" "$log"
record # not tried again by itself
said 1 "failed before"
! grep -q "building the probe" "$work/err"
[ "$("$TACHO" probe list --python "$python" --json | grep -c '"probe":"torch","is_ready":false')" = 1 ]

"$TACHO" probe build torch --python "$python" 2>/dev/null &
"$TACHO" probe build torch --python "$python"
wait $!
record
said 0 "operations"
"$TACHO" report --view op "$work/run" | grep -q aten::sum
"$TACHO" probe list --python "$python" --json | grep -q '"probe":"torch","is_ready":true'
[ -z "$(find "$work/cache" -name 'building-*')" ]
[ "$(stat -c %a "$work/cache/tacho/torch")" = 700 ]
"$TACHO" probe build torch --python /nowhere/python 2>"$work/err" && exit 1
grep -q "has no PyTorch" "$work/err"
