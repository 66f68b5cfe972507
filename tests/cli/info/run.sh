# What a run holds, for people.
"$TACHO" info "$TACHO_SOURCE_DIR/tests/data/two_ranks"
