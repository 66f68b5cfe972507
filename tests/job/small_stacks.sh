#!/usr/bin/env bash
# A hook takes at most 1 kB of the job's stack, also when it is the first of its thread and makes files:
# in a thread of the least size, and on the smallest signal stack.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$TACHO_BUILD_DIR/lib/tacho
preload=$library/libtacho.so
for probe in alloc blas dnn socket; do
	preload=$preload:$library/libtacho_$probe.so
done
failed=0

# used HOOK WHERE [VARIABLE=VALUE...]
used() {
	local hook=$1 where=$2
	shift 2
	env "$@" "$TACHO_BUILD_DIR/tests/stack_use" "$hook" "$where"
}

for where in thread signal; do
	for hook in record class send read poll epoll_wait write pthread_create dlsym sgemm _exit; do
		plain=$(used $hook $where) || {
			echo "$hook in a $where: does not run without tacho either: left out"
			continue
		}
		rm -rf "$work/run" && mkdir "$work/run"
		recorded=$(used $hook $where TACHO_RUN_DIR="$work/run" LD_PRELOAD="$preload" 2>"$work/err") || {
			echo "$hook in a $where: the job died: $(cat "$work/err")"
			failed=1
			continue
		}
		extra=$((recorded - plain))
		echo "$hook in a $where: $plain bytes, recorded $extra more"
		if [ $extra -gt 1024 ]; then
			echo "that is more than 1024"
			failed=1
		fi
		case $hook in
		dlsym | pthread_create | write) ;;
		sgemm) [ -e /usr/lib/*/libblas.so.3 ] || continue ;;&
		*) [ -n "$(ls "$work/run")" ] || { echo "$hook in a $where: nothing was recorded"; failed=1; } ;;
		esac
	done
done
exit $failed
