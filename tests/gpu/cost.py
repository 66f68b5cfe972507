"""cost.py PAIRS: how much longer steps are while they are recorded, from lines "plain MS" and "recorded MS" of jobs that ran in turns: the median of the
pairs' ratios and the range of them. Exit 1 above 2 percent."""
import statistics
import sys

LIMIT_PCT = 2.0

rows = [line.split() for line in open(sys.argv[1])]
plain, recorded = ([float(row[1]) for row in rows if row[0] == how and len(row) > 1] for how in ("plain", "recorded"))
if not plain or len(plain) != len(recorded):
    sys.exit("cost: jobs did not tell their steps")
ratios = sorted(100 * (b / a - 1) for a, b in zip(plain, recorded))
cost = statistics.median(ratios)
print(f"cost of recording: {cost:.2f} % of a step of {statistics.median(plain):.3f} ms ({len(ratios)} pairs: {ratios[0]:.2f} to {ratios[-1]:.2f} %)")
sys.exit(cost > LIMIT_PCT)
