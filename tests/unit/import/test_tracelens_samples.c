/* T1: real traces with parts of the reports that TraceLens makes of them (AMD-AGI/TraceLens; the README beside the
 * samples names each): times of the device, kernels by the operation that launched them, and operations by the time
 * of their kernels.
 *
 * TraceLens takes begins and ends in microseconds as doubles, which a day's time cannot hold to the nanosecond: what
 * it finds from them (all but kernel_summary.csv, which adds up durations) is off by up to a quarter of a microsecond
 * for each. Here times are whole nanoseconds. Its categories of operations are its own, and not here. */
#include <math.h>
#include <string.h>
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include "foreign_traces.h"

#define ROUNDING_US 0.25 /* of one time */

static TachoTimeline *open_sample(const gchar *name)
{
	g_autofree gchar *below = g_build_filename("kineto", "tracelens", name, NULL);

	return foreign_open_sample(below);
}

/* --- their reports ---------------------------------------------------------------------------- */

/* The fields of a line of CSV, up to its end, which is left behind; NULL: there is none. */
static GPtrArray *read_line(const gchar **at)
{
	GPtrArray *fields = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) field = g_string_new(NULL);
	gboolean is_quoted = FALSE;

	for (; **at && (is_quoted || (**at != '\n' && **at != '\r')); ++*at) {
		if (**at == '"' && is_quoted && (*at)[1] == '"')
			g_string_append_c(field, *(*at)++);
		else if (**at == '"')
			is_quoted = !is_quoted;
		else if (**at == ',' && !is_quoted) {
			g_ptr_array_add(fields, g_strdup(field->str));
			g_string_truncate(field, 0);
		} else
			g_string_append_c(field, **at);
	}
	*at += strspn(*at, "\r\n");
	g_ptr_array_add(fields, g_strdup(field->str));
	return fields;
}

struct report {
	gchar *text;
	const gchar *at;
	GPtrArray *names, *row;
};

static void report_open(struct report *report, const gchar *folder, const gchar *name)
{
	g_autofree gchar *below = g_strdup_printf("kineto/tracelens/%s/%s", folder, name);
	g_autofree gchar *path = foreign_sample(below);

	*report = (struct report){ 0 };
	g_assert_nonnull(path);
	g_assert_true(g_file_get_contents(path, &report->text, NULL, NULL));
	report->at = report->text;
	report->names = read_line(&report->at);
}

static gboolean report_next(struct report *report)
{
	g_clear_pointer(&report->row, g_ptr_array_unref);
	if (!*report->at)
		return FALSE;
	report->row = read_line(&report->at);
	g_assert_cmpuint(report->row->len, ==, report->names->len);
	return TRUE;
}

static const gchar *report_text(const struct report *report, const gchar *column)
{
	for (guint i = 0; i < report->names->len; i++)
		if (strcmp(g_ptr_array_index(report->names, i), column) == 0)
			return g_ptr_array_index(report->row, i);
	g_error("no column %s", column);
}

static gdouble report_number(const struct report *report, const gchar *column)
{
	return g_ascii_strtod(report_text(report, column), NULL);
}

static void report_close(struct report *report)
{
	g_free(report->text);
	g_clear_pointer(&report->names, g_ptr_array_unref);
	g_clear_pointer(&report->row, g_ptr_array_unref);
}

/* --- gpu_timeline.csv ------------------------------------------------------------------------- */

/* The figures are for the whole recording, with or without steps. */
static void test_timeline(void)
{
	static const struct {
		const gchar *trace, *report;
	} samples[] = {
		{ "h100/Falconsai_nsfw_image_detection__1016002.json.gz", NULL },
		{ "mi300/Falconsai_nsfw_image_detection__1016002.json.gz", NULL },
		{ "h100/gaunernst_bert-small-uncased__1016001.json.gz", NULL },
		{ "mi300/gaunernst_bert-small-uncased__1016001.json.gz", NULL },
		{ "h100/google_owlv2-large-patch14-ensemble__1016001.json.gz", NULL },
		{ "mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz", NULL },
		{ "mi210/gpu_only_trace/gpu_only_trace.json.gz", NULL },
		{ "torch_compile_triton/trace.json.gz", NULL },
		{ "inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
		  "inference/sglang_decode/perf_csvs" },
		{ "inference/vllm_decode_full/graph_execution.json.gz",
		  "inference/vllm_decode_full/perf_csvs" },
		{ "inference/vllm_prefilldecode_piecewise/graph_execution.json.gz",
		  "inference/vllm_prefilldecode_piecewise/perf_csvs" },
	};
	static const struct {
		const gchar *theirs, *ours;
	} rows[] = {
		{ "computation_time", "compute_ms" },
		{ "exposed_comm_time", "exposed_communication_ms" },
		{ "exposed_memcpy_time", "exposed_memcpy_ms" },
		{ "busy_time", "busy_ms" },
		{ "idle_time", "idle_ms" },
		{ "total_time", "duration_ms" },
		{ "total_comm_time", "communication_ms" },
		{ "total_memcpy_time", "memcpy_ms" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(samples); i++) {
		g_autoptr(TachoTimeline) timeline = open_sample(samples[i].trace);
		g_autofree gchar *expected = g_strdup_printf(
			"%.*s.expected", (int)strlen(samples[i].trace) - 8, samples[i].trace);
		g_autoptr(TachoTable) table = NULL;
		struct report report;
		guint n = 0;

		if (!timeline)
			return;
		g_array_set_size(timeline->steps, 0);
		table = tacho_view_device(timeline, NULL);
		g_assert_cmpuint(tacho_table_n_rows(table), ==, 1);
		report_open(&report, samples[i].report ? samples[i].report : expected,
			    "gpu_timeline.csv");
		while (report_next(&report))
			for (guint k = 0; k < G_N_ELEMENTS(rows); k++) {
				if (strcmp(report_text(&report, "type"), rows[k].theirs) != 0)
					continue;
				g_test_message("%s %s", samples[i].trace, rows[k].ours);
				g_assert_cmpfloat_with_epsilon(
					tacho_table_cell_number(table, 0, rows[k].ours),
					report_number(&report, "time ms"), 1e-3);
				n++;
			}
		g_assert_cmpuint(n, ==, G_N_ELEMENTS(rows));
		report_close(&report);
	}
}

/* --- kernels by operation --------------------------------------------------------------------- */

struct times {
	guint count;
	gdouble sum_us, min_us, max_us;
};

static void add_time(GHashTable *groups, gchar *key, gdouble us)
{
	struct times *times = g_hash_table_lookup(groups, key);

	if (!times) {
		times = g_new0(struct times, 1);
		times->min_us = us;
		g_hash_table_insert(groups, g_strdup(key), times);
	}
	times->count++;
	times->sum_us += us;
	times->min_us = MIN(times->min_us, us);
	times->max_us = MAX(times->max_us, us);
	g_free(key);
}

static gboolean is_kernel(const TachoTimeline *timeline, guint32 slice)
{
	return (timeline->slices.kind[slice] == TACHO_SLICE_KERNEL ||
		timeline->slices.kind[slice] == TACHO_SLICE_COLLECTIVE) &&
	       tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
		       TACHO_TRACK_STREAM;
}

/* What TraceLens calls the parent of a kernel; "": there is none. */
static const gchar *op_name(const TachoTimeline *timeline, guint32 slice)
{
	guint32 op = tacho_kernel_op(timeline, slice);

	return op == TACHO_NONE ? "" : tacho_slice_name(timeline, op);
}

static GHashTable *group_kernels(const TachoTimeline *timeline)
{
	GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (is_kernel(timeline, i))
			add_time(groups,
				 g_strdup_printf(
					 "%s|%s|%u", op_name(timeline, i),
					 tacho_slice_name(timeline, i),
					 tacho_timeline_track(timeline, timeline->slices.track[i])
						 ->tid),
				 (gdouble)timeline->slices.duration_ns[i] / 1e3);
	return groups;
}

static const gchar *const reported[] = {
	"h100/Falconsai_nsfw_image_detection__1016002",
	"mi300/Falconsai_nsfw_image_detection__1016002",
	"h100/gaunernst_bert-small-uncased__1016001",
	"mi300/gaunernst_bert-small-uncased__1016001",
	"h100/google_owlv2-large-patch14-ensemble__1016001",
	"mi300/google_owlv2-large-patch14-ensemble__1016001",
	"h100/Qwen_Qwen1.5-0.5B-Chat__1016005",
	"mi300/Qwen_Qwen1.5-0.5B-Chat__1016005",
	"perf_model/normalization/normalization_layer_test",
	"torch_compile_triton/trace",
	"mi210/gpu_only_trace/gpu_only_trace",
};

/* The parent's column is left out of a report of a trace without operations. */
static gboolean has_column(const struct report *report, const gchar *column)
{
	for (guint i = 0; i < report->names->len; i++)
		if (strcmp(g_ptr_array_index(report->names, i), column) == 0)
			return TRUE;
	return FALSE;
}

static void check_times(const struct report *report, const struct times *times, gdouble all_us)
{
	g_assert_nonnull(times);
	g_assert_cmpfloat(times->count, ==, report_number(report, "Kernel duration (µs)_count"));
	g_assert_cmpfloat_with_epsilon(times->sum_us,
				       report_number(report, "Kernel duration (µs)_sum"), 1e-3);
	g_assert_cmpfloat_with_epsilon(times->sum_us / times->count,
				       report_number(report, "Kernel duration (µs)_mean"), 1e-3);
	g_assert_cmpfloat_with_epsilon(times->min_us,
				       report_number(report, "Kernel duration (µs)_min"), 1e-6);
	g_assert_cmpfloat_with_epsilon(times->max_us,
				       report_number(report, "Kernel duration (µs)_max"), 1e-6);
	g_assert_cmpfloat_with_epsilon(100 * times->sum_us / all_us,
				       report_number(report, "Percent of kernels time (%)"), 1e-6);
}

static void test_kernels(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(reported); i++) {
		g_autofree gchar *trace = g_strdup_printf("%s.json.gz", reported[i]);
		g_autofree gchar *folder = g_strdup_printf("%s.expected", reported[i]);
		g_autoptr(TachoTimeline) timeline = open_sample(trace);
		g_autoptr(GHashTable) groups = NULL;
		struct report report;
		gdouble all_us = 0;
		gboolean has_parent;
		guint n = 0;

		if (!timeline)
			return;
		groups = group_kernels(timeline);
		for (guint32 k = 0; k < timeline->slices.n; k++)
			if (is_kernel(timeline, k))
				all_us += (gdouble)timeline->slices.duration_ns[k] / 1e3;
		report_open(&report, folder, "kernel_summary.csv");
		has_parent = has_column(&report, "Parent cpu_op");
		while (report_next(&report)) {
			const gchar *name = report_text(&report, "Kernel name");
			g_autofree gchar *key = g_strdup_printf(
				"%s|%s|%s", has_parent ? report_text(&report, "Parent cpu_op") : "",
				name, report_text(&report, "Kernel stream"));

			g_test_message("%s: %s", reported[i], key);
			check_times(&report, g_hash_table_lookup(groups, key), all_us);
			n++;
		}
		g_assert_cmpuint(n, ==, g_hash_table_size(groups)); /* all, and no others */
		report_close(&report);
	}
}

/* --- operations by the time of their kernels -------------------------------------------------- */

/* How many operations of each name launched work, and how long that took; `with_fills`: fills, too. */
static GHashTable *group_ops(const TachoTimeline *timeline, gboolean with_fills)
{
	GHashTable *groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		TachoSliceKind kind = timeline->slices.kind[i];
		guint32 op;

		if (!is_kernel(timeline, i) && kind != TACHO_SLICE_MEMCPY &&
		    (kind != TACHO_SLICE_MEMSET || !with_fills))
			continue;
		op = tacho_kernel_op(timeline, i);
		if (op == TACHO_NONE)
			continue;
		add_time(groups, g_strdup(tacho_slice_name(timeline, op)),
			 (gdouble)timeline->slices.duration_ns[i] / 1e3);
		if (!g_hash_table_add(seen, GUINT_TO_POINTER(op))) {
			struct times *times =
				g_hash_table_lookup(groups, tacho_slice_name(timeline, op));

			times->count--; /* another kernel of the same run of the operation */
		}
	}
	return groups;
}

/* The device's time of all rows of that name in the op view. */
static gdouble device_us_of(const TachoTable *table, const gchar *name)
{
	gdouble sum_ms = 0;

	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (strcmp(tacho_table_cell_text(table, row, "name"), name) == 0)
			sum_ms += tacho_table_cell_number(table, row, "device_ms");
	return sum_ms * 1e3;
}

static void check_ops(const gchar *name, const TachoTimeline *timeline, const gchar *folder)
{
	g_autoptr(TachoProfileOptions) profile = tacho_profile_options_new();
	TachoFilter filter = TACHO_FILTER_INIT;
	/* TraceLens' report of this one leaves fills out */
	gboolean with_fills = strstr(name, "normalization") == NULL;
	g_autoptr(GHashTable) groups = group_ops(timeline, with_fills);
	g_autoptr(TachoTable) table = NULL;
	struct report report;
	guint n = 0;

	g_assert_true(tacho_profile_options_set(profile, "select", "accelerator_micros", NULL));
	g_assert_true(tacho_profile_options_set(profile, "mean", "none", NULL));
	filter.profile = profile;
	table = tacho_view_op(timeline, &filter);
	report_open(&report, folder, "ops_summary.csv");
	while (report_next(&report)) {
		const gchar *op = report_text(&report, "name");
		const struct times *times = g_hash_table_lookup(groups, op);
		gdouble expected_us = report_number(&report, "total_direct_kernel_time_sum");

		g_test_message("%s: %s", name, op);
		g_assert_nonnull(times);
		g_assert_cmpfloat(times->count, ==, report_number(&report, "Count"));
		g_assert_cmpfloat_with_epsilon(times->sum_us, expected_us,
					       ROUNDING_US * times->count);
		if (with_fills)
			g_assert_cmpfloat_with_epsilon(device_us_of(table, op), expected_us,
						       ROUNDING_US * times->count);
		n++;
	}
	g_assert_cmpuint(n, ==, g_hash_table_size(groups));
	report_close(&report);
}

/* The last of the reports is of a trace without operations. */
static void test_ops(void)
{
	for (guint i = 0; i + 1 < G_N_ELEMENTS(reported); i++) {
		g_autofree gchar *trace = g_strdup_printf("%s.json.gz", reported[i]);
		g_autofree gchar *folder = g_strdup_printf("%s.expected", reported[i]);
		g_autoptr(TachoTimeline) timeline = open_sample(trace);

		if (!timeline)
			return;
		g_array_set_size(timeline->steps, 0);
		check_ops(reported[i], timeline, folder);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tracelens-samples/timeline", test_timeline);
	g_test_add_func("/tracelens-samples/kernels", test_kernels);
	g_test_add_func("/tracelens-samples/ops", test_ops);
	return g_test_run();
}
