#!/bin/bash
# What the kernel of the machine begins with (boot.sh): it runs the tests, says on the console how each ended, and switches off.
# Lines that begin with "machine: " are what boot.sh shows.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/tmp LC_ALL=C.UTF-8 TERM=dumb
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ip link set lo up
echo machine >/proc/sys/kernel/hostname
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n' >/etc/passwd
# packages were unpacked, not installed
ln -sf gcc /usr/bin/cc
ln -sf g++ /usr/bin/c++
ln -sf gawk /usr/bin/awk
ldconfig

. /settings
export TACHO=/tacho/bin/tacho TACHO_SOURCE_DIR=/source TACHO_BUILD_DIR=/build TACHO_START_KB=4096 TACHO_KILLS=3 TACHO_ATTACH_PACE=20
failed=0
say() { echo "machine: $*"; }

# run NAME SCRIPT: a row of the table, and what the script has said below it
run() {
	local begin=$SECONDS how=passed status

	bash "$2" </dev/null >/tmp/said 2>&1
	status=$?
	[ $status = 77 ] && how=skipped
	[ $status = 0 ] || [ $status = 77 ] || { how=FAILED; failed=1; }
	printf 'machine: %-22s %-8s %5d s   %s\n' "$1" $how $((SECONDS - begin)) "$(tail -n 1 /tmp/said)"
	[ $how != FAILED ] || sed 's/^/machine:     | /' /tmp/said
}

say "$(uname -srm), $(nproc) processors, $(sed -n 's/^Features.*: //p;T;q' /proc/cpuinfo)"
say "$("$TACHO" --version | head -n 1)"
for test in $TACHO_TESTS; do
	if [ "$test" = attach ]; then
		for moment in ${TACHO_MOMENTS:-malloc mallocs fork vfork calls epoll sleep handler threads vectors arena refused}; do
			TACHO_ATTACH_MOMENTS=$moment run "attach: $moment" /source/tests/job/attach.sh
		done
	else
		run "$test" "/source/tests/job/$test.sh"
	fi
done
say "all done, status $failed"
sync
echo o >/proc/sysrq-trigger
sleep 60
