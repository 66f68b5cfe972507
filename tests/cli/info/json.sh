# What a run holds, for programs.
"$TACHO" info "$TACHO_SOURCE_DIR/tests/data/two_ranks" --json | sed "s|$TACHO_SOURCE_DIR|SOURCE|"
