#!/usr/bin/env bash
# A probe in the cache that somebody else may have put there is not loaded into the job, and that is said.
set -u
work=$(mktemp -d)
failed=0
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
cc=${CC:-cc}
chmod 755 .
mkdir -p cache run
echo 'int torch_is_here;' | $cc -shared -fPIC -x c - -o libtorch_cpu.so || exit 1
cat >probe.c <<-END
	#include <stdio.h>
	int tacho_probe_init(void);
	int tacho_probe_init(void) { puts("planted"); return 0; }
END
cat >job.c <<-END
	#include <dlfcn.h>
	#include <stdio.h>
	int main(void) { dlopen("$work/libtorch_cpu.so", RTLD_NOW); dlsym(RTLD_DEFAULT, "puts"); puts("ran"); return 0; }
END
$cc job.c -o job -ldl || exit 1
key=$(python3 - <<-END
	import os
	path = os.path.realpath("libtorch_cpu.so")
	status = os.stat(path)
	value = 0xcbf29ce484222325
	for byte in f"{path}|{status.st_size}|{status.st_mtime_ns}".encode():
	    value = (value ^ byte) * 0x100000001b3 % 2**64
	print(f"$(sed -n 's,^#define TACHO_PROBE_ABI ,,p' "$TACHO_SOURCE_DIR/probes/common/probe.h")-{value:016x}")
END
) || exit 77
mkdir -p "cache/$key"
library=cache/$key/libtacho_torch.so
$cc -shared -fPIC probe.c -o "$library" || exit 1

# loads WHAT IS_LOADED
loads() {
	TACHO_RUN_DIR=$work/run TACHO_TORCH_DIR=$work/cache LD_PRELOAD=$TACHO_BUILD_DIR/lib/tacho/libtacho.so \
		./job >out 2>err
	if [ "$(grep -c planted out)" != "$2" ]; then
		echo "$1: loaded $(grep -c planted out) times instead of $2: $(cat err)"
		failed=1
	fi
	grep -q '^ran' out || { echo "$1: the job did not run"; failed=1; }
	[ "$2" = 1 ] || grep -q 'others may have changed' err || { echo "$1: not said: $(cat err)"; failed=1; }
}

umask 022
chmod 755 cache "cache/$key" "$library"
loads "a probe of our own" 1
chmod 757 "$library"
loads "a probe that all may write" 0
chmod 755 "$library"
chmod 777 "cache/$key"
loads "its folder" 0
chmod 755 "cache/$key"
chmod 777 cache
loads "the cache" 0
chmod 1777 cache
loads "a sticky cache" 1
chmod 755 cache
if [ "$(id -u)" = 0 ]; then
	chown nobody "$library"
	loads "a probe of another user" 0
	chown 0:0 "$library"
	chown nobody cache
	loads "a cache of another user" 0
	chown 0:0 cache
	mv cache theirs && ln -s theirs cache && chown nobody theirs
	loads "behind a link" 0
	rm cache && mv theirs cache && chown 0:0 cache
fi
loads "in the end" 1

mkdir -p installed/bin installed/lib
cp "$TACHO" installed/bin/ && cp -r "$TACHO_BUILD_DIR/lib/tacho" installed/lib/
if [ -x installed/bin/tacho ]; then
	chmod 777 installed/lib/tacho
	installed/bin/tacho record -q -o moved.tacho -- true 2>err && { echo "a folder of libraries that all may write was used"; failed=1; }
	grep -q 'others may have changed' err || { echo "that was not said: $(cat err)"; failed=1; }
fi
exit $failed
