#!/usr/bin/env bash
# tacho doctor says what it has tried: with PyTorch, with a Python that has none, with one that is broken, for programs that
# cannot be recorded, where there is no room.
set -u
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
unset OPENCL_LAYERS
wrong() { echo "$*"; failed=1; }

# doctor STATUS ARGUMENT...: what it finds is in `found`, a line each: "subject state text"
doctor() {
	local expected=$1 status
	shift
	timeout 300 "$TACHO" doctor --json "$@" >json 2>said </dev/null
	status=$?
	python3 -c 'import json
for row in json.load(open("json")): print(row["subject"], row["state"], row["found"])' >found
	[ $status = "$expected" ] || { wrong "doctor $* exits with $status, not $expected"; cat found said; }
}
has() { grep -qE -- "$1" found || { wrong "nothing of '$1' in:"; cat found; }; }

doctor 0 --python "$python"
has '^clock works '
has '^agent works .*trust 100'
has '^OPENCL_LAYERS works is free'
has '^mpi (works|absent) the probe was built for'
has '^socket works [1-9][0-9]* messages'
has '^cuda (absent there is no driver|works a driver) of NVIDIA'
has '^chrome works .*read back'
if "$python" -c 'import torch' 2>/dev/null; then
	has '^torch works PyTorch .* probe: [1-9][0-9]+ operations in [34] steps'
	has '^hook works [1-9]'
	has '^collectives works [1-9]'
	has '^alloc works [1-9]'
	"$python" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 13))' && has '^python works stacks of cpython'
fi
ls -A | grep -vE '^(json|found|said)$' && wrong "files were left"
# The job's Python is the one that its command names.
printf '#!/bin/sh\nexit 3\n' >python3.99 && chmod +x python3.99
printf '#!%s/python3.99\n' "$work" >launcher && chmod +x launcher
doctor 1 -- ./launcher train.py
has '^interpreter works .*/python3.99'
has '^python fails .*exit status 3'
quick=$python # what follows does not ask for PyTorch, which takes most of the time
"$python" -m venv --without-pip empty >/dev/null 2>&1 && {
	quick=empty/bin/python3
	doctor 0 -- env A=1 empty/bin/python3 train.py
	has "^interpreter works .*empty/bin/python3"
	has '^torch absent this Python has no PyTorch'
}
"$TACHO" doctor --python "$quick" >text || wrong "the text says something else"
grep -q $'\033' text && wrong "there are colours in a file"
grep -q '^  works   clock ' text || { wrong "no clock in the text:"; cat text; }
doctor 1 --python ./no-such-python
has '^python fails ./no-such-python is not found'

printf 'int main(void) { return 0; }\n' >static.c
if ${CC:-cc} -static static.c -o static 2>/dev/null; then
	doctor 1 -- ./static
	has '^program fails .*/static is statically linked'
fi
doctor 1 -- ./no-such-job
has '^program fails ./no-such-job is not found'
(ulimit -f 256 && doctor 1 --python /nowhere && has '^file size fails files may be large: 256.0.KiB'; exit $failed) || failed=1
doctor 1 --python "$quick" -o /proc
has '^folder fails no run can be made in /proc'
LD_PRELOAD=/no/such/library.so doctor 0 --python "$quick" 2>/dev/null
has '^LD_PRELOAD partly names /no/such/library.so'
INTEL_LIBITTNOTIFY64=/other.so NVTX_INJECTION64_PATH= doctor 0 --python "$quick"
has '^INTEL_LIBITTNOTIFY64 partly names /other.so'
has '^NVTX_INJECTION64_PATH works is free'
# NVIDIA's driver, by what it would have in /proc: whether counters are root's alone
nvidia() # VALUE COMMAND...
{
	local value=$1
	shift
	unshare -m sh -c 'mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia && cd /proc/driver/nvidia &&
		echo "NVRM version: 570" >version && printf "Mobile: 1\nRmProfilingAdminOnly: %s\n" "$0" >params && cd / && exec "$@"' "$value" "$@" >json 2>said
	python3 -c 'import json
for row in json.load(open("json")): print(row["subject"], row["state"], row["found"])' >found
}
if unshare -m mount -t tmpfs none /proc/driver 2>/dev/null; then
	nvidia 1 "$TACHO" doctor --json --python /nowhere
	has '^cuda works a driver of NVIDIA'
	has '^counters works '
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	if "${nobody[@]}" test -x "$TACHO" 2>/dev/null; then
		nvidia 1 "${nobody[@]}" "$TACHO" doctor --json --python /nowhere -o /tmp
		has '^counters partly .* root alone'
		nvidia 0 "${nobody[@]}" "$TACHO" doctor --json --python /nowhere -o /tmp
		has '^counters works '
	fi
fi
"$TACHO" doctor train.py 2>&1 | grep -q 'put the job.s command behind --' || wrong "a command without -- is taken"
exit $failed
