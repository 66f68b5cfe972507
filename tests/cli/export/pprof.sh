# The profile, unpacked by Python with the field numbers of pprof's own profile.proto: its stacks are those of
# the folded export, and as often there as tacho query counts.
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to pprof
"$TACHO" export "$RUN" --to folded 2>/dev/null
gzip -t two_ranks.pb.gz || echo "gzip does not take it"
cat >compare.py <<'PYTHON'
import collections, json, os, subprocess, sys
sys.path.insert(0, os.environ["TACHO_SOURCE_DIR"] + "/tests/support")
import pprof_file


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


profile = pprof_file.Profile("two_ranks.pb.gz")
print("string 0:", repr(profile.strings[0]), "types:", profile.types, "first:", profile.first_shown)
folded, calls = collections.Counter(), collections.Counter()
for stack, (count, time) in profile.samples:
    folded[";".join(stack)] += time
    calls[stack[-1]] += count
wanted = collections.Counter()
for line in open("two_ranks.folded"):
    stack, time = line.rsplit(" ", 1)
    wanted[stack] += int(time)
print(len(folded), "stacks", +folded == wanted)
counts = {row["name"]: row["n"] for row in ask("SELECT name, count(*) AS n FROM slice GROUP BY name")}
print(len(calls), "names", calls == counts)
origin = json.loads(subprocess.check_output([os.environ["TACHO"], "info", os.environ["RUN"], "--json"]))
print("seconds:", profile.duration_ns / 1e9, "of", origin["duration_ms"] / 1e3)
PYTHON
python3 compare.py
