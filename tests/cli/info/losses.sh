# What a run's file `losses` tells: processes that could not be recorded, and records; nothing of a line that is not whole.
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" run
{
	echo "# what could not be recorded: process, host, records, cause"
	printf '4711\tnode7\t0\tNo space left on device\n'
	printf '4712\tnode7\t12\tthreads without a file of their own\n'
	printf '4713\tnode7\tmissing\n\n\t\t\t\n'
	printf '4714\tnode7\t0\tcut in the mid'
} >run/losses
"$TACHO" info run | grep -E 'rust|process 47|process 0|lost'
