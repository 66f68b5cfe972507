#!/usr/bin/env bash
# At its end tacho record says in a line what it could not see, and nothing where it saw everything.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# record COMMAND...: the line is in `line`
record() {
	"$TACHO" record --force -o run -- "$@" >out 2>err
	sed -n 's/^tacho: not seen: //p' err >line
}
# says WHAT TEXT: the line of what was recorded last
says() {
	grep -qF -- "$2" line || { echo "$1: no '$2' in '$(cat line)'"; cat err; failed=1; }
}
silent() {
	[ ! -s line ] || { echo "$1: $(cat line)"; failed=1; }
}

record sh -c 'sleep 2; true'
silent "a job that is seen"
record env -i sleep 2
says "an empty environment" 'process sleep (it was started without LD_PRELOAD in its environment); next: tacho doctor -- env'
record sh -c 'env -i sleep 2 & env -i sleep 2 & wait'
says "two of them" 'process sleep (2 times; it was'
record sh -c 'env -i true; sleep 2'
silent "a short one"

cat >static.c <<'END'
#include <unistd.h>
int main(int argc, char **argv) { (void)argv; sleep(argc > 1 ? 2 : 0); return 0; }
END
if ${CC:-cc} -static static.c -o static 2>/dev/null; then
	record sh -c './static wait; true'
	says "a static program" 'process static (it is statically linked)'
	record ./static
	says "a short static job" 'process static (it is statically linked)'
	record ./static wait
	says "a static job" 'process static (it is statically linked); next'
	"$TACHO" record -q --force -o run -- ./static >out 2>err
	! grep -q 'not seen' err || { echo "--quiet says what was not seen"; failed=1; }
fi

# A libtorch that the probe refuses, of one process and of two.
job=$TACHO_BUILD_DIR/tests/stand_in_job
record "$job" "$TACHO_BUILD_DIR/tests/stand_in/1/libtorch_cpu.so"
says "a PyTorch that is refused" 'PyTorch operations'
record sh -c "for i in 1 2; do $job $TACHO_BUILD_DIR/tests/stand_in/1/libtorch_cpu.so; done"
says "two of them" 'PyTorch operations (of 2 processes)'
# What is in the run's folder is read as text of others.
printf 'junk\n1\th\t\t\n2\th\tone\033[31m\twhy\n3\th\tcut' >run/unseen
"$TACHO" record --force -o run -- true 2>err || { echo "a run with a file unseen is not replaced"; failed=1; }
exit $failed
