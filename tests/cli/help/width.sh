# --width and --wide in all commands that print tables: no line of a table is wider than asked for, and wide has whole names.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
name="void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
cat >trace.json <<END
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1,"dur":90},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":10,"dur":20,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":12,"dur":5,"args":{"correlation":1}},
{"ph":"X","cat":"kernel","name":"$name","pid":0,"tid":7,"ts":20,"dur":60,"args":{"correlation":1,"device":0,"stream":7}}]}
END
# the longest line of the tables; -: as it is. Lines that are no tables are not cut.
longest() { "$TACHO" "$@" 2>/dev/null | grep -E '^(name|op|rank|host|what|format|probe|compute) ' | LC_ALL=C.UTF-8 wc -L; }
for words in "info $run" "report $run --view op" "diff $run $run --view op" "replay $run" "import --list" "probe list" "query $run \"select 'name that is so long that it takes more than forty columns' as name\""; do
	eval "set -- $words"
	narrow=$(longest "$@" --width 40) wide=$(longest "$@" --wide) free=$(longest "$@" --width 0)
	echo "${words%% *}: $([ "$narrow" -le 40 ] && echo fits || echo "$narrow") $([ "$wide" -gt "$narrow" ] && echo wider) $([ "$wide" -ge "$free" ] && echo whole)"
done
names() { "$TACHO" "$@" 2>/dev/null | grep -o "\(void at::native::\)\?vectorized_elementwise_kernel.*3ul>)\|vectorized_elementwise_kernel" | sort | uniq -c; }
for words in "report --view kernel trace.json" "diff --view kernel trace.json trace.json"; do
	echo "$words"
	names $words
	names $words --wide
done
for words in "info $run" "diff $run $run" "query $run 'select 1'" "replay $run" "import --list" "probe list"; do
	eval "set -- $words"
	"$TACHO" "$@" --width -1
	"$TACHO" "$@" --width many
done
