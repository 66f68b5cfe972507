# Traces of others, where they are, damaged on purpose as in damaged.sh.
command -v python3 >/dev/null || exit 77
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto
[ -d "$data/kineto/samples" ] && [ -d "$data/tracelens" ] || exit 77
damage() { python3 "$TACHO_SOURCE_DIR/tests/support/damage_trace.py" "$TACHO" "$@"; }

echo "one H100, one step, Python stacks"
damage "$data/tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz"
echo "one V100, six steps"
damage "$data/kineto/samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz"
