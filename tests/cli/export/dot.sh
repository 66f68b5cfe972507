# The graph, read by Graphviz, has the calls that tacho query counts, and the time of each name.
command -v dot >/dev/null && command -v python3 >/dev/null || exit 77
export RUN=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$RUN" --to dot
head -6 two_ranks.dot
dot -Tjson0 two_ranks.dot -o two_ranks.json || echo "Graphviz does not take it"
cat >compare.py <<'PYTHON'
import json, os, subprocess


def ask(sql):
    return json.loads(subprocess.check_output([os.environ["TACHO"], "query", os.environ["RUN"], sql, "--json"]))


graph = json.load(open("two_ranks.json"))
names = [node["label"].split("\\n")[0] for node in graph["objects"]]
nodes = sorted(node["label"] for node in graph["objects"])
edges = sorted((names[edge["tail"]], names[edge["head"]], int(edge["label"])) for edge in graph["edges"])
wanted_nodes = sorted("%s\\n%.3f ms itself, %d times" % (row["name"], row["ns"] / 1e6, row["n"]) for row in ask(
    "SELECT name, sum(self_dur) AS ns, count(*) AS n FROM slice GROUP BY name"))
wanted_edges = sorted(tuple(row.values()) for row in ask(
    "SELECT p.name AS caller, s.name AS callee, count(*) AS n FROM slice s JOIN slice p ON p.id = s.parent_id"
    " GROUP BY 1, 2"))
print(len(nodes), "nodes", nodes == wanted_nodes, len(edges), "arrows", edges == wanted_edges)
largest = max(graph["objects"], key=lambda node: float(node["fontsize"]))
print(largest["label"].split("\\n")[0], largest["fontsize"], largest["fillcolor"])
PYTHON
python3 compare.py

# A part of it.
"$TACHO" export "$RUN" --to dot --rank 1 --steps 1:1 -o - | dot -Tplain | grep -c '^edge'
