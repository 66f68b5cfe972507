#!/usr/bin/env bash
# --steps A:B records those steps and no others, and the run counts them from 0.
set -eu
python=/usr/bin/python3
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch for $python"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$TACHO" record -q --steps 2:4 -o some.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 7 >/dev/null
"$TACHO" record -q -o all.tacho -- "$python" "$TACHO_SOURCE_DIR/examples/ddp_train.py" --steps 7 >/dev/null
count() { "$TACHO" info "$1" --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["steps"])'; }
[ "$(count some.tacho)" = 3 ] || { echo "some: $(count some.tacho) steps"; exit 1; }
[ "$(count all.tacho)" = 7 ] || { echo "all: $(count all.tacho) steps"; exit 1; }
numbers=$("$TACHO" report some.tacho --view step --steps 0:99 --json | "$python" -c 'import json, sys
print([row["step"] for row in json.load(sys.stdin)])')
[ "$numbers" = "[0, 1, 2]" ] || { echo "some: steps are numbered $numbers"; exit 1; }
