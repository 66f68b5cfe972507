# The text of an export, one line an event: a step of a rank; without the image of the run behind the events.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/two_ranks" --to chrome --rank 0 --steps 2:2 &&
	sed '/"tachoRun"/,$d' two_ranks.json | grep -v '"ph":"C"' | head -100
# Of a host that the trace does not tell nothing is said.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/kineto" --to chrome -o - | grep -o '"name":"rank [^"]*"' | head -n 2
