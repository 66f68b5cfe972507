#!/usr/bin/env bash
# What recording needs of the system around it: no Python for a program that has nothing to do with it, no /proc.
set -u
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
${CC:-cc} -O1 -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread || exit 1

mkdir bin
for python in python3 python; do
	printf '#!/bin/sh\necho started >>%s/started\nexec /usr/bin/%s "$@"\n' "$work" $python >bin/$python
	chmod +x bin/$python
done
PATH=$work/bin:$PATH "$TACHO" record -q -o true.tacho -- /bin/true
[ ! -e started ] || { echo "recording /bin/true started Python"; failed=1; }
PATH=$work/bin:$PATH "$TACHO" record -q -o shell.tacho -- sh -c true 2>/dev/null
[ ! -e started ] || { echo "recording a shell started Python"; failed=1; }

without_proc() {
	unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
}
if ldd "$TACHO" | grep -q libasan; then
	echo "the sanitizer that tacho is built with needs /proc: the case without /proc is left out"
elif without_proc true 2>/dev/null; then
	without_proc "$TACHO" record -q --probes socket -o bare.tacho -- ./guest_job exit 3 2>err
	[ $? = 3 ] || { echo "without /proc: exit code is not 3: $(cat err)"; failed=1; }
	grep '^tacho: ' err && failed=1
	n=$(babeltrace2 bare.tacho/*/ | grep -c ' main:')
	[ "$n" = 1000 ] || { echo "without /proc: $n of 1000 slices"; failed=1; }
	without_proc "$TACHO" info bare.tacho >info.txt 2>&1 || { echo "without /proc: $(cat info.txt)"; failed=1; }
	grep -q guest_job bare.tacho/*/metadata || { echo "without /proc: the program has no name"; failed=1; }
else
	echo "no mount namespaces here: the case without /proc is left out"
fi
exit $failed
