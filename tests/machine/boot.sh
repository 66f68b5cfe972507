#!/usr/bin/env bash
# boot.sh [TEST...]: boot an emulated AArch64 machine that has tacho as tools/make-aarch64.sh has built it, run these of
# tests/job there (attach malloc_probe marks kill9), and end with their status: what needs a kernel, which QEMU's user mode has not.
# TACHO_MACHINE_CPU is which processor (cortex-a72; max: the longest vectors, pointer authentication and what else QEMU has),
# TACHO_ATTACH_TRIALS how often each attach (3), TACHO_MACHINE_SECONDS how long all may take (3000).
set -euo pipefail
cd "$(dirname "$0")/../.."
system=build/aarch64-system
work=build/aarch64/machine
trap 'rm -f "$work/memory.cpio"' EXIT

# What is added to Debian: tacho as installed, its tests, and the program that the kernel begins with.
rm -rf "$work"
mkdir -p "$work"/added/{tacho,build/tests,source/tests}
cmake --install build/aarch64 --strip --prefix "$work/added/tacho" >/dev/null
cp build/aarch64/tests/malloc_calls "$work/added/build/tests"
cp -r tests/job tests/support "$work/added/source/tests"
cp -r include python "$work/added/source"
cp tests/machine/init.sh "$work/added/init"
cat >"$work/added/settings" <<END
export TACHO_ATTACH_TRIALS=${TACHO_ATTACH_TRIALS:-3} TACHO_MOMENTS="${TACHO_ATTACH_MOMENTS:-}" TACHO_TESTS="${*:-attach malloc_probe marks kill9}"
END
cp "$system/root.cpio" "$work/memory.cpio"
(cd "$work/added" && find . | cpio --quiet -o -H newc) >>"$work/memory.cpio"

accelerator=tcg
[ "$(uname -m)" = aarch64 ] && [ -w /dev/kvm ] && accelerator=kvm
timeout -k 10 "${TACHO_MACHINE_SECONDS:-3000}" qemu-system-aarch64 -machine virt -accel $accelerator \
	-cpu "${TACHO_MACHINE_CPU:-cortex-a72}" -smp 2 -m 3072 -nodefaults -nographic -serial stdio -no-reboot \
	-kernel "$system/kernel" -initrd "$work/memory.cpio" -append "console=ttyAMA0 loglevel=4 panic=-1" \
	</dev/null | tee "$work/console.txt" | sed -un 's/\r$//; s/^machine: //p'
status=$(sed -n 's/\r$//; s/^machine: all done, status \([0-9]*\)$/\1/p' "$work/console.txt")
if [ -z "$status" ]; then
	tail -n 40 "$work/console.txt" >&2
	echo "The machine has not come to its end; all it said is in $work/console.txt" >&2
	exit 1
fi
exit "$status"
