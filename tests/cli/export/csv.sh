# The table, read by Python, holds what tacho query says, cell by cell.
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to csv
"$TACHO" export "$RUN" --to csv --rank 0 --steps 2:2 -o part.csv
cut -d, -f 1-11 two_ranks.csv | head -4 # without times
cat >compare.py <<'PYTHON'
import collections, csv, json, os, subprocess


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


def read(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def args():
    """The args that are columns, by slice and key, from their table."""
    return {(row["arg_set_id"], row["key"]): row["display_value"] for row in ask(
        "SELECT arg_set_id, key, display_value FROM args WHERE key IN ('bytes', 'flops', 'inputs', 'outputs')")}


def expected():
    tracks = {row["id"]: row for row in ask("SELECT * FROM track")}
    pids = {row["upid"]: row["pid"] for row in ask("SELECT upid, pid FROM process")}
    tids = {row["utid"]: row["tid"] for row in ask("SELECT utid, tid FROM thread")}
    known = args()
    for row in ask("SELECT * FROM slice"):
        track = tracks[row["track_id"]]
        row.update(host=track["host"], pid=pids[track["upid"]], tid=tids.get(track["utid"]), track=track["name"],
                   track_type=track["type"], stream=track["stream"], ts_ns=row["ts"], dur_ns=row["dur"],
                   self_dur_ns=row["self_dur"])
        row.update({key: known.get((row["id"], key)) for key in ("bytes", "flops", "inputs", "outputs")})
        yield row


rows, wanted = read("two_ranks.csv"), list(expected())
different = collections.Counter(
    key for row, want in zip(rows, wanted) for key in row if row[key] != ("" if want[key] is None else str(want[key])))
print(len(rows), "rows of", len(wanted), "different:", dict(different))
print({key: sum(row[key] != "" for row in rows) for key in rows[0]})
part = read("part.csv")
print("part:", collections.Counter((row["rank"], row["step"]) for row in part),
      all(row in rows for row in part), sum(row["rank"] == 0 and row["step"] == 2 for row in wanted))
PYTHON
python3 compare.py
