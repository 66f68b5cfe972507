#!/usr/bin/env bash
# How long a folder of Kineto traces, one a rank, takes from the files to the full report, and how much memory: 1, 8
# and 64 ranks of MEGABYTES (15) each, plain, gzip and zstd, the files in the page cache. They are made from the 8
# traces of a job of $TACHO_SHARED (or beside the source); without them, nothing is measured. Every round is printed.
#   bench/ranks.sh BUILD_DIR [SAMPLES]
set -euo pipefail
source=$(realpath "$(dirname "$0")/..")
build=$1
shared=${TACHO_SHARED:-$source/../shared}
samples=${2:-$shared/data/kineto/megatron_tp8}
[ -d "$samples" ] || { echo "no samples $samples"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/bench/make_ranks.py" "$samples" "$work/all" 64 "${MEGABYTES:-15}"

# The first $1 ranks' files as a folder, each through the command $3..., with $2 behind its name.
make_folder() {
	local ranks=$1 suffix=$2 rank
	shift 2
	mkdir "$work/$ranks$suffix"
	for ((rank = 0; rank < ranks; rank++)); do
		"$@" <"$work/all/rank$rank.json" >"$work/$ranks$suffix/rank$rank.json$suffix"
	done
}

measure() {
	local folder=$1 command=$2 round
	for ((round = 0; round < ${ROUNDS:-3}; round++)); do
		/usr/bin/time -f "$folder ranks: $command %e s, %U s user, %S s system, %M KiB" \
			"$build/bin/tacho" "$command" "$work/$folder" 2>&1 >/dev/null | tail -1
	done
}

for coding in "" .gz .zst; do
	case $coding in
	.gz) encode=(gzip -1) ;;
	.zst) encode=(zstd -q -3) ;;
	*) encode=(cat) ;;
	esac
	for ranks in 1 8 64; do
		make_folder $ranks "$coding" "${encode[@]}"
		echo "$(du -sb "$work/$ranks$coding" | cut -f1) bytes," \
			"$("$build/bin/tacho" info --json "$work/$ranks$coding" | grep -m1 -o '"events":[^,]*')"
		measure "$ranks$coding" info
		measure "$ranks$coding" report
		rm -r "${work:?}/$ranks$coding"
	done
done
