# The text of an export, one line an event: a step of a rank.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/two_ranks" --to chrome --rank 0 --steps 2:2 &&
	grep -v '"ph":"C"' two_ranks.json | head -100
# Of a host that the trace does not tell nothing is said.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/kineto" --to chrome -o - | grep -o '"name":"rank [^"]*"' | head -n 2
