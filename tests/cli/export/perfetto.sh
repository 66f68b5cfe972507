# Perfetto traces are bytes; protoc-c shows them. The bytes are the same every time.
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/two_ranks" --to perfetto
"$TACHO" export "$TACHO_SOURCE_DIR/tests/data/two_ranks" --to perfetto -o again.pftrace
cmp two_ranks.pftrace again.pftrace
protoc-c --decode=perfetto.Trace --proto_path="$TACHO_SOURCE_DIR/src/export" perfetto.proto <two_ranks.pftrace >text
head -120 text
grep -c '^packet' text
