# Without --view: a screenful. In a pipe there are no colours, and nothing is cut.
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/two_ranks"
