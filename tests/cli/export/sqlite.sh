# The database, read by Python's SQLite: every row of every table is what tacho query says.
command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to sqlite
"$TACHO" export "$RUN" --to sqlite --rank 1 --steps 1:2 -o part.sqlite
mkdir temporary
TMPDIR=$PWD/temporary "$TACHO" export "$RUN" --to sqlite -o - >again.sqlite
ls -A temporary
cmp two_ranks.sqlite again.sqlite
TMPDIR=$PWD/missing "$TACHO" export "$RUN" --to sqlite -o not_made.sqlite 2>message
echo "exit $?"
sed 's,/[^ ]*/,,; s/tacho-....../tacho-XXXXXX/' message
ls
cat >compare.py <<'PYTHON'
import json, os, sqlite3, subprocess


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


whole = sqlite3.connect("two_ranks.sqlite")
whole.row_factory = sqlite3.Row
print(whole.execute("PRAGMA integrity_check").fetchone()[0])
for (table,) in whole.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1").fetchall():
    theirs = [dict(row) for row in whole.execute(f"SELECT * FROM {table} ORDER BY id")]
    print(table, len(theirs), "same" if theirs == ask(f"SELECT * FROM {table} ORDER BY id") else "different")

part = sqlite3.connect("part.sqlite")
print("ranks and steps:", part.execute("SELECT rank, step, count(*) FROM slice GROUP BY 1, 2").fetchall())
print("as in the run:", [tuple(row.values()) for row in ask(
    "SELECT rank, step, count(*) FROM slice WHERE rank = 1 AND step IN (1, 2) GROUP BY 1, 2")])
print("steps:", part.execute("SELECT rank, step FROM step").fetchall())
print("processes:", part.execute("SELECT rank FROM process").fetchall())
for left, column in (("flow", "slice_out"), ("flow", "slice_in"), ("args", "arg_set_id"),
                     ("collective_member", "slice_id")):
    print(left, column, "without a slice:", part.execute(
        f"SELECT count(*) FROM {left} WHERE {column} NOT IN (SELECT id FROM slice)").fetchone()[0])
print("collectives without a member:", part.execute(
    "SELECT count(*) FROM collective WHERE id NOT IN (SELECT collective_id FROM collective_member)").fetchone()[0])
PYTHON
python3 compare.py
if command -v sqlite3 >/dev/null; then
	sqlite3 two_ranks.sqlite "SELECT count(*) FROM slice WHERE name = 'aten::mm' AND rank = 1" |
		grep -qx "$("$TACHO" query "$RUN" "SELECT count(*) FROM slice WHERE name = 'aten::mm' AND rank = 1" --format csv | tail -n 1)" ||
		echo "sqlite3 does not read it"
fi
