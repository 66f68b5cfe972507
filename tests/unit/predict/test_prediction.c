/* What a prediction says of a small job, figure by figure: steps, the critical path, how busy all is, what would help most, and
 * what it warns of. Times are microseconds. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/replay.h>

#include "job_text.h"
#include "predicted.h"
#include "timeline_text.h"

static TachoPrediction *predicted(TachoTimeline **ret_timeline, const gchar *text,
				  const gchar *what_ifs)
{
	g_autoptr(GError) error = NULL;
	TachoPrediction *prediction;

	*ret_timeline = timeline_from_text(text);
	prediction = predict(*ret_timeline, what_ifs, &error);
	g_assert_no_error(error);
	return prediction;
}

static void assert_us(gdouble value_ms, gdouble expected_us)
{
	g_assert_cmpfloat_with_epsilon(value_ms * 1000, expected_us, 1e-6);
}

/* The cell of a row is so many us. */
static void assert_cell_us(const TachoTable *table, guint row, const gchar *key,
			   gdouble expected_us)
{
	assert_us(tacho_table_cell_number(table, row, key), expected_us);
}

static guint row_with(const TachoTable *table, const gchar *key, const gchar *text)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, key), text) == 0)
			return row;
	g_test_message("no row with %s", text);
	g_assert_not_reached();
}

/* --- steps -------------------------------------------------------------------------------------- */

/* After the first step, of 100 us, one of 25, one of 85 and one of 55. */
static const gchar uneven_steps[] = "unit us\n"
				    "rank 0 thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n    op a 0..100\n"
				    "  annotation ProfilerStep#1 100..125\n    op a 100..125\n"
				    "  annotation ProfilerStep#2 125..210\n    op a 125..210\n"
				    "  annotation ProfilerStep#3 210..265\n    op a 210..265\n";

static void test_steps(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(&timeline, uneven_steps, "");

	g_assert_cmpuint(prediction->n_steps, ==, 3);
	g_assert_cmpuint(prediction->first_step, ==, 1);
	g_assert_cmpuint(prediction->last_step, ==, 3);
	g_assert_cmpuint(prediction->n_ranks, ==, 1);
	assert_us(prediction->measured_step_ms, 55);
	assert_us(prediction->predicted_step_ms, 55);
	assert_us(prediction->steps_interval_ms[0],
		  25 + 0.1 * 30); /* a tenth of the way to the next */
	assert_us(prediction->steps_interval_ms[1], 55 + 0.9 * 30);
	g_assert_cmpuint(prediction->path_step, ==, 3); /* the one in the middle */
	g_assert_cmpfloat(prediction->error_pct, ==, 0);
	g_assert_cmpfloat(prediction->recording_share, ==, 0);
}

/* Of two steps that are as far from the middle, the first; and a choice of steps. */
static void test_chosen_steps(void)
{
	g_autoptr(TachoTimeline) timeline = correlated(uneven_steps);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = tacho_predict(timeline, NULL, 0, 1, 2, &error);

	g_assert_no_error(error);
	assert_us(prediction->predicted_step_ms, 55);
	g_assert_cmpuint(prediction->path_step, ==, 1);
	g_assert_cmpuint(prediction->first_step, ==, 1);
	g_assert_cmpuint(prediction->last_step, ==, 2);
}

/* Of ranks' steps the mean counts: 100 and 60 us. */
static void test_ranks(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction =
		predicted(&timeline,
			  "unit us\nrank 0 thread 1000 main\n"
			  "  annotation ProfilerStep#0 0..100\n    op a 0..100\n"
			  "rank 1 thread 1001 main\n"
			  "  annotation ProfilerStep#0 0..60\n    op a 0..60\n",
			  "scale:1:op~a=2");

	g_assert_cmpuint(prediction->n_ranks, ==, 2);
	assert_us(prediction->measured_step_ms, 80);
	assert_us(prediction->predicted_step_ms, 110);
}

/* What a device did without steps is one step, from begin to end. */
static void test_whole_run(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(
		&timeline,
		"unit us\nrank 0 thread 1000 main\n    op a 10..50\n    runtime l 50..52\n"
		"    op b 60..90\n  stream 7\n    kernel K 53..60 launch=l\n",
		"scale:op~b=2");

	assert_us(prediction->measured_step_ms, 80);
	assert_us(prediction->baseline_step_ms, 80);
	assert_us(prediction->predicted_step_ms, 110);
}

/* --- the critical path -------------------------------------------------------------------------- */

/* Rank 1 comes last to the all-reduce; behind it the step ends on both ranks at once. Pieces that follow each other in one
 * thread and have one name are one. */
static const gchar late_rank[] = "unit us\n"
				 "rank 0 thread 1000 main\n"
				 "  annotation ProfilerStep#0 0..110\n"
				 "    op a 0..30\n"
				 "    op c10d::allreduce_ 30..31\n"
				 "    collective gloo:all_reduce 31..60 bytes=1024 end_tid=9\n"
				 "    op b 60..80\n"
				 "    op b 80..105\n"
				 "rank 1 thread 1001 main\n"
				 "  annotation ProfilerStep#0 0..110\n"
				 "    op a 0..50\n"
				 "    op c10d::allreduce_ 50..51\n"
				 "    collective gloo:all_reduce 51..60 bytes=1024 end_tid=9\n"
				 "    op b 60..70\n";

static void test_path(void)
{
	static const struct {
		gint rank;
		const gchar *what, *name;
		gdouble start_us, duration_us;
	} rows[] = { { 1, "compute", "a", 0, 50 },
		     { 1, "compute", "c10d::allreduce_", 50, 1 },
		     { -1, "communication", "gloo:all_reduce", 51, 9 },
		     { 0, "compute", "b", 60, 45 },
		     { 0, "host", "ProfilerStep#0", 105, 5 } };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(&timeline, late_rank, "");
	const TachoTable *path = prediction->critical_path, *parts = prediction->path_summary;

	g_assert_cmpuint(tacho_table_n_rows(path), ==, G_N_ELEMENTS(rows));
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		gdouble rank = tacho_table_cell_number(path, i, "rank");

		g_assert_cmpint(isnan(rank) ? -1 : (gint)rank, ==, rows[i].rank);
		g_assert_cmpstr(tacho_table_cell_text(path, i, "what"), ==, rows[i].what);
		g_assert_cmpstr(tacho_table_cell_text(path, i, "name"), ==, rows[i].name);
		assert_cell_us(path, i, "start_ms", rows[i].start_us);
		assert_cell_us(path, i, "duration_ms", rows[i].duration_us);
	}
	g_assert_false(prediction->path_ends_on_device);
	g_assert_cmpuint(tacho_table_n_rows(parts), ==, G_N_ELEMENTS(rows));
	g_assert_cmpstr(tacho_table_cell_text(parts, 0, "name"), ==, "a"); /* the longest first */
	assert_cell_us(parts, 0, "duration_ms", 50);
	g_assert_cmpfloat(tacho_table_cell_number(parts, 0, "pieces"), ==, 1);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(parts, 0, "share_pct"),
				       100 * 50 / 110.0, 1e-9);
	assert_cell_us(parts, 1, "duration_ms", 45);
}

/* The same thing twice on the path is one part of two pieces, also of two ranks. */
static void test_parts(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction =
		predicted(&timeline,
			  "unit us\nrank 0 thread 1000 main\n"
			  "  annotation ProfilerStep#0 0..100\n"
			  "    op a 0..20\n    op b 20..30\n    op a 30..70\n    op b 70..100\n",
			  "");
	const TachoTable *parts = prediction->path_summary;

	g_assert_cmpuint(tacho_table_n_rows(prediction->critical_path), ==, 4);
	assert_cell_us(prediction->critical_path, 2, "start_ms", 30);
	g_assert_cmpuint(tacho_table_n_rows(parts), ==, 2);
	assert_cell_us(parts, 0, "duration_ms", 60);
	g_assert_cmpfloat(tacho_table_cell_number(parts, 0, "pieces"), ==, 2);
	assert_cell_us(parts, 1, "duration_ms", 40);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(parts, 1, "share_pct"), 40, 1e-9);
}

/* --- how busy all is ---------------------------------------------------------------------------- */

/* Waiting is not work. Two transfers at once do not make a link busier than one. */
static void test_utilisation(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(&timeline, job_shared_link, "");
	const TachoTable *table = prediction->utilisation;
	guint thread = row_with(table, "resource", "rank 0 thread 1000 main"), n_links = 0;

	assert_cell_us(table, thread, "busy_ms", 20);
	g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, thread, "busy_pct"), 50,
				       1e-9);
	row_with(table, "resource", "rank 1 thread 1001 main");
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		if (!g_str_has_prefix(tacho_table_cell_text(table, row, "resource"), "link"))
			continue;
		assert_cell_us(table, row, "busy_ms", 20);
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, "busy_pct"), 50,
					       1e-9);
		n_links++;
	}
	g_assert_cmpuint(n_links, ==, 1);
	g_assert_cmpuint(tacho_table_n_rows(table), ==, 3);
}

/* A stream is busy with kernels, and with a collective from when its bytes move: when rank 1 has come, too. */
static void test_streams(void)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(
		&timeline,
		"unit us\n"
		"rank 0 host=h thread 1000 main\n"
		"  annotation ProfilerStep#0 0..200\n"
		"    runtime k0 10..15\n    runtime l0 40..45\n    runtime cudaDeviceSynchronize "
		"45..200\n"
		"  stream 7 s7\n"
		"    kernel K 20..50 launch=k0\n"
		"    collective nccl_AllReduce 50..110 bytes=1000 group=1 launch=l0\n"
		"rank 1 host=h thread 1001 main\n"
		"  annotation ProfilerStep#0 0..200\n"
		"    runtime l0 80..85\n    runtime cudaDeviceSynchronize 85..200\n"
		"  stream 7 s7\n"
		"    collective nccl_AllReduce 90..110 bytes=1000 group=1 launch=l0\n",
		"");
	const TachoTable *table = prediction->utilisation;

	assert_cell_us(table, row_with(table, "resource", "rank 0 stream 7 of device 0"), "busy_ms",
		       30 + 20);
	assert_cell_us(table, row_with(table, "resource", "rank 1 stream 7 of device 0"), "busy_ms",
		       20);
}

/* --- what would help ---------------------------------------------------------------------------- */

/* Two sizes of transfers: 20 us for each, and 80 us a MB. */
#define RANK(rank, host)                                                                           \
	"rank " #rank " host=" host " thread 100" #rank " main\n"                                  \
	"  annotation ProfilerStep#0 0..600\n"                                                     \
	"    op a 0..100\n"                                                                        \
	"    collective gloo:all_reduce 100..200 bytes=1000000 end_tid=9\n"                        \
	"    op b 200..300\n"                                                                      \
	"    collective gloo:all_reduce 300..480 bytes=2000000 end_tid=9\n"                        \
	"    op c 480..600\n"

static const gchar two_hosts[] = "unit us\n" RANK(0, "a") RANK(1, "b");

/* One percent faster: a hundred and first part less. Of one rank, both have half of what it has less at its end, and nothing of
 * what it has less before others are waited for. */
static void test_sensitivity(void)
{
	static const struct {
		const gchar *what, *name;
		gdouble busy_us, gain_us, pieces;
	} rows[] = { { "op", "a", 100, 100 / 101.0, 2 },
		     { "op", "c", 120, 120 / 101.0, 2 },
		     { "links", "bandwidth", 240, 240 / 101.0, 2 },
		     { "links", "latency", 40, 40 / 101.0, 2 },
		     { "rank", "0", 320, 120 / 101.0 / 2, 3 },
		     { "rank", "1", 320, 120 / 101.0 / 2, 3 } };
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(&timeline, two_hosts, "");
	g_autoptr(TachoTable) table = tacho_replay_sensitivity(prediction->graph, NULL);
	gdouble last_ms = INFINITY;

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		guint row = row_with(table, "name", rows[i].name);
		gdouble gain_us = tacho_table_cell_number(table, row, "gain_ms") * 1e3;

		g_test_message("%s %s", rows[i].what, rows[i].name);
		g_assert_cmpstr(tacho_table_cell_text(table, row, "what"), ==, rows[i].what);
		assert_cell_us(table, row, "busy_ms", rows[i].busy_us);
		g_assert_cmpfloat(tacho_table_cell_number(table, row, "pieces"), ==,
				  rows[i].pieces);
		g_assert_cmpfloat_with_epsilon(gain_us, rows[i].gain_us, 0.002); /* whole ns */
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, "gain_pct"),
					       100 * gain_us / 600, 1e-9);
		g_assert_cmpfloat_with_epsilon(tacho_table_cell_number(table, row, "felt_pct"),
					       100 * gain_us / (rows[i].busy_us / 101), 1e-6);
	}
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		gdouble gain_ms = tacho_table_cell_number(table, row, "gain_ms");

		g_assert_cmpfloat(gain_ms, <=, last_ms);
		last_ms = gain_ms;
	}
}

/* A percent of pieces of 30 ns is no nanosecond, but that of all together is. */
static void test_short_pieces(void)
{
	g_autoptr(GString) text = g_string_new("unit ns\nrank 0 thread 1000 main\n"
					       "  annotation ProfilerStep#0 0..6000\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;
	g_autoptr(TachoTable) table = NULL;

	for (guint i = 0; i < 200; i++)
		g_string_append_printf(text, "    op %s %u..%u\n", i % 2 ? "a" : "b", 30 * i,
				       30 * i + 30);
	prediction = predicted(&timeline, text->str, "");
	table = tacho_replay_sensitivity(prediction->graph, NULL);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(table, row_with(table, "name", "a"), "gain_ms") * 1e6,
		3000 / 101.0, 1);
	g_assert_cmpfloat_with_epsilon(
		tacho_table_cell_number(table, row_with(table, "name", "0"), "gain_ms") * 1e6,
		6000 / 101.0, 1);
}

/* --- what it warns of --------------------------------------------------------------------------- */

static void assert_notes(const gchar *text, const gchar *what_ifs, const gchar *const *words,
			 gboolean is_noted)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(TachoPrediction) prediction = predicted(&timeline, text, what_ifs);

	for (; *words; words++) {
		g_test_message("%s", *words);
		g_assert_true(has_note(prediction, *words) == is_noted);
	}
}

#define WORDS(...) ((const gchar *const[]){ __VA_ARGS__, NULL })

#define SAME_SIZE "all collectives of group 0 have about the same size, so their latency"
#define ONE_HOST  "the ranks of group 0 are on one host"

static void test_notes(void)
{
	static const gchar lone[] = "unit us\nrank 0 cost_ns=%u thread 1000 main\n"
				    "  annotation ProfilerStep#0 0..100\n    op a 0..100\n";
	g_autofree gchar *little =
		g_strdup_printf(lone, 199); /* of two slices, half of it in one piece */
	g_autofree gchar *enough = g_strdup_printf(lone, 400);
	static const gchar one_size[] =
		"unit us\n"
		"rank 0 host=a thread 1000 main\n"
		"  annotation ProfilerStep#0 0..300\n"
		"    op a 0..100\n"
		"    collective gloo:all_reduce 100..200 bytes=1000000 end_tid=9\n"
		"    op b 200..300\n"
		"rank 1 host=b thread 1001 main\n"
		"  annotation ProfilerStep#0 0..300\n"
		"    op a 0..100\n"
		"    collective gloo:all_reduce 100..200 bytes=1000000 end_tid=9\n"
		"    op b 200..300\n";

	assert_notes(two_hosts, "", WORDS(SAME_SIZE, ONE_HOST, "recording took"), FALSE);
	assert_notes(one_size, "", WORDS(SAME_SIZE), TRUE);
	assert_notes(job_shared_link, "", WORDS(SAME_SIZE, ONE_HOST), TRUE);
	assert_notes(little, "", WORDS("recording took"), FALSE);
	assert_notes(enough, "", WORDS("recording took 0.1 % of the ranks' computing time"), TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/prediction/steps", test_steps);
	g_test_add_func("/prediction/chosen_steps", test_chosen_steps);
	g_test_add_func("/prediction/ranks", test_ranks);
	g_test_add_func("/prediction/whole_run", test_whole_run);
	g_test_add_func("/prediction/path", test_path);
	g_test_add_func("/prediction/parts", test_parts);
	g_test_add_func("/prediction/utilisation", test_utilisation);
	g_test_add_func("/prediction/streams", test_streams);
	g_test_add_func("/prediction/sensitivity", test_sensitivity);
	g_test_add_func("/prediction/short_pieces", test_short_pieces);
	g_test_add_func("/prediction/notes", test_notes);
	return g_test_run();
}
