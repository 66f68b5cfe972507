#!/usr/bin/env bash
# The table of offsets that the Python probe reads interpreters by is what a compiler finds in Python's headers.
. "$TACHO_SOURCE_DIR/tests/support/pythons.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
n=0
tr -d '[:space:]' <"$TACHO_SOURCE_DIR/probes/python/python_layouts.def" >"$work/table"
for python in $(pythons); do
	include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
	[ -f "$include/internal/pycore_runtime.h" ] || continue
	"${CC:-cc}" -w -I"$include" -I"$include/internal" -o "$work/layout" \
		"$TACHO_SOURCE_DIR/tests/probe/python/python_layouts.c" 2>"$work/errors" ||
		{ echo "$include: $(head -3 "$work/errors")"; failed=1; continue; }
	"$work/layout" >"$work/row"
	n=$((n + 1))
	# From 3.13 on the interpreter states its offsets itself.
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 13))' && continue
	grep -qF -- "$(tr -d '[:space:]' <"$work/row")" "$work/table" ||
		{ echo "$include has other offsets than python_layouts.def:"; cat "$work/row"; failed=1; }
done
[ $n -gt 0 ] || { echo "no headers of Python: skipped"; exit 77; }
echo "$n versions"
exit $failed
