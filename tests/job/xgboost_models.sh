#!/usr/bin/env bash
# Trees of a cost model in XGBoost itself, and XGBoost's in a cost model: both say the same of the same calls. Skipped where the Python (XGBOOST_PYTHON)
# has no xgboost.
set -eu
python=${XGBOOST_PYTHON:-${PYTHON:-/usr/bin/python3}}
"$python" -c 'import xgboost' 2>/dev/null || { echo "no xgboost: skipped"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >table.py <<'END'
print("device,op,shapes,type,time_us")
for device, rate, bandwidth in (("V100", 15.7e6, 900e3), ("A100-40GB", 19.5e6, 1555e3)):
    for i in range(200):
        m, k, n = 64 + 64 * (i % 15), 32 << i % 6, 128 * (1 + i % 11) + i % 2
        us = 3 + max(2 * m * n * k / (rate * 0.5), 4 * (m * k + k * n + m * n) / (bandwidth * 0.8))
        print(f'{device},aten::mm,"[[{m},{k}],[{k},{n}]]",fp32,{us * (2 if n % 8 else 1):.4f}')
END
"$python" table.py >table.csv
"$TACHO" cost train --table table.csv -o model.json >/dev/null
"$TACHO" cost predict model.json --table table.csv --by trees --json >own.json

cat >compare.py <<'END'
import json
import math
import re
import subprocess
import sys

import xgboost

PEAKS = {"V100": (15.7e3, 900), "A100-40GB": (19.5e3, 1555)}


def alignment(size):
    return min(7, (size & -size).bit_length() - 1)


def features(row):
    """As docs/cost-models.md has them."""
    m, k, _, n = map(int, re.findall(r"\d+", row["shapes"]))
    ops, nbytes = 2 * m * n * k, 4 * (m * k + k * n + m * n)
    peak, bandwidth = PEAKS[row["device"]]
    log = math.log2
    return [log(ops), log(nbytes), log(ops / nbytes), log(k), log(m), 0, log(n), log(k), min(alignment(k), alignment(n)), 32,
            log(peak), log(bandwidth), log(ops / nbytes * bandwidth / peak)]


def hold(booster, rows, names):
    said = booster.predict(xgboost.DMatrix([features(row) for row in rows], feature_names=names))
    for row, value in zip(rows, said):
        own = math.log(row["trees_us"] / row["roofline_us"])
        assert abs(own - value) < 1e-4, (row, own, value)


model = json.load(open("model.json"))
trees = model["classes"][0]["trees"]
names = trees["learner"]["feature_names"]
rows = json.load(open("own.json"))
booster = xgboost.Booster()
json.dump(trees, open("trees.json", "w"))
booster.load_model("trees.json")
assert booster.num_boosted_rounds() == 200, booster.num_boosted_rounds()
hold(booster, rows, names)

target = [math.log(row["measured_us"] / row["roofline_us"]) for row in rows]
other = xgboost.train({"max_depth": 4, "eta": 0.2}, xgboost.DMatrix([features(row) for row in rows], target, feature_names=names), 40)
other.save_model("other.json")
model["classes"][0]["trees"] = json.load(open("other.json"))
json.dump(model, open("with_other.json", "w"))
said = subprocess.run([sys.argv[1], "cost", "predict", "with_other.json", "--table", "table.csv", "--by", "trees", "--json"],
                      capture_output=True, check=True)
hold(other, json.loads(said.stdout), names)
print("both ways,", len(rows), "calls, xgboost", xgboost.__version__)
END
"$python" compare.py "$TACHO"
