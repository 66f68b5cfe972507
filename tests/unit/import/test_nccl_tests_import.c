/* What nccl-tests prints: times, sizes and bandwidths as in the table. */
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"
#include "timeline_text.h"

static const gchar sample[] = TACHO_TEST_DATA "/nccl_tests/all_reduce.log";

static void test_table(void)
{
	g_autoptr(TachoTimeline) timeline = foreign_open(sample);
	guint32 last = timeline_find(timeline, "allreduce", 2);
	guint32 in_place = timeline_find(timeline, "allreduce in place", 2);
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, last);
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, 2);
	TachoCollectiveArgs args;

	g_assert_cmpuint(timeline->ranks->len, ==, 4);
	g_assert_cmpint(timeline->expected_ranks, ==, 4);
	g_assert_cmpuint(timeline->slices.n, ==, 4 * 6);
	g_assert_cmpuint(process->pid, ==, 4103);
	g_assert_cmpstr(tacho_timeline_string(timeline, process->host), ==, "node1");
	g_assert_cmpint(timeline->slices.duration_ns[last], ==, 1342200);
	g_assert_cmpint(timeline->slices.start_ns[in_place], ==,
			tacho_slice_end_ns(timeline, last));
	g_assert_true(tacho_slice_collective(timeline, last, &args));
	g_assert_cmpuint(args.bytes, ==, 134217728);
	g_assert_nonnull(strstr(args_json, "\"busbw_gb_per_s\": 150,"));
	g_assert_nonnull(strstr(args_json, "\"iterations\": 20"));
	g_assert_cmpuint(tacho_timeline_find_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD)->count,
			 ==, 1);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->collectives->len, ==, 6);
	for (guint i = 0; i < timeline->collectives->len; i++)
		g_assert_cmpuint(g_array_index(timeline->collectives, TachoCollective, i).n_members,
				 ==, 4);
}

static void test_damaged(void)
{
	foreign_damage(sample, 300);
}

/* N1: the row of 8 GiB of each log, and which collective it is. */
static void test_oracle(void)
{
	static const struct {
		const gchar *file, *name;
		gint64 time_ns, in_place_ns; /* 0: not told */
	} expected[] = {
		{ "allreduce", "allreduce", 63896000, 63959000 },
		{ "alltoall", "alltoall", 33508000, 0 },
		{ "allgather", "allgather", 0, 0 },
		{ "reducescatter", "reducescatter", 0, 0 },
		{ "broadcast", "broadcast", 0, 0 },
		{ "reduce", "reduce", 0, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autofree gchar *name =
			g_strdup_printf("nccl/superbench/nccl_%s.log", expected[i].file);
		g_autofree gchar *path = foreign_sample(name);
		g_autofree gchar *in_place = g_strconcat(expected[i].name, " in place", NULL);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		guint32 slice, other;
		guint64 bytes;
		TachoCollectiveArgs args;

		if (!timeline)
			return;
		g_assert_cmpuint(timeline->ranks->len, ==, 8);
		g_assert_cmpuint(timeline->problems->len, ==, 0);
		slice = timeline_find(timeline, expected[i].name, 33);
		other = timeline_find(timeline, in_place, 33);
		g_assert_true(tacho_slice_collective(timeline, slice, &args));
		bytes = G_GUINT64_CONSTANT(8589934592);
		if (strcmp(expected[i].name, "allgather") == 0)
			bytes /= 8;
		g_assert_cmpuint(args.bytes, ==, bytes);
		if (expected[i].time_ns)
			g_assert_cmpint(timeline->slices.duration_ns[slice], ==,
					expected[i].time_ns);
		if (expected[i].in_place_ns)
			g_assert_cmpint(timeline->slices.duration_ns[other], ==,
					expected[i].in_place_ns);
	}
}

/* A number of the comm view's first row of that collective: of its largest size. */
static gdouble find_figure(const TachoTable *table, const gchar *name, const gchar *key)
{
	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, "name"), name) == 0)
			return tacho_table_cell_number(table, row, key);
	g_error("no row %s", name);
}

/* N1 in the comm view: its own bandwidths, from bytes and times, are those of the table. */
static void test_view(void)
{
	g_autofree gchar *path = foreign_sample("nccl/superbench/nccl_allreduce.log");
	g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
	g_autoptr(TachoTable) table = NULL;
	const TachoFilter filter = TACHO_FILTER_INIT;

	if (!timeline)
		return;
	tacho_correlate(timeline);
	table = tacho_view_comm(timeline, &filter);
	tacho_table_sort(table, "bytes", TRUE);
	g_assert_cmpfloat_with_epsilon(find_figure(table, "allreduce", "bus_gb_per_s"), 235.26,
				       0.01);
	g_assert_cmpfloat_with_epsilon(find_figure(table, "allreduce", "algorithm_gb_per_s"),
				       134.44, 0.01);
	g_assert_cmpfloat_with_epsilon(
		find_figure(table, "allreduce in place", "algorithm_gb_per_s"), 134.30, 0.01);
	g_assert_cmpfloat_with_epsilon(find_figure(table, "allreduce in place", "bus_gb_per_s"),
				       235.03, 0.01);
}

/* N1: the ratio of bus to algorithm bandwidth at eight ranks, in every row of every log, and the figures of 8 GiB. */
static void test_factors(void)
{
	static const struct {
		const gchar *name;
		gdouble factor, algorithm_gb, bus_gb; /* 0: not told */
	} expected[] = {
		{ "allreduce", 2.0 * 7 / 8, 134.44, 235.26 },
		{ "alltoall", 7.0 / 8, 256.36, 224.31 },
		{ "allgather", 7.0 / 8, 0, 0 },
		{ "reducescatter", 7.0 / 8, 0, 0 },
		{ "broadcast", 1, 0, 0 },
		{ "reduce", 1, 0, 0 },
	};

	for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
		g_autofree gchar *name =
			g_strdup_printf("nccl/superbench/nccl_%s.log", expected[i].name);
		g_autofree gchar *path = foreign_sample(name);
		g_autoptr(TachoTimeline) timeline = path ? foreign_open(path) : NULL;
		g_autoptr(TachoTable) table = NULL;

		if (!timeline)
			return;
		tacho_correlate(timeline);
		table = tacho_view_comm(timeline, NULL);
		g_assert_cmpuint(tacho_table_n_rows(table), >=, 10);
		for (guint row = 0; row < tacho_table_n_rows(table); row++) {
			gdouble algorithm =
				tacho_table_cell_number(table, row, "algorithm_gb_per_s");

			if (isnan(algorithm)) { /* no bytes are not told from an unknown size */
				g_assert_true(isnan(tacho_table_cell_number(table, row, "bytes")));
				continue;
			}
			g_assert_cmpfloat_with_epsilon(
				tacho_table_cell_number(table, row, "bus_gb_per_s") / algorithm,
				expected[i].factor, 1e-9);
			/* all ranks come at once: none is late */
			g_assert_true(isnan(tacho_table_cell_number(table, row, "late_rank")));
		}
		tacho_table_sort(table, "bytes", TRUE);
		if (expected[i].bus_gb == 0)
			continue;
		g_assert_cmpfloat_with_epsilon(find_figure(table, expected[i].name, "bus_gb_per_s"),
					       expected[i].bus_gb, 0.01);
		g_assert_cmpfloat_with_epsilon(
			find_figure(table, expected[i].name, "algorithm_gb_per_s"),
			expected[i].algorithm_gb, 0.01);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/nccl_tests/table", test_table);
	g_test_add_func("/nccl_tests/damaged", test_damaged);
	g_test_add_func("/nccl_tests/oracle", test_oracle);
	g_test_add_func("/nccl_tests/view", test_view);
	g_test_add_func("/nccl_tests/factors", test_factors);
	return g_test_run();
}
