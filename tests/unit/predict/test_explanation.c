/* Where predictions come from: by hand, and that parts add up on whatever job. */
#include <math.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "property_jobs.h"
#include "timeline_text.h"

static const gchar *const origins[] = { "measured_ms", "scaled_ms", "modelled_ms", "guessed_ms" };

static TachoPrediction *explain(TachoTimeline *timeline, const gchar *what_ifs, GError **error)
{
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);
	TachoRecording recording = { "it", timeline };
	TachoPredictOptions options = { .what_ifs = (const gchar *const *)list,
					.n_what_ifs = g_strv_length(list),
					.first_step = -1,
					.last_step = -1,
					.is_explained = TRUE };

	return tacho_predict_together(&recording, 1, &options, error);
}

static gint64 cell_ns(const TachoTable *table, guint row, const gchar *key)
{
	return llround(tacho_table_cell_number(table, row, key) * 1e6);
}

/* --- by hand ------------------------------------------------------------------------------------ */

/* Two sizes of transfers: 20 us for each, and 80 us a MB. */
#define RANK(rank, tid, host)                                                                      \
	"rank " #rank " host=" host " thread " #tid " main\n"                                      \
	"  annotation ProfilerStep#0 0..600\n"                                                     \
	"    op a 0..100\n"                                                                        \
	"    collective gloo:all_reduce 100..200 bytes=1000000 end_tid=9\n"                        \
	"    op b 200..300\n"                                                                      \
	"    collective gloo:all_reduce 300..480 bytes=2000000 end_tid=9\n"                        \
	"    op c 480..600\n"

static const gchar two_hosts[] = "unit us\n" RANK(0, 1000, "a") RANK(1, 1001, "b");

/* Transfers of one size: what of them is bytes is not known. */
static const gchar one_size[] = "unit us\n"
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

static const gchar one_host[] = "unit us\n"
				"rank 0 host=a thread 1000 main\n"
				"  annotation ProfilerStep#0 0..300\n"
				"    op a 0..300\n"
				"rank 1 host=a thread 1001 main\n"
				"  annotation ProfilerStep#0 0..300\n"
				"    op a 0..300\n";

struct expected {
	const gchar *resource, *kind;
	gdouble before_us, parts_us[4]; /* after: of each origin */
};

/* What is of a rank says so in its name, too; links and other jobs are of none. */
static void check_rank(const TachoTable *table, guint row, const gchar *resource)
{
	gdouble rank = tacho_table_cell_number(table, row, "rank");

	if (g_str_has_prefix(resource, "rank "))
		g_assert_cmpfloat(rank, ==, (gdouble)strtol(resource + strlen("rank "), NULL, 10));
	else if (strcmp(resource, "the whole step") != 0)
		g_assert_true(isnan(rank));
}

static void check_row(const TachoTable *table, guint row, const struct expected *expected)
{
	gdouble after_us = 0;

	check_rank(table, row, expected->resource);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "resource"), ==, expected->resource);
	g_assert_cmpstr(tacho_table_cell_text(table, row, "kind"), ==, expected->kind);
	g_assert_cmpint(cell_ns(table, row, "before_ms"), ==, llround(expected->before_us * 1e3));
	for (guint i = 0; i < G_N_ELEMENTS(origins); i++) {
		after_us += expected->parts_us[i];
		g_assert_cmpint(cell_ns(table, row, origins[i]), ==,
				llround(expected->parts_us[i] * 1e3));
	}
	g_assert_cmpint(cell_ns(table, row, "after_ms"), ==, llround(after_us * 1e3));
	g_assert_cmpint(cell_ns(table, row, "change_ms"), ==,
			llround((after_us - expected->before_us) * 1e3));
}

static void check(const gchar *text, const gchar *what_ifs, const struct expected *expected,
		  guint n_expected)
{
	g_autoptr(TachoTimeline) timeline = timeline_from_text(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = NULL;

	tacho_correlate(timeline);
	prediction = explain(timeline, what_ifs, &error);
	g_assert_no_error(error);
	g_test_message("%s", what_ifs);
	g_assert_cmpuint(tacho_table_n_rows(prediction->explanation), ==, n_expected);
	for (guint i = 0; i < n_expected; i++)
		check_row(prediction->explanation, i, &expected[i]);
}

#define CHECK(text, what_ifs, ...)                                                                 \
	do {                                                                                       \
		const struct expected rows[] = { __VA_ARGS__ };                                    \
                                                                                                   \
		check(text, what_ifs, rows, G_N_ELEMENTS(rows));                                   \
	} while (0)

/* The path is of rank 0 throughout, whose step ends as soon as that of rank 1. */
static void test_by_hand(void)
{
	CHECK(two_hosts, "", { "the whole step", "step", 600, { 600, 0, 0, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } },
	      { "links between a and b", "link", 280, { 280, 0, 0, 0 } });
	CHECK(two_hosts, "bandwidth=2x", { "the whole step", "step", 600, { 360, 120, 0, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } },
	      { "links between a and b", "link", 280, { 40, 120, 0, 0 } });
	CHECK(two_hosts, "scale:op~^b$=3", { "the whole step", "step", 600, { 500, 300, 0, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 220, 300, 0, 0 } },
	      { "links between a and b", "link", 280, { 280, 0, 0, 0 } });
	/* all that bytes take goes by the rate; 1 and 2 MB at 1 GB/s */
	CHECK(two_hosts, "bandwidth=8gbit", { "the whole step", "step", 600, { 360, 0, 3000, 0 } },
	      { "links between a and b", "link", 280, { 40, 0, 3000, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } });
}

/* Without waits, each rank has the links to itself. */
static void test_links_alone(void)
{
	CHECK(two_hosts, "drop:wait", { "the whole step", "step", 600, { 600, 0, 0, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } },
	      { "links between a and b", "link", 280, { 0, 0, 0, 0 } },
	      { "rank 0 links alone", "link", 0, { 280, 0, 0, 0 } });
}

/* What is not changed comes from where it came, and what is changed back does not. */
static void test_no_change(void)
{
	static const gchar *const identities[] = { "bandwidth=1x", "latency=1x", "scale:op~.=1",
						   "ranks=2", "latency=+0ms" };

	for (guint i = 0; i < G_N_ELEMENTS(identities); i++)
		CHECK(two_hosts, identities[i], { "the whole step", "step", 600, { 600, 0, 0, 0 } },
		      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } },
		      { "links between a and b", "link", 280, { 280, 0, 0, 0 } });
	CHECK(two_hosts, "bandwidth=2x;bandwidth=0.5x",
	      { "the whole step", "step", 600, { 360, 240, 0, 0 } },
	      { "rank 0 thread 1000 main", "host", 320, { 320, 0, 0, 0 } },
	      { "links between a and b", "link", 280, { 40, 240, 0, 0 } });
}

static void test_guessed(void)
{
	CHECK(one_size, "bandwidth=2x", { "the whole step", "step", 300, { 200, 0, 0, 50 } },
	      { "rank 0 thread 1000 main", "host", 200, { 200, 0, 0, 0 } },
	      { "links between a and b", "link", 100, { 0, 0, 0, 50 } });
	/* sooner or later, the least sure counts */
	CHECK(one_size, "bandwidth=2x;scale:collective~.=2",
	      { "the whole step", "step", 300, { 200, 0, 0, 100 } },
	      { "rank 0 thread 1000 main", "host", 200, { 200, 0, 0, 0 } },
	      { "links between a and b", "link", 100, { 0, 0, 0, 100 } });
}

/* Two threads on one core: each has half of it, and what that takes is a model. */
static void test_sharing(void)
{
	CHECK(one_host, "cores=1", { "the whole step", "step", 300, { 300, 0, 300, 0 } },
	      { "rank 0 thread 1000 main", "host", 300, { 300, 0, 300, 0 } });
}

/* --- whatever job ------------------------------------------------------------------------------- */

static const gchar *const changes[] = {
	"",
	"bandwidth=2x",
	"bandwidth=1gbit",
	"latency=+10us",
	"ranks=4",
	"ranks=8;straggler:5=2",
	"algorithm=tree",
	"algorithm=ps:2",
	"bucket_mb=1",
	"partition_mb=1",
	"accumulate=2",
	"accumulate=9",
	"recompute:op~.",
	"device=A100",
	"device=flops:2,bytes:1.5",
	"precision=fp16",
	"scale:op~.=0.5",
	"scale:kernel~.=2",
	"scale:loader=0.5",
	"fuse:kernel~.",
	"drop:wait",
	"workers=2",
	"batch=2x",
	"straggler:0=2",
	"cores=1",
	"cores=3;bandwidth=0.1x",
	"durations=median",
	"jobs=" TACHO_TEST_DATA "/two_ranks",
};

/* The rest of the first row's cells adds up to it. */
static void check_column(const TachoTable *table, const gchar *key)
{
	gint64 sum_ns = 0;

	for (guint row = 1; row < tacho_table_n_rows(table); row++)
		sum_ns += cell_ns(table, row, key);
	g_assert_cmpint(sum_ns, ==, cell_ns(table, 0, key));
}

static void check_parts(const TachoTable *table, guint row, const gchar *prefix,
			const gchar *key_of_sum)
{
	gint64 sum_ns = 0;

	for (guint i = 0; i < G_N_ELEMENTS(origins); i++) {
		g_autofree gchar *key = g_strconcat(prefix, origins[i], NULL);

		g_assert_cmpint(cell_ns(table, row, key), >=, 0);
		sum_ns += cell_ns(table, row, key);
	}
	g_assert_cmpint(sum_ns, ==, cell_ns(table, row, key_of_sum));
}

static void check_sums(const TachoPrediction *prediction)
{
	const TachoTable *table = prediction->explanation;
	gint64 path_ns = 0;

	for (guint i = 0; i < tacho_table_n_rows(prediction->critical_path); i++)
		path_ns += cell_ns(prediction->critical_path, i, "duration_ms");
	g_assert_cmpint(cell_ns(table, 0, "after_ms"), ==, path_ns);
	check_column(table, "before_ms");
	check_column(table, "after_ms");
	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		check_parts(table, row, "", "after_ms");
		check_parts(table, row, "before_", "before_ms");
	}
	for (guint i = 0; i < G_N_ELEMENTS(origins); i++)
		check_column(table, origins[i]);
	if (prediction->n_ranks == 1 && prediction->n_steps == 1)
		g_assert_cmpint(cell_ns(table, 0, "after_ms"), ==,
				llround(prediction->predicted_step_ms * 1e6));
	if (!prediction->is_changed)
		for (guint row = 0; row < tacho_table_n_rows(table); row++) {
			g_assert_cmpint(cell_ns(table, row, "change_ms"), ==, 0);
			g_assert_cmpint(cell_ns(table, row, "scaled_ms"), ==, 0);
		}
}

static void check_all(TachoTimeline *timeline)
{
	guint n_played = 0;

	for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
		g_autoptr(TachoPrediction) prediction = explain(timeline, changes[i], NULL);

		if (!prediction)
			continue;
		g_test_message("%s", changes[i]);
		check_sums(prediction);
		n_played++;
	}
	g_assert_cmpuint(n_played, >, 3);
}

static void test_made_up(gconstpointer data)
{
	const struct made_up_job *job = data;
	g_autoptr(TachoTimeline) timeline = timeline_from_text(job->text);

	tacho_correlate(timeline);
	check_all(timeline);
}

static void test_trace(gconstpointer name)
{
	g_autofree gchar *path = g_build_filename(TACHO_TEST_DATA, name, NULL);
	const gchar *paths[] = { path };
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(paths, 1, NULL, NULL, &error);

	g_assert_no_error(error);
	tacho_correlate(timeline);
	check_all(timeline);
}

int main(int argc, char **argv)
{
	static const gchar *const traces[] = {
		"kineto",	  "kineto_gloo", "byteprofile_ring", "byteprofile_tree",
		"byteps_servers", "two_ranks",	 "dpro/tf_horovod",
	};
	g_autoptr(GPtrArray) made_up = made_up_jobs();

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/explanation/by_hand", test_by_hand);
	g_test_add_func("/explanation/links_alone", test_links_alone);
	g_test_add_func("/explanation/no_change", test_no_change);
	g_test_add_func("/explanation/guessed", test_guessed);
	g_test_add_func("/explanation/sharing", test_sharing);
	for (guint i = 0; i < made_up->len; i++) {
		const struct made_up_job *job = g_ptr_array_index(made_up, i);
		g_autofree gchar *path = g_strdup_printf("/explanation/made_up/%s", job->name);

		g_test_add_data_func(path, job, test_made_up);
	}
	for (guint i = 0; i < G_N_ELEMENTS(traces); i++) {
		g_autofree gchar *path = g_strdup_printf("/explanation/trace/%s", traces[i]);

		g_test_add_data_func(path, traces[i], test_trace);
	}
	return g_test_run();
}
