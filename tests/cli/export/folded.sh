# Folded stacks sum up to the time of the run's slices, in all and by their innermost name.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
"$TACHO" export "$run" --to folded
head -4 two_ranks.folded
awk '{ sum += $NF } END { printf "%d stacks, %d ns\n", NR, sum }' two_ranks.folded
"$TACHO" query "$run" "SELECT sum(self_dur) AS ns FROM slice" --format jsonl

# By name; names have blanks in them.
sed -E 's/^.*;(.*) ([0-9]+)$/\1\t\2/' two_ranks.folded |
	awk -F '\t' '{ sum[$1] += $2 } END { for (name in sum) print name "\t" sum[name] }' | sort >by_name
"$TACHO" query "$run" "SELECT name, sum(self_dur) AS ns FROM slice GROUP BY name HAVING ns > 0" --format tsv |
	tail -n +2 | sort >wanted
wc -l <by_name
diff by_name wanted && echo "the same"
