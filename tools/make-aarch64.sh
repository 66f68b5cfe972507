#!/usr/bin/env bash
# make-aarch64.sh: Debian for AArch64 below build/aarch64-system, with a kernel, what tacho is compiled against and what its tests want;
# then tacho for it, compiled here, in build/aarch64. Packages are unpacked, not installed: nothing of theirs runs on this machine.
# TACHO_DEBIAN_MIRROR is where they come from (http://deb.debian.org/debian).
set -euo pipefail
cd "$(dirname "$0")/.."
system=build/aarch64-system
mirror=${TACHO_DEBIAN_MIRROR:-http://deb.debian.org/debian}
libraries=libglib2.0-dev,libprotobuf-c-dev,libsqlite3-dev,zlib1g-dev,libisal-dev,libzstd-dev
tools=bash,libc-bin,coreutils,util-linux,mount,procps,grep,sed,gawk,findutils,diffutils,iproute2,strace,g++,python3-minimal,libpython3-stdlib,babeltrace2
wanted="$mirror $libraries,$tools,linux-image-arm64"

if [ "$(cat "$system/made-from" 2>/dev/null)" != "$wanted" ]; then
	rm -rf "$system"
	mkdir -p "$system"
	echo "Fetching Debian 12 for AArch64 from $mirror"
	mmdebstrap --quiet --variant=extract --architectures=arm64 --include="${wanted##* }" \
		--aptopt='APT::Install-Recommends "false"' bookworm "$system/root" "$mirror"
	mv "$system"/root/boot/vmlinuz-* "$system/kernel"
	# what the machine has no use for: it is unpacked into its memory
	rm -rf "$system"/root/{boot,lib/modules,var/lib/apt,var/cache,usr/share/{doc,man,locale,info,icons,perl}}
	(cd "$system/root" && find . | cpio --quiet -o -H newc) >"$system/root.cpio"
	echo "$wanted" >"$system/made-from"
fi
[ -f build/aarch64/build.ninja ] || cmake --preset aarch64
cmake --build --preset aarch64 --target program manual malloc_calls
