#!/usr/bin/env bash
# The validation kit, on its smallest model: stopped, it goes on where it was; its results and page are
# whole, the parts of each error add up to it; nothing of it is left behind.
set -u
skip() {
	echo "$1"
	exit 77
}
fail() {
	echo "$1"
	cat "$work/said"
	exit 1
}
/usr/bin/python3 -c 'import torch.distributed' 2>/dev/null || skip "no PyTorch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
kit=("$TACHO_SOURCE_DIR/validate/validate.py" --quick --build "$TACHO_BUILD_DIR" --results "$work/results"
	--output "$work/page.md" --rounds 1 --steps 4)

"${kit[@]}" --minutes 0.0001 >"$work/said" 2>&1
status=$?
[ $status = 77 ] && skip "$(cat "$work/said")"
[ $status = 0 ] || fail "stopped at once: exit status $status"
grep -q "run again to go on" "$work/said" || fail "does not say that it is not done"
"${kit[@]}" >"$work/said" 2>&1 || fail "does not go on: exit status $?"
n_runs=$(grep -c "ms a step" "$work/said")
"${kit[@]}" >"$work/said" 2>&1 || fail "not done when all is done"
grep -q "ms a step" "$work/said" && fail "measures again what is there"
cp "$work/page.md" "$work/first.md"
"${kit[@]}" --page >"$work/said" 2>&1 || fail "no page without measuring"
cmp -s "$work/page.md" "$work/first.md" || fail "the page differs"
PYTHONPATH=$TACHO_SOURCE_DIR/validate python3 - "$work" "$n_runs" >"$work/said" 2>&1 <<'PYTHON' || fail "the results"
import json, sys
import page

work, n_runs = sys.argv[1], int(sys.argv[2])
data = {**json.load(open(f"{work}/results/results.json")),
        **json.load(open(f"{work}/results/predictions.json"))}
cases = data["cases"]
assert n_runs == 2 * len(cases), (n_runs, len(cases))
assert {run["case"] for run in data["runs"]} == {run["case"] for run in data["recordings"]} == set(cases)
for run in data["runs"] + data["recordings"]:
    n_steps = 11 if "control_ms" in run else 3  # twice four recorded and two control steps, less the first
    assert [len(steps) for steps in run["steps_ms"]] == [n_steps] * cases[run["case"]]["ranks"], run
    assert ("relay" in run) == (cases[run["case"]]["latency_ms"] > 0), run
rates = {name: float(name.split("mbit")[0]) for name in data["links"]}
assert set(rates.values()) == {case["rate_mbit"] for case in cases.values()}, rates
assert all(0 < mbit < rates[name] for name, mbit in data["links"].items()), data["links"]
same = [row for row in data["predictions"] if row["source"] == row["case"]]
changed = [row for row in data["predictions"] if row["source"] != row["case"]]
assert {row["case"] for row in same} == {row["case"] for row in changed} == set(cases)
for row in data["predictions"]:
    assert row["predicted_ms"] > 0, row
    error_ms = row["predicted_ms"] - page.measured_of(data, row["case"])[0]
    assert abs(sum(page.error_parts(data, row).values()) - error_ms) < 1e-6, row
asked = {change for row in changed for change in row["what_ifs"] if change.startswith("bandwidth=")}
carried = sorted(data["links"].values())
assert all(any(abs(float(change[10:-1]) - a / b) < 1e-3 for a in carried for b in carried) for change in asked), asked
text = open(f"{work}/page.md").read()
rows = [line for line in text.splitlines() if line.startswith("| ") and " Mbit/s, " in line]
assert len(rows) == 2 * len(cases), text
PYTHON
for name in $(ip netns list | sed -n 's/^\(tacho-[0-9]*-[a-z]*\).*/\1/p'); do
	pid=${name#tacho-}
	[ -e "/proc/${pid%-*}" ] || fail "the namespace $name is left"
done
exit 0
