# The views of a run with devices: two ranks' traces of PyTorch's profiler.
run=$TACHO_SOURCE_DIR/tests/data/kineto
report() { "$TACHO" report "$run" "$@" | sed 1,4d; }
report --view overlap
report --view straggler
report --view idle
report --view idle --device 'stream 7' --rank 0 --sort host_wait_ms
report --view launch
report --view launch --name sgemm --rank 1
report --view queue
report --view queue_curve --rank 0
report --view bandwidth
report --view bandwidth_curve --rank 1
report --view offload
report --view counters
report --view memory
report --view idle --device 'gpu 5'
for view in idle launch queue queue_curve bandwidth bandwidth_curve offload counters; do
	"$TACHO" report "$run" --view $view --rank 0 --limit 1 --json
done
