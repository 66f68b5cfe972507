#!/usr/bin/env bash
# The agent on another processor: compiled for aarch64 and run by QEMU, it records what it does here, on the smallest stacks,
# too; and this processor's tacho reads the run. Probes are compiled.
set -u
cc=aarch64-linux-gnu-gcc
for program in $cc qemu-aarch64; do
	command -v $program >/dev/null || { echo "no $program"; exit 77; }
done
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
source=$TACHO_SOURCE_DIR
flags=(-std=gnu11 -O2 -fPIC -Wall -Wextra -Werror -D_GNU_SOURCE -fvisibility=hidden -fno-semantic-interposition
	-DTACHO_VERSION='"test"' -I"$source/include" -I"$source/src" -I"$source/probes")
$cc "${flags[@]}" -shared "$source"/probes/agent/*.c -o libtacho.so -Wl,-z,defs -Wl,-z,now -ldl -lpthread || exit 1
mkdir common && (cd common && $cc "${flags[@]}" -c "$source"/probes/common/*.c) && ${cc%gcc}ar rc libcommon.a common/*.o || exit 1
for probe in blas socket; do
	$cc "${flags[@]}" -shared "$source"/probes/$probe/*.c libcommon.a -o libtacho_$probe.so -L. -ltacho \
		-Wl,-z,defs -Wl,-z,now -ldl -lpthread || failed=1
done
# tacho attach is compiled only, since QEMU's user mode has no ptrace: `make check-aarch64` runs it. GLib's headers are this processor's.
for part in attach_stub remote_registers remote_thread inject target; do
	$cc "${flags[@]}" -I"$source/cli" $(pkg-config --cflags glib-2.0) -c "$source/cli/$part.c" -o part.o || failed=1
done
$cc -O1 -D_GNU_SOURCE "$source/tests/job/guest_job.c" -o guest_job -ldl -lpthread || exit 1
$cc -O1 -D_GNU_SOURCE "$source/tests/probe/stack/stack_use.c" -o stack_use -ldl -lpthread || exit 1
emulate=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
recorded=("${emulate[@]}" -E "LD_PRELOAD=$work/libtacho.so" -E "LD_LIBRARY_PATH=$work" -E TACHO_START_KB=4096)

for mode in work fork close; do
	"${emulate[@]}" ./guest_job $mode >plain.out 2>plain.err
	plain=$?
	mkdir $mode.tacho
	"${recorded[@]}" -E "TACHO_RUN_DIR=$work/$mode.tacho" ./guest_job $mode >recorded.out 2>recorded.err
	[ $? = $plain ] && cmp plain.out recorded.out && cmp plain.err recorded.err || { echo "$mode: not as without"; failed=1; }
	"$TACHO" info $mode.tacho --json >info.json || { echo "$mode: the run cannot be read"; failed=1; }
done
for name in main thread; do
	n=$("$TACHO" query work.tacho "SELECT count(*) AS n FROM slice WHERE name = '$name' AND dur >= 0" --format csv | tail -n 1)
	[ "$n" = 1000 ] || { echo "$n of 1000 slices '$name'"; failed=1; }
done
n=$("$TACHO" query fork.tacho "SELECT count(*) AS n FROM slice WHERE name = 'worker'" --format csv | tail -n 1)
[ "$n" = 2000 ] || { echo "$n of 2000 slices of forked processes"; failed=1; }

for where in thread signal; do
	for hook in record class dlsym pthread_create; do
		plain=$("${emulate[@]}" ./stack_use $hook $where) || { echo "$hook in a $where: not without tacho either"; continue; }
		rm -rf run && mkdir run
		more=$("${recorded[@]}" -E "TACHO_RUN_DIR=$work/run" ./stack_use $hook $where 2>err) ||
			{ echo "$hook in a $where: the job died: $(cat err)"; failed=1; continue; }
		echo "$hook in a $where: $plain bytes, recorded $((more - plain)) more"
		[ $((more - plain)) -le 1024 ] || { echo "that is more than 1024"; failed=1; }
	done
done
exit $failed
