/* goodput: a job whose life is known by hand: each moment has one use. */
#include <tacho/analyze.h>

#include "timeline_text.h"

/* Steps of 10 ms from 40 to 80, of which step 1 has a checkpoint, and step 2 an evaluation. */
static const gchar job[] =
	"rank 0 pid=10 thread 10 main\n"
	"  annotation life 0..100\n"
	"sampled 10 'main, sampled'\n"
	"  function 'train.py(1): <module>' 1..99\n"
	"    function '<frozen importlib._bootstrap>(1178): _find_and_load' 2..20\n"
	"      function 'torch/__init__.py(5): <module>' 3..19\n"
	"    function 'train.py(9): main' 20..99\n"
	"      function 'torch/distributed/distributed_c10d.py(7): init_process_group' 21..25\n"
	"      function 'torch/utils/data/dataloader.py(3): __iter__' 30..34\n"
	"      function 'torch/utils/data/dataloader.py(9): __next__' 40..42\n"
	"      function 'torch/_dynamo/convert_frame.py(9): __call__' 43..48\n"
	"        function '<frozen importlib._bootstrap>(1178): _find_and_load' 44..46\n"
	"      function 'torch/serialization.py(30): save' 53..56\n"
	"      function 'train.py(30): evaluate' 64..70\n"
	"        function 'torch/utils/data/dataloader.py(9): __next__' 65..66\n"
	"      function 'train.py(40): save_checkpoint' 85..90\n";

static TachoTimeline *make_timeline(const gchar *text)
{
	TachoTimeline *timeline = timeline_from_text(text);

	for (guint i = 0; i < 4; i++) {
		TachoStep step = { .number = i,
				   .start_ns = (40 + 10 * (gint64)i) * 1000000,
				   .end_ns = (50 + 10 * (gint64)i) * 1000000,
				   .is_complete = TRUE };

		g_array_append_val(timeline->steps, step);
	}
	return timeline;
}

/* 0 where there is no such row. */
static gdouble time_ms(const TachoTable *table, const gchar *use)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, "use"), use) == 0)
			return tacho_table_cell_number(table, row, "time_ms");
	return 0;
}

static gdouble sum_ms(const TachoTable *table)
{
	gdouble sum = 0;

	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		sum += tacho_table_cell_number(table, row, "time_ms");
	return sum;
}

static void test_uses(void)
{
	g_autoptr(TachoTimeline) timeline = make_timeline(job);
	g_autoptr(TachoTable) table = tacho_view_goodput(timeline, NULL);

	g_assert_cmpfloat(time_ms(table, "training steps"), ==, 30 - 3 - 6);
	g_assert_cmpfloat(time_ms(table, "first or unfinished steps"), ==, 10 - 5);
	g_assert_cmpfloat(time_ms(table, "evaluation"), ==, 6);
	g_assert_cmpfloat(time_ms(table, "checkpoint"), ==, 3 + 5);
	g_assert_cmpfloat(time_ms(table, "compilation"), ==, 5); /* with its imports */
	g_assert_cmpfloat(time_ms(table, "imports"), ==, 18);
	g_assert_cmpfloat(time_ms(table, "finding other ranks"), ==, 4);
	g_assert_cmpfloat(time_ms(table, "data loading outside steps"), ==, 4);
	g_assert_cmpfloat(time_ms(table, "before the first step"), ==, 2 + 1 + 5 + 6);
	g_assert_cmpfloat(time_ms(table, "between steps"), ==, 0);
	g_assert_cmpfloat(time_ms(table, "after the last step"), ==, 5 + 10);
	g_assert_cmpfloat(sum_ms(table), ==, 100);
	g_assert_cmpstr(tacho_table_borrow_note(table, 0), ==,
			"Goodput: 21.0 % of the ranks' time is in training steps.");
}

/* A program that trains while its module is imported does not import all the time. */
static void test_imported_program(void)
{
	g_autoptr(TachoTimeline) timeline = make_timeline(
		"rank 0 pid=10 thread 10 main\n"
		"  annotation life 0..100\n"
		"sampled 10 'main, sampled'\n"
		"  function '<frozen importlib._bootstrap>(1178): _find_and_load' 2..98\n"
		"    function 'app.py(1): <module>' 3..97\n"
		"      function '<frozen importlib._bootstrap>(1): _find_and_load' 4..14\n");
	g_autoptr(TachoTable) table = tacho_view_goodput(timeline, NULL);

	g_assert_cmpfloat(time_ms(table, "training steps"), ==, 30);
	g_assert_cmpfloat(time_ms(table, "imports"), ==, 10);
	g_assert_cmpfloat(sum_ms(table), ==, 100);
}

/* Without samples there are the steps and what is beside them; without steps, all is before the first. */
static void test_little_known(void)
{
	static const gchar plain[] = "rank 0 pid=10 thread 10 main\n"
				     "  annotation life 0..100\n";
	g_autoptr(TachoTimeline) with_steps = make_timeline(plain);
	g_autoptr(TachoTimeline) without = timeline_from_text(plain);
	g_autoptr(TachoTable) table = tacho_view_goodput(with_steps, NULL);
	g_autoptr(TachoTable) other = tacho_view_goodput(without, NULL);

	g_assert_cmpfloat(time_ms(table, "training steps"), ==, 30);
	g_assert_cmpfloat(time_ms(table, "before the first step"), ==, 40);
	g_assert_cmpfloat(time_ms(table, "after the last step"), ==, 20);
	g_assert_cmpuint(tacho_table_n_notes(table), ==, 2);
	g_assert_cmpuint(tacho_table_n_rows(other), ==, 1);
	g_assert_cmpfloat(time_ms(other, "before the first step"), ==, 100);
}

/* A compilation that is told goes before what samples say, wherever it lies; graph breaks are counted with their reasons. */
static void test_told_compilations(void)
{
	g_autoptr(TachoTimeline) timeline = make_timeline(
		"rank 0 pid=10 thread 10 main\n"
		"  annotation life 0..100\n"
		"    annotation 'torch.compile 0/0' 41..49\n"
		"      annotation 'backend_compile (dynamo_timed)' 42..48\n"
		"    annotation 'torch.compile 0/0 backward' 66..68\n"
		"  mark graph_break 47 first=2 text='call of print()'\n"
		"  mark graph_break 67 first=3 text='a loop'\n"
		"  mark graph_break 68 first=1 text='call of print()'\n"
		"sampled 10 'main, sampled'\n"
		"  function '<frozen importlib._bootstrap>(1178): _find_and_load' 38..44\n"
		"  function 'train.py(30): evaluate' 64..70\n");
	g_autoptr(TachoTable) table = tacho_view_goodput(timeline, NULL);

	g_assert_cmpfloat(time_ms(table, "compilation"), ==, 8 + 2);
	g_assert_cmpfloat(time_ms(table, "imports"), ==, 3);
	g_assert_cmpfloat(time_ms(table, "evaluation"), ==, 4);
	g_assert_cmpfloat(time_ms(table, "first or unfinished steps"), ==, 1);
	g_assert_cmpfloat(time_ms(table, "training steps"), ==, 30 - 6);
	g_assert_cmpfloat(sum_ms(table), ==, 100);
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_str_equal(tacho_table_cell_text(table, row, "use"), "compilation"))
			g_assert_cmpfloat(tacho_table_cell_number(table, row, "graph_breaks"), ==,
					  6);
	g_assert_cmpuint(tacho_table_n_notes(table), ==, 3);
	g_assert_cmpstr(tacho_table_borrow_note(table, 1), ==,
			"Graph breaks in torch.compile: 3, call of print()");
	g_assert_cmpstr(tacho_table_borrow_note(table, 2), ==,
			"Graph breaks in torch.compile: 3, a loop");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/goodput_view/uses", test_uses);
	g_test_add_func("/goodput_view/imported_program", test_imported_program);
	g_test_add_func("/goodput_view/little_known", test_little_known);
	g_test_add_func("/goodput_view/told_compilations", test_told_compilations);
	return g_test_run();
}
