# The folder as babeltrace2 tells it: every slice of tacho query with its begin and end, in the order of time; which
# folders are written to and which are not.
command -v babeltrace2 >/dev/null || exit 77
command -v python3 >/dev/null || exit 77
"$TACHO" --version | grep "built with" | grep -q "CTF traces of others" || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to ctf -o two.ctf
stat -c '%a %n' two.ctf two.ctf/* two.ctf/.tacho_run
babeltrace2 --clock-seconds two.ctf >events.txt
cat >compare.py <<'PYTHON'
import collections, json, os, re, subprocess


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


origin_ns = int(re.search(r"offset_s = (\d+);", open("two.ctf/metadata").read())[1]) * 10**9
origin_ns += int(re.search(r"offset = (\d+);", open("two.ctf/metadata").read())[1])
kinds, begun, slices, last = collections.Counter(), {}, collections.Counter(), 0
for line in open("events.txt"):
    time, event, context, fields = re.fullmatch(
        r"\[(\d+\.\d+)\] \(\S+\) \S+ (\S+): (\{.*?\}), (\{.*\})\n", line).groups()
    time_ns = int(time.replace(".", "")) - origin_ns
    assert time_ns >= last, line
    last = time_ns
    kinds[re.sub(".*_(begin|end)$", r"slice \1", event) if "_thread:" in event or "_async:" in event else event] += 1
    number = re.search(r"slice = (\d+)", fields)
    if event.endswith("_begin") and number:
        rank, name = re.search(r"rank = (\d+)", context)[1], re.search(r'name = "(.*?)"', fields)[1]
        begun[number[1]] = int(rank), re.fullmatch(r".*:(\w+)_begin", event)[1], name, time_ns
    elif event.endswith("_end") and number:
        rank, kind, name, start_ns = begun.pop(number[1])
        assert event.endswith(f":{kind}_end"), line
        slices[rank, kind, name, start_ns, time_ns - start_ns] += 1
print("left open:", len(begun))
for kind, n in sorted(kinds.items()):
    print(n, kind)
wanted = collections.Counter(tuple(row.values()) for row in ask(
    "SELECT p.rank, s.category, s.name, s.ts, s.dur FROM slice s JOIN track t ON s.track_id = t.id "
    "JOIN process p USING (upid) WHERE s.category <> 'step'"))
print(sum(slices.values()), "slices", "as queried" if slices == wanted else
      list((slices - wanted).items())[:3] + list((wanted - slices).items())[:3])
PYTHON
python3 compare.py
"$TACHO" report "$RUN" --view step >expected.txt
"$TACHO" report two.ctf --view step >read.txt
diff expected.txt read.txt && echo "the same steps"
cp -r two.ctf events.ctf && rm events.ctf/.tacho_run # as of a tacho that wrote none
"$TACHO" report events.ctf --view step >read.txt
diff expected.txt read.txt && echo "the same steps from events alone"
rm -r events.ctf

mkdir empty other && touch other/mine file
sum() { cat "$1"/* | cksum; }
before=$(sum two.ctf)
for arguments in "" "-o -" "-o two.ctf" "-o other" "-o other --force" "-o file" "-o nowhere/two.ctf" \
	"-o empty --rank 7" "-o empty --steps 90:99"; do
	echo "\$ tacho export RUN --to ctf $arguments"
	"$TACHO" export "$RUN" --to ctf $arguments
	echo "= $?"
done
echo "$(ls other) $(ls empty | wc -l)"
"$TACHO" export "$RUN" --to ctf -o empty/ --rank 1 --steps 1:2 && ls empty
"$TACHO" export "$RUN" --to ctf -o empty --force && ls empty
[ "$(sum empty)" = "$before" ] && [ "$(sum two.ctf)" = "$before" ] && echo "the same files"
ls -A
