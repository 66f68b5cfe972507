# One view asked for as JSON is the bare array of its rows.
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/two_ranks" --view step --json
