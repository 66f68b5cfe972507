# Every query of docs/query.md runs, and the page's tables are those there are.
page=$TACHO_SOURCE_DIR/docs/query.md
run=$TACHO_SOURCE_DIR/tests/data/two_ranks

awk '/^```sql schema$/ { on = 1; next } /^```$/ { on = 0 } on' "$page" >in_page
"$TACHO" query "$run" .schema >in_program
diff in_page in_program

awk '/^```sql$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print >sprintf("query%02d.sql", n) }' "$page"
for query in query*.sql; do
	echo "== $(head -1 "$query")"
	"$TACHO" query "$run" --file "$query" --format csv || echo "failed"
done
