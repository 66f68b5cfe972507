#!/usr/bin/env bash
# golden.sh SCRIPT.sh: run the script in an empty folder; what it prints (stdout and stderr) and the
# line "exit N" must equal SCRIPT.out. TACHO_BLESS=1 writes SCRIPT.out instead.
set -u
script=$(realpath "$1")
expected=${script%.sh}.out
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bash "$script" >"$work/.actual" 2>&1
status=$?
[ "$status" = 77 ] && exit 77
echo "exit $status" >>"$work/.actual"
if [ "${TACHO_BLESS:-}" = 1 ]; then
	cp "$work/.actual" "$expected"
	exit 0
fi
diff -u "$expected" "$work/.actual"
