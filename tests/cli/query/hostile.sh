# Names that a spreadsheet would run or a terminal obey do neither, and a query without an end is ended.
printf '{"traceEvents":[%s,%s]}' \
	'{"ph":"X","name":"=cmd|calc!A0","cat":"cpu_op","pid":1,"tid":2,"ts":1,"dur":2}' \
	'{"ph":"X","name":"\u001b[31mred\u0007\u009b","cat":"cpu_op","pid":1,"tid":2,"ts":9,"dur":2}' >trace.json
for format in csv tsv table; do
	"$TACHO" query trace.json "SELECT name, -dur FROM slice ORDER BY ts" --format $format
done | LC_ALL=C cat -v
"$TACHO" export trace.json -o out.csv --to csv 2>/dev/null
LC_ALL=C grep -c "$(printf '\033')" out.csv
cut -d, -f1-20 out.csv | grep -o "'=cmd|calc!A0"
"$TACHO" info "$(printf 'no\033[1mthing')" 2>&1 | LC_ALL=C cat -v
"$TACHO" query trace.json --timeout 1 \
	"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c" 2>&1 >/dev/null
echo $?
timeout -s INT -k 100 1 "$TACHO" query trace.json \
	"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c" >/dev/null 2>&1
[ $? = 124 ] && echo "ended by SIGINT"
for memory in 20M 0; do
	"$TACHO" query trace.json --max-memory $memory "SELECT length(hex(zeroblob(20000000))) AS n" --format csv 2>&1
	echo $?
done
"$TACHO" query trace.json --max-memory much "SELECT 1" 2>&1
echo $?
