# XSpaces of a GPU and of a TPU, written by hand.
traces=$TACHO_SOURCE_DIR/tests/data/xplane
"$TACHO" info "$traces/gpu.xplane.pb"
"$TACHO" report "$traces/gpu.xplane.pb" --steps 0:0 --view step --view kernel --view launch
"$TACHO" query "$traces/tpu.xplane.pb" "select track_id, category, name, ts, dur from slice order by track_id, ts"
"$TACHO" query "$traces/tpu.xplane.pb" "select key, display_value from args join slice using (arg_set_id) where name = 'dot.2'"
"$TACHO" export --to perfetto -o trace.pftrace "$traces/gpu.xplane.pb" | cut -d. -f1
head -c 700 "$traces/gpu.xplane.pb" >cut.xplane.pb
"$TACHO" info cut.xplane.pb | sed -n '/^holds/p;/^Trust/,/^$/p'
head -c 60 "$traces/gpu.xplane.pb" >head.xplane.pb
"$TACHO" info head.xplane.pb
echo "exit $?"
