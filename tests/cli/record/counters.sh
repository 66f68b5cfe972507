# Which hardware counters may be asked for: wrong lists are refused before anything runs, and right ones reach the job.
for options in "--counters=" "--counters=cycles" "--counters=sm__a;rm" "--kernel-counters=default,__x(" "--counters=default --counters-every=5" \
	"--counters=default --kernel-counters=default" "--counters=default --probes=socket"; do
	"$TACHO" record -q $options -o run -- echo ran 2>&1
	echo "$?"
done
"$TACHO" record -q --counters 'sm__a.sum,dram__b.avg|dramc__b.avg' --counters-every 100 -o run -- env | grep TACHO_.*COUNTERS | LC_ALL=C sort
TACHO_COUNTERS=old TACHO_KERNEL_COUNTERS=old "$TACHO" record -q --kernel-counters default --force -o run -- env | grep TACHO_.*COUNTERS
