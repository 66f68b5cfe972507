# The findings of a report are replayed up to 300,000 slices, told without a replay up to a million, and left to
# --view advise beyond, which the report says. The plan that gains most is looked for up to 100,000.
make_trace() {
	awk -v n="$1" 'BEGIN {
		steps = 4
		span = n / steps * 4
		print "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"train\"}}"
		for (s = 0; s < steps; s++) {
			printf ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"ts\":%d,\"dur\":%d}\n", s, s * span, span
			printf ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__\",\"ts\":%d,\"dur\":%d}\n", s * span, span / 2
		}
		for (i = 0; i < n - 2 * steps; i++) {
			s = int(i / (n / steps))
			printf ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"cpu_op\",\"name\":\"aten::mul\",\"ts\":%d,\"dur\":1}\n", s * span + span / 2 + (i - s * n / steps) * 2
		}
		print "]" }'
}
for n in 4000 300004 1000004; do
	echo "== $n"
	make_trace $n >large.json
	"$TACHO" report large.json >said
	sed '/^plan: /,$d' said | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' | tail -n 5
	sed -n '/^plan: /,$p' said
done
