# Where predictions of real jobs on accelerators come from, where the samples are.
data=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/kineto/tracelens
trace=$data/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz
[ -e "$trace" ] || exit 77
"$TACHO" replay "$trace" --explain | sed -n '/^Where/,/^$/p'
"$TACHO" replay "$trace" --explain --what-if scale:kernel~.=2 | sed -n '/^Where/,/^$/p'
# most kernels' classes were measured on both devices, some were not
"$TACHO" replay "$trace" --explain --what-if device=MI300X --json >answer.json
python3 - <<'PYTHON'
import json
whole, *parts = json.load(open("answer.json"))["explanation"]
origins = "measured_ms", "scaled_ms", "modelled_ms", "guessed_ms"
print([key for key in origins if whole[key] > 0], whole["modelled_ms"] > whole["guessed_ms"])
print([part["kind"] for part in parts if part["modelled_ms"] > 1])
print(all(abs(whole[key] - sum(part[key] for part in parts)) < 1e-9 for key in origins + ("before_ms", "after_ms")))
PYTHON
