#!/usr/bin/env bash
# What several processes of Open MPI and MPICH report of a run of 64 ranks, or of two of them compared, is what one process
# reports, byte for byte; each has less of the run in memory; what they cannot do is refused by all of them, once, and nobody waits for one that fails.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0 n_flavours=0
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's libraries keep memory to the end
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
wrong() { echo "$flavour: $*"; failed=1; }
together() { timeout 60 "mpirun.$flavour" -n "$@" >out 2>err </dev/null; }
# same N ARGUMENT...: as one process says it, which may be that the answer is no
same() {
	local n=$1 code
	shift
	"$TACHO" "$@" >expected
	code=$?
	[ $code -le 1 ] || wrong "one process: $*"
	together "$n" "$TACHO" "$@"
	[ $? = $code ] || wrong "$n processes do not end with $code: $*: $(cat err)"
	cmp expected out || wrong "$n processes say other things: $*"
}
# refused WORDS N ARGUMENT...: with exit code 2, and one message
refused() {
	local words=$1
	shift
	together "$@"
	[ $? = 2 ] || wrong "not refused: $*"
	[ ! -s out ] || wrong "it said something: $*"
	[ "$(grep -c '^tacho [a-z]*: ' err)" = 1 ] && grep '^tacho' err | grep -q "$words" || wrong "$*: $(cat err)"
}

"$TACHO_BUILD_DIR/tests/shared_run" job.tacho 64 4 40 || exit 1
"$TACHO_BUILD_DIR/tests/shared_run" other.tacho 64 6 30 || exit 1
"$TACHO_BUILD_DIR/tests/shared_run" large.tacho 8 4 32000 || exit 1
mkdir -p alone/bin && cp "$TACHO" alone/bin # without its libraries
for flavour in openmpi mpich; do
	command -v "mpirun.$flavour" >/dev/null && [ -e "$TACHO_BUILD_DIR/lib/tacho/libtacho_peers_$flavour.so" ] || continue
	together 2 true || { echo "$flavour: does not run here"; continue; }
	n_flavours=$((n_flavours + 1))
	for n in 2 4 8; do
		same $n report --view op job.tacho
		same $n diff job.tacho other.tacho
	done
	same 3 info --json job.tacho
	same 2 report --view op --shapes --steps all --json job.tacho
	same 4 report --view step --view kernel --view comm --view message --view latency --view hang --all job.tacho
	same 4 report --view scope --view code --view straggler --view goodput --all job.tacho
	same 8 diff --view op --view kernel --view region --view step --all --json job.tacho,other.tacho job.tacho other.tacho
	same 2 diff --fail-above 0 --rank 3 --steps all job.tacho,other.tacho other.tacho
	same 4 report large.tacho
	same 8 query job.tacho "SELECT name, count(*), avg(dur) / 1e3 FROM slice WHERE step > 0 GROUP BY name ORDER BY 2 DESC, name"
	same 4 query --format csv --limit 20 job.tacho "SELECT * FROM step; SELECT rank, max(dur) FROM slice GROUP BY rank"
	refused "'OVER'" 3 "$TACHO" query job.tacho "SELECT rank, sum(count(*)) OVER () FROM slice GROUP BY rank"
	refused "sum(dur / 2.5e3) exactly" 4 "$TACHO" query job.tacho "SELECT sum(dur / 2.5e3) FROM slice"
	same 2 report job.tacho
	same 4 report --json --rank 3 --steps 1:2 job.tacho
	refused "no rank 70" 3 "$TACHO" report --rank 70 job.tacho
	refused "cannot make critical" 2 "$TACHO" report --view op --view critical job.tacho
	refused "no-run" 3 "$TACHO" report --view op no-run
	refused "no rank 70" 2 "$TACHO" diff --rank 70 job.tacho other.tacho
	same 4 diff --order job.tacho other.tacho
	refused "same arguments" 1 "$TACHO" report --view op --rank 1 job.tacho : -n 1 "$TACHO" report --view op --rank 2 job.tacho
	# called by what the launcher started, it waits for nobody
	together 2 sh -c '"$TACHO" info job.tacho >by.$$; exit $?' && [ "$(cat by.* | grep -c '^ranks')" = 2 ] || wrong "called by a job: $(cat err)"
	rm -f by.*
	refused "libtacho_peers_$flavour.so" 2 alone/bin/tacho info job.tacho
done
[ $n_flavours -gt 0 ] || exit 77
exit $failed
