# The rows of a profile view as files: each stack of the profile sums up to its row's total, and the timeline has the
# slices of the rows and nothing else.
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks KINETO=$TACHO_SOURCE_DIR/tests/data/kineto
cat >compare.py <<'PYTHON'
import collections, json, os, subprocess, sys
sys.path.insert(0, os.environ["TACHO_SOURCE_DIR"] + "/tests/support")
import pprof_file

SCALES = {"nanoseconds": 1e6}


def report(run, *options):
    done = subprocess.run([os.environ["TACHO"], "report", run, *options], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else sys.exit(done.stderr)


def profile(run, key, *options):
    report(run, *options, "--output", "pprof:rows.pb.gz", "--force")
    rows = json.loads(report(run, *options, "--json"))
    profile = pprof_file.Profile("rows.pb.gz")
    total, names = collections.Counter(), {0: ()}
    for stack, values in profile.samples:
        for n in range(1, len(stack) + 1):
            total[stack[:n]] += values[1]
    scale = SCALES.get(profile.types[1][1], 1)
    wrong, wanted = 0, collections.Counter()
    for row in rows:
        if row["parent_id"] is None:
            names[row["id"]] = ()
            continue
        names[row["id"]] = names[row["parent_id"]] + (row["label"],)
        wanted[names[row["id"]]] += row[key] * scale
    for stack in wanted:
        # a value is rounded, and so is each below
        wrong += abs(total[stack] - wanted[stack]) > len(rows)
    print(profile.types[1], len(wanted) > 3, "rows", wrong, "differ", max(wanted.values()) > 0, set(total) <= set(wanted))
    return profile


def timeline(run, *options):
    """Slices of threads and streams by name."""
    report(run, *options, "--output", "timeline:rows.json", "--force")
    events = json.load(open("rows.json"))["traceEvents"]
    return collections.Counter(e["name"] for e in events if e["ph"] == "X" and e.get("cat") != "step"), \
        {e["ph"] for e in events} - {"M", "X", "s", "f"}


def counts(run, where):
    rows = json.loads(subprocess.check_output([os.environ["TACHO"], "query", run, "--json",
                                               f"SELECT name, count(*) AS n FROM slice WHERE {where} GROUP BY name"]))
    return {row["name"]: row["n"] for row in rows}


run, kineto = os.environ["RUN"], os.environ["KINETO"]
profile(run, "total_ms", "--view", "code")
profile(run, "total_host_ms", "--view", "scope", "--select", "cpu_micros", "--mean", "none")
profile(run, "total_output_bytes", "--view", "code", "--select", "output_bytes,op_types", "--rank", "1")
profile(run, "total_ms", "--view", "scope", "--displayed-only", "yes", "--hide", ".*aten::.*", "--max-depth", "3")
profile(kineto, "total_device_ms", "--view", "scope", "--select", "accelerator_micros", "--mean", "none")

all_ops, others = timeline(run, "--view", "scope", "--steps", "all")
print("all operations:", {n: c for n, c in all_ops.items() if n.startswith("aten::")} == counts(run, "name GLOB 'aten::*'"), others)
shown, others = timeline(run, "--view", "scope", "--steps", "all", "--show", ".*aten::addmm", "--rank", "0")
print("one of them, on one rank:", sorted(shown), shown["aten::addmm"] ==
      counts(run, "name = 'aten::addmm' AND track_id IN (SELECT id FROM track WHERE rank = 0)").get("aten::addmm"))
shown, others = timeline(kineto, "--view", "graph", "--steps", "1:1")
kernels = {n for n in counts(kineto, "category IN ('kernel', 'collective', 'memcpy')")}
print("kernels with their operations:", bool(kernels & set(shown)), sorted(kernels & set(shown)))
PYTHON
python3 compare.py
report() { "$TACHO" report "$RUN" "$@"; echo "exit $?"; }
report --view code --output pprof:rows.pb.gz
report --view code --output timeline:outfile=new.json
report --view op --output timeline:x
report --view graph --output pprof:x
report --output pprof:x
report --view code --output pprof
report --view code --output profile:x
report --view code --select micros,bytes --output pprof:x
report --view code --output pprof:/nowhere/x
ls
