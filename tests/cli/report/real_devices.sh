# Real traces of GPU jobs, where they are: figures that were counted from the files by other means.
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto
[ -d "$data/megatron_tp8" ] && [ -d "$data/tracelens" ] || exit 77
figure() { grep -oE "\"$1\":[^,]*"; }

# 8 ranks: the rank that waits least arrives last (1); its collectives' kernels take 241,191 us.
"$TACHO" report "$data/megatron_tp8" --view straggler --limit 1 --json | figure rank
"$TACHO" report "$data/megatron_tp8" --view straggler --sort waited_ms --json | figure rank | tail -n 1
"$TACHO" report "$data/megatron_tp8" --view idle --rank 0 --device 'stream 24' --json |
	figure '(count|busy_ms)'
# TraceLens' report of the trace: busy 12.549021 ms, idle 0.0000112 ms.
"$TACHO" report "$data/tracelens/torch_compile_triton/trace.json.gz" --view idle --json |
	figure '(busy|idle)_ms'
# No device: no rows, and no error.
"$TACHO" report "$data/hta/rank_non_gpu" --view queue --json
# TraceLens' figures of whole traces in which there is no step: busy and idle, to 10 ns, since it adds up
# times in microseconds as doubles, of which each is off by up to a quarter of a nanosecond.
for trace in h100/gaunernst_bert-small-uncased__1016001 mi300/Falconsai_nsfw_image_detection__1016002; do
	"$TACHO" report "$data/tracelens/$trace.json.gz" --view idle --json | figure '(busy|idle)_ms' |
		sed 's/[":]/ /g' | sort - <(sed -n 's/^\(busy\|idle\)_time,\([^,]*\),.*/ \1_ms  \2/p' \
			"$data/tracelens/$trace.expected/gpu_timeline.csv") |
		awk '{ if (last == $1) print $1, value - $2 < 1e-5 && $2 - value < 1e-5 ? "agrees" : value " " $2
		       last = $1; value = $2 }'
done
