# Without --view: a screenful. In a pipe there are no colours, and nothing is cut.
cd "$TACHO_SOURCE_DIR/tests/data" || exit 1
"$TACHO" report two_ranks
