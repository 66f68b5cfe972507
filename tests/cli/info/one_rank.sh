# One of two ranks is not the whole run: the score says so, and --min-trust makes it the exit code.
"$TACHO" info "$TACHO_SOURCE_DIR/tests/data/two_ranks/"*-27178 --min-trust 90
