#!/usr/bin/env bash
# The Python probe finds the lines of instructions where each Python says they are: all functions of a third of its
# standard library. TACHO_EVERY=1 takes all of it.
. "$TACHO_SOURCE_DIR/tests/support/pythons.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
[ -n "$(pythons)" ] || { echo "no Python from 3.9 to 3.13: skipped"; exit 77; }
cat >"$work/tables.py" <<'PYTHON'
import dis, glob, os, sys, types

FORM = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2


def lines_of(code):
    """The line of each instruction, 0: none."""
    lines = [0] * (len(code.co_code) // 2)
    if FORM == 0:
        starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
        for (start, line), (end, _) in zip(starts, starts[1:]):
            for at in range(start // 2, end // 2):
                lines[at] = line
    else:
        for start, end, line in code.co_lines():
            for at in range(start // 2, end // 2):
                lines[at] = line or 0
    return lines


def tell(code):
    table = code.co_lnotab if FORM == 0 else code.co_linetable
    questions = ["%d:%d" % (2 * at, line) for at, line in enumerate(lines_of(code))]
    if table:
        print(FORM, code.co_firstlineno, table.hex(), "-2:%d" % code.co_firstlineno, *questions)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            tell(constant)


# A function with long gaps, none at all, and lines that go back.
strange = "def f(x):\n" + "\n" * 300 + "    y = (x +\n" + "\n" * 200 + "  1)\n    for i in (\n\n  x): y += i\n    return y\n"
strange += "async def g():\n    async with a as b, c:\n        yield [\n i async for i in b if\n i]\n    try:\n        pass\n    finally:\n        x()\n"
tell(compile(strange, "strange.py", "exec"))
for path in sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))[:: int(os.environ.get("TACHO_EVERY", 3))]:
    try:
        tell(compile(open(path, "rb").read(), path, "exec"))
    except SyntaxError:
        pass
PYTHON
for python in $(pythons); do
	"$python" -W ignore "$work/tables.py" >"$work/tables" || failed=1
	"$TACHO_BUILD_DIR/tests/line_lookup" <"$work/tables" >"$work/answer" || failed=1
	echo "$("$python" -V): $(cat "$work/answer")"
done
exit $failed
