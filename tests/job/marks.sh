#!/usr/bin/env bash
# include/tacho/mark.h in C and C++, and tacho.mark in Python: what a program says of itself is in the run, and it runs the same
# where nobody records. Steps that it marks are the run's steps.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
source=$TACHO_SOURCE_DIR/tests/job/marks_job.c
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror -O2 -I$TACHO_SOURCE_DIR/include -pthread"
${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L $strict "$source" -o c_job || exit 1
${CXX:-c++} -std=c++11 $strict -x c++ "$source" -o cxx_job || exit 1
[ -z "$(command -v clang)" ] || clang -std=c11 -D_POSIX_C_SOURCE=200809L $strict "$source" -o clang_job || exit 1

# rows RUN SQL: the first column of each row, joined by blanks
rows() {
	"$TACHO" query "$1" --format csv "$2" | tail -n +2 | tr '\n' ' ' | sed 's/ $//'
}

expect() {
	[ "$2" = "$3" ] || { echo "$job: $1: '$2' instead of '$3'"; exit 1; }
}

# same_for_all RUN: what the C, C++ and Python programs have in common
same_for_all() {
	expect "ranges" "$(rows "$1" "select name || ' ' || count(*) from slice where name in ('step', 'load', 'decode', 'consume') and category = 'annotation' group by name order by name")" \
		"consume 3 decode 3 load 3 step 3"
	expect "nesting" "$(rows "$1" "select distinct p.name from slice s join slice p on p.id = s.parent_id where s.name = 'decode' or s.name = 'load' order by 1")" "load step"
	expect "numbers" "$(rows "$1" "select int_value from args join slice s on s.arg_set_id = args.arg_set_id where s.name = 'consume' and key = 'id' order by 1")" "1 2 3"
	expect "flows" "$(rows "$1" "select a.name || '>' || b.name from flow join slice a on a.id = flow.slice_out join slice b on b.id = flow.slice_in where flow.category = 'flow' order by a.ts")" \
		"decode>consume decode>consume decode>consume"
	# they overlap, and the first was ended by the other thread
	expect "spans" "$(rows "$1" "select count(*) || ' ' || sum(s.parent_id is null) || ' ' || count(distinct s.track_id) || ' ' || (max(s.ts) < min(s.ts + s.dur)) || ' ' || count(a.id)
		from slice s left join args a on a.arg_set_id = s.arg_set_id and a.key = 'open' where s.name = 'request'")" "2 2 1 1 0"
	expect "loss" "$(rows "$1" "select value from counter c join counter_track t on t.id = c.track_id where t.name = 'loss' order by c.ts limit 1")" 1.5
	expect "steps" "$("$TACHO" info "$1" --json | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["steps"])')" "$2"
	"$TACHO" info "$1" --json | /usr/bin/python3 -c '
import json, sys
info = json.load(sys.stdin)
assert info["dropped_events"] == 0, info["dropped_events"]
assert not {p["kind"] for p in info["trust"]["problems"]} - {"unmatched_end"}, info["trust"]' || { echo "$job: trust"; exit 1; }
	babeltrace2 "$1"/*/ >trace.txt 2>bt.err && [ ! -s bt.err ] || { echo "$job: babeltrace2"; cat bt.err; exit 1; }
}

for job in c_job cxx_job clang_job; do
	[ -e $job ] || continue
	./$job 5000 >plain.out 2>plain.err || exit 1
	"$TACHO" record -q --probes alloc -o $job.tacho -- ./$job 5000 >job.out 2>job.err || exit 1
	cmp plain.out job.out && cmp plain.err job.err || exit 1
	same_for_all $job.tacho 2
	expect "by name" "$(rows $job.tacho "select name from slice where name like 'name %' order by ts")" "name 0 name 1 name 2"
	expect "text" "$(rows $job.tacho "select first || second || text from mark where name = 'moment' and text = 'text' order by ts")" "00text 1-1text 2-2text"
	expect "own marks" "$(rows $job.tacho "select text from mark where name = 'program''s thread_name'")" "not mine to say"
	expect "again" "$(rows $job.tacho "select count(*) from slice where name = 'again'")" 5000
	expect "counter" "$(rows $job.tacho "select sum(value) from counter c join counter_track t on t.id = c.track_id where t.name = 'i'")" 12497500
	expect "child" "$(rows $job.tacho "select count(distinct t.upid) from slice s join thread_track t on t.id = s.track_id where s.name in ('in child', 'around fork')")" 2
	expect "open" "$(rows $job.tacho "select s.name from slice s join args a on a.arg_set_id = s.arg_set_id where a.key = 'open'")" "left open in child"
done

# the first marks of a program may come from many threads at once
cat >first_job.c <<'END'
#include <tacho/mark.h>
#include <pthread.h>
static int is_on;
static void *mark(void *unused)
{
	while (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		;
	for (int i = 0; i < 8; i++) {
		TACHO_MARK_SCOPE("first");
	}
	return unused;
}
int main(void)
{
	pthread_t threads[16];
	for (int i = 0; i < 16; i++)
		if (pthread_create(&threads[i], NULL, mark, NULL) != 0)
			return 1;
	__atomic_store_n(&is_on, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END
job=first_job
${CC:-cc} -std=c11 $strict first_job.c -o first_job || exit 1
"$TACHO" record -q --probes alloc -o first.tacho -- sh -c 'for i in $(seq 100); do ./first_job; done' || exit 1
expect "first" "$(rows first.tacho "select count(*) from slice where name = 'first'")" 12800

job=marks.py
export PYTHONPATH=$TACHO_SOURCE_DIR/python/package
/usr/bin/python3 "$TACHO_SOURCE_DIR/tests/job/marks.py" >plain.out 2>plain.err || { cat plain.err; exit 1; }
"$TACHO" record -q --probes alloc -o py.tacho -- /usr/bin/python3 "$TACHO_SOURCE_DIR/tests/job/marks.py" >job.out 2>job.err ||
	{ cat job.err; exit 1; }
cmp plain.out job.out && cmp plain.err job.err || exit 1
same_for_all py.tacho 2
expect "again" "$(rows py.tacho "select count(*) from slice where name = 'again'")" 6
expect "failing" "$(rows py.tacho "select count(*) from slice where name = 'failing'")" 1
expect "text" "$(rows py.tacho "select text from mark where name = 'wörds'")" "ünïcode"
