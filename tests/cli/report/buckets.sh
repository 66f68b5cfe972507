# Buckets, and the gradients in them.
"$TACHO" report --view bucket "$TACHO_SOURCE_DIR/tests/data/two_ranks"
"$TACHO" report --view gradient --rank 1 --json "$TACHO_SOURCE_DIR/tests/data/two_ranks"
