#!/usr/bin/env bash
# demo.sh: the whole way, on the example: record it, say what was recorded, show where a step goes,
# replay it beside what was measured, and write a trace for Perfetto. Leaves demo.tacho and demo.pftrace in the folder above.
set -euo pipefail
cd "$(dirname "$0")/.."
tacho=build/default/bin/tacho
steps=${STEPS:-20}

# What runs is what is shown.
run() {
	printf '\n$ %s\n' "${*/#$tacho/tacho}"
	"$@"
}

run "$tacho" record --force -n 2 -o demo.tacho -- /usr/bin/python3 examples/ddp_train.py --steps "$steps"
run "$tacho" info demo.tacho
run "$tacho" report demo.tacho
run "$tacho" replay demo.tacho
run "$tacho" export --to perfetto --force -o demo.pftrace demo.tacho
cat <<END

demo.pftrace stays on your machine: https://ui.perfetto.dev shows it in the browser, without a server.
More to try:
  $tacho report --view op --all demo.tacho
  $tacho report --view comm demo.tacho
  $tacho replay --what-if bandwidth=10x demo.tacho
  $tacho record -o mine.tacho -- python3 train.py        your own job
END
