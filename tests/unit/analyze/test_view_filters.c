/* Every view with every filter: it goes by what analyze.h says it goes by, and by nothing else; and what is counted
 * of parts, of ranks, steps and names, adds up to what is counted of the whole. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <string.h>

#include "timeline_text.h"

#define N_RANKS 2
#define N_STEPS 4 /* the first is warm-up */

static const struct view {
	const gchar *name;
	guint parts;
	TachoTable *(*run)(const TachoTimeline *timeline, const TachoFilter *filter);
} views[] = {
#define VIEW_ROW(name, parts, description) { #name, parts, tacho_view_##name },
	TACHO_VIEWS(VIEW_ROW)
#undef VIEW_ROW
};

/* --- a job that has something for each view ------------------------------------------------------- */

/* Step `s` of rank `r` is the longer the larger they are; each has an operation of its own. */
static void append_thread(GString *text, guint r)
{
	g_string_append_printf(text, "rank %u host=h%u thread %u main\n", r, r, 1000 + r);
	for (guint s = 0; s < N_STEPS; s++) {
		guint at = 100 * s, k = s + r;

		g_string_append_printf(
			text,
			"annotation ProfilerStep#%u %u..%u\n"
			"module Block %u..%u\n"
			"op aten::mm %u..%u in=float32[8,%u]@0x1 in=float32[%u,8]@0x2 "
			"out=float32[8,8]@0x%u\n"
			"alloc %u address=%u bytes=%u\n"
			"alloc %u address=%u bytes=64 device=1\n",
			s, at, at + 99, at + 1, at + 40, at + 2, at + 10 + k, 8 << s, 8 << s,
			16 + s, at + 3, 4096 * (1 + s + 10 * r), 100 * (s + 1), at + 4,
			4096 * (1 + s + 10 * r));
		g_string_append_printf(text,
				       "runtime \"launch %u\" %u..%u\n"
				       "op aten::add_%u %u..%u in=float32[8,8]@0x%u\n"
				       "kernel sgemm_%u %u..%u flops=2048 bytes=64\n"
				       "runtime \"copy %u\" %u..%u\n",
				       s, at + 16, at + 17, s, at + 20, at + 25 + k, 16 + s, s,
				       at + 21, at + 24, s, at + 36, at + 37);
		g_string_append_printf(
			text,
			"collective gloo:all_reduce %u..%u bytes=4096\n"
			"collective gloo:broadcast %u..%u bytes=64\n"
			"message send %u..%u bytes=%u fd=3 local=10.0.0.%u:1 peer=10.0.0.%u:1\n"
			"sample queue %u %u.5\n"
			"sample \"in use\" %u %u\n",
			at + 45 + k, at + 70, at + 71, at + 75 + k, at + 50, at + 51, 100 + s,
			r + 1, 2 - r, at + 5, s + r, at + 6, 7 * s);
		g_string_append_printf(text,
				       "sample \"total_bytes_in_bin of bin 2 of GPU_0_bfc\" %u %u\n"
				       "sample \"total_bytes_in_bin of bin 2 of host_bfc\" %u %u\n",
				       at + 7, 1024 * (r + 1), at + 7, 4096);
		g_string_append_printf(text, "sample waves %u %u\n", at + 18, s + r + 1);
		g_string_append_printf(text,
				       "sample \"minor page faults, thread %u\" %u %u\n"
				       "sample \"major page faults, thread %u\" %u %u\n",
				       1000 + r, at + 8, 100 * s * (s + r + 1), 1000 + r, at + 8,
				       10 * s);
	}
}

static void append_streams(GString *text)
{
	g_string_append(text, "stream 7\n");
	for (guint s = 0; s < N_STEPS; s++)
		g_string_append_printf(text,
				       "kernel gemm_%u %u..%u \"launch=launch %u\"\n"
				       "memset fill %u..%u bytes=32\n",
				       s, 100 * s + 18, 100 * s + 35, s, 100 * s + 36,
				       100 * s + 37);
	g_string_append(text, "stream 8\n");
	for (guint s = 0; s < N_STEPS; s++)
		g_string_append_printf(
			text, "memcpy \"Memcpy HtoD\" %u..%u \"launch=copy %u\" bytes=64\n",
			100 * s + 41, 100 * s + 44, s);
}

static void add_bucket(TachoTimeline *timeline, guint32 collective, guint32 forward)
{
	const TachoSlices *slices = &timeline->slices;
	gint64 queued_ns = slices->start_ns[collective];
	TachoBucket bucket = { .rank_index = tacho_slice_process(timeline, collective)->rank_index,
			       .step = (guint32)(queued_ns / 100000000),
			       .slice = collective,
			       .bytes = 4096,
			       .first_gradient = timeline->gradients->len,
			       .n_gradients = 2,
			       .ready_ns = queued_ns,
			       .queued_ns = queued_ns };
	TachoFlow flow = { forward, collective, TACHO_FLOW_FORWARD_BACKWARD, TRUE };

	for (guint i = 0; i < bucket.n_gradients; i++) {
		/* the first has a module */
		TachoGradient gradient = { .slice = i ? forward : collective,
					   .bytes = 2048,
					   .offset_bytes = 2048 * i,
					   .ready_ns = queued_ns,
					   .is_exact = TRUE };

		g_array_append_val(timeline->gradients, gradient);
	}
	g_array_append_val(timeline->flows, flow);
	g_array_append_val(timeline->buckets, bucket);
}

/* What no text says: buckets, what a graph did, allocators. */
static void add_tables(TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint r = 0; r < N_RANKS; r++)
		for (guint s = 0; s < N_STEPS; s++) {
			g_autofree gchar *name = g_strdup_printf("gemm_%u", s);
			TachoGraphWork work = { .slice = timeline_find(timeline, name, r),
						.capture = TACHO_NONE };

			g_array_append_val(timeline->graph_work, work);
			add_bucket(timeline,
				   timeline_find(timeline, "gloo:all_reduce", r * N_STEPS + s),
				   timeline_find(timeline, "aten::mm", r * N_STEPS + s));
		}
	for (guint32 process = 0; process < timeline->processes->len; process++)
		for (guint device = 0; device < 2; device++)
			for (guint pool = 0; pool < 2; pool++) {
				TachoChunk chunk = {
					.bytes = 1024 * (1 + process),
					.process = process,
					.device = device,
					.pool = tacho_timeline_intern(timeline,
								      pool ? "small" : "large", -1),
					.state = TACHO_CHUNK_SEGMENT,
				};

				g_array_append_val(timeline->chunks, chunk);
			}
	g_assert_cmpuint(slices->n, >, 0);
}

/* Nobody saw the end of each rank's last broadcast. */
static void leave_open(TachoTimeline *timeline)
{
	TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++)
		if (slices->kind[i] == TACHO_SLICE_COLLECTIVE &&
		    slices->start_ns[i] > (N_STEPS - 1) * 100 * (gint64)1000000 &&
		    strcmp(tacho_slice_name(timeline, i), "gloo:broadcast") == 0)
			slices->flags[i] |= TACHO_SLICE_OPEN;
}

static TachoTimeline *make_job(void)
{
	g_autoptr(GString) text = g_string_new("unit ms\nworld 2\n");
	TachoTimeline *timeline;

	for (guint r = 0; r < N_RANKS; r++) {
		append_thread(text, r);
		append_streams(text);
	}
	timeline = timeline_from_text(text->str);
	tacho_correlate(timeline);
	g_assert_cmpuint(timeline->steps->len, ==, N_RANKS * N_STEPS);
	add_tables(timeline);
	leave_open(timeline);
	return timeline;
}

/* --- the same, or not ------------------------------------------------------------------------------ */

static gchar *rows_text(const struct view *view, const TachoTimeline *timeline,
			const TachoFilter *filter)
{
	g_autoptr(TachoTable) table = view->run(timeline, filter);
	gchar *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tacho_table_print_json(table, out);
	fclose(out);
	return text;
}

static void check_part(const struct view *view, const TachoTimeline *timeline,
		       const TachoFilter *without, const TachoFilter *with, gboolean is_taken,
		       const gchar *option)
{
	g_autofree gchar *all = rows_text(view, timeline, without);
	g_autofree gchar *some = rows_text(view, timeline, with);

	if (is_taken && strcmp(all, some) == 0)
		g_test_fail_printf("%s does not go by %s: %s", view->name, option, all);
	if (!is_taken && strcmp(all, some) != 0)
		g_test_fail_printf("%s goes by %s: %s became %s", view->name, option, all, some);
}

/* What each view calls its rows by differs: of `names` one matches some of them. */
static const gchar *some_name(const struct view *view)
{
	static const struct {
		const gchar *view, *name;
	} others[] = {
		{ "comm", "broadcast" },
		{ "message", "no such" },
		{ "latency", "broadcast" },
		{ "bucket", "broadcast" },
		{ "gradient", "Block" },
		{ "overlap", "broadcast" },
		{ "straggler", "broadcast" },
		{ "chunks", "small" },
		{ "bins", "host" },
		{ "idle", "gemm_2" },
		{ "launch", "gemm" },
		{ "graph_node", "gemm_2" },
		{ "queue", "gemm" },
		{ "queue_curve", "gemm" },
		{ "bandwidth", "HtoD" },
		{ "bandwidth_curve", "HtoD" },
		{ "counters", "in use" },
		{ "advise", "communication" },
		{ "kernel", "gemm_2" },
		{ "memory", "add" },
		{ "critical", "broadcast" },
		{ "system", "minor" },
		{ "kernel_counters", "gemm_2" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (strcmp(others[i].view, view->name) == 0)
			return others[i].name;
	return "mm";
}

static const gchar *some_device(const struct view *view)
{
	static const gchar *const of_memories[] = { "memory", "memory_curve", "memory_layers",
						    "chunks", NULL };

	return g_strv_contains(of_memories, view->name) ? "host" : "stream 8";
}

static void test_parts(gconstpointer data)
{
	const struct view *view = data;
	g_autoptr(TachoTimeline) timeline = make_job();
	g_autoptr(GRegex) name = g_regex_new(some_name(view), 0, 0, NULL);
	g_autoptr(GRegex) device = g_regex_new(some_device(view), 0, 0, NULL);
	TachoProfileOptions *profile = tacho_profile_options_new();
	const TachoFilter all = TACHO_FILTER_INIT;
	TachoFilter of_rank = all, of_step = all, by_name = all, by_device = all, by_shape = all;
	TachoFilter by_profile = all, by_annotation;

	g_assert_true(tacho_profile_options_set(profile, "account", "aten::mm", NULL));
	of_rank.rank = 1;
	of_step.first_step = of_step.last_step = 2;
	by_name.name = name;
	by_device.device = device;
	by_shape.by_shape = TRUE;
	by_profile.profile = profile;
	by_annotation = of_rank;
	by_annotation.annotation = "ProfilerStep";
#define CHECK(filter, than, part, option)                                                          \
	check_part(view, timeline, &(than), &(filter), (view->parts & (part)) != 0, option)
	check_part(view, timeline, &all, &of_rank, TRUE, "--rank");
	CHECK(of_step, all, TACHO_BY_STEPS, "--steps");
	CHECK(by_name, all, TACHO_BY_NAME, "--name");
	CHECK(by_device, all, TACHO_BY_DEVICE, "--device");
	CHECK(by_shape, all, TACHO_BY_SHAPES, "--shapes");
	CHECK(by_profile, all, TACHO_BY_PROFILE, "--account");
	CHECK(by_annotation, of_rank, TACHO_BY_ANNOTATION, "--annotation");
#undef CHECK
	tacho_profile_options_free(profile);
}

/* --- sums ------------------------------------------------------------------------------------------ */

enum sum_over {
	SUM_RANKS = 1 << 0,
	SUM_STEPS = 1 << 1,
	SUM_NAMES = 1 << 2,
	SUM_ALL = SUM_RANKS | SUM_STEPS | SUM_NAMES,
};

/* A collective belongs to several ranks; means and peaks of parts do not add up. */
static const struct sum {
	const gchar *view, *key;
	guint over;
} sums[] = {
	{ "step", "duration_ms", SUM_RANKS | SUM_STEPS },
	{ "breakdown", "duration_ms", SUM_RANKS },
	{ "op", "count", SUM_ALL },
	{ "op", "self_ms", SUM_ALL },
	{ "kernel", "count", SUM_ALL },
	{ "kernel", "total_ms", SUM_ALL },
	{ "comm", "count", SUM_STEPS | SUM_NAMES },
	{ "message", "bytes", SUM_ALL },
	{ "latency", "count", SUM_ALL },
	{ "bucket", "count", SUM_ALL },
	{ "gradient", "count", SUM_ALL },
	{ "memory", "allocated_bytes", SUM_ALL },
	{ "memory", "count", SUM_ALL },
	{ "chunks", "reserved_bytes", SUM_RANKS | SUM_NAMES },
	{ "bins", "bytes", SUM_RANKS | SUM_NAMES },
	{ "device", "compute_ms", SUM_RANKS },
	{ "idle", "busy_ms", SUM_RANKS | SUM_STEPS },
	{ "launch", "count", SUM_ALL },
	{ "launch", "total_ms", SUM_ALL },
	{ "graph_node", "count", SUM_ALL },
	{ "queue", "count", SUM_ALL },
	{ "bandwidth", "count", SUM_ALL },
	{ "bandwidth", "bytes", SUM_ALL },
	{ "counters", "samples", SUM_ALL },
	{ "kernel_counters", "count", SUM_ALL },
	{ "kernel_counters", "total", SUM_ALL },
};

static gdouble sum_of(const struct sum *sum, const TachoTimeline *timeline,
		      const TachoFilter *filter)
{
	gdouble total = 0;

	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autoptr(TachoTable) table = NULL;

		if (strcmp(views[i].name, sum->view) != 0)
			continue;
		table = views[i].run(timeline, filter);
		g_assert_nonnull(tacho_table_borrow_column(table, sum->key));
		for (guint row = 0; row < tacho_table_n_rows(table); row++)
			total += tacho_table_cell_number(table, row, sum->key);
	}
	return total;
}

static void expect_sum(const struct sum *sum, gdouble whole, gdouble parts, const gchar *of)
{
	if (!(parts >= whole * (1 - 1e-9) && parts <= whole * (1 + 1e-9)))
		g_test_fail_printf("%s, %s: %g of %s add up to no %g", sum->view, sum->key, parts,
				   of, whole);
}

static void test_sum(gconstpointer data)
{
	const struct sum *sum = data;
	g_autoptr(TachoTimeline) timeline = make_job();
	g_autoptr(GRegex) some = g_regex_new("a[lm]|m[ei]|[gB]", 0, 0, NULL);
	g_autoptr(GRegex) others = g_regex_new("^(?!.*(a[lm]|m[ei]|[gB]))", 0, 0, NULL);
	TachoFilter all = TACHO_FILTER_INIT, part;
	gdouble whole, parts = 0;

	all.first_step = 0; /* warm-up, too */
	whole = sum_of(sum, timeline, &all);
	g_assert_cmpfloat(whole, >, 0);
	for (part = all; sum->over & SUM_RANKS && part.rank < N_RANKS - 1;) {
		part.rank++;
		parts += sum_of(sum, timeline, &part);
	}
	if (sum->over & SUM_RANKS)
		expect_sum(sum, whole, parts, "ranks");
	parts = 0;
	for (part = all; sum->over & SUM_STEPS && part.first_step < N_STEPS; part.first_step++) {
		part.last_step = part.first_step;
		parts += sum_of(sum, timeline, &part);
	}
	if (sum->over & SUM_STEPS)
		expect_sum(sum, whole, parts, "steps");
	part = all;
	part.name = some;
	parts = sum_of(sum, timeline, &part);
	part.name = others;
	if (sum->over & SUM_NAMES)
		expect_sum(sum, whole, parts + sum_of(sum, timeline, &part), "names");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(views); i++) {
		g_autofree gchar *path = g_strdup_printf("/view-filters/%s", views[i].name);

		g_test_add_data_func(path, &views[i], test_parts);
	}
	for (guint i = 0; i < G_N_ELEMENTS(sums); i++) {
		g_autofree gchar *path =
			g_strdup_printf("/view-filters/sum/%s/%s", sums[i].view, sums[i].key);

		g_test_add_data_func(path, &sums[i], test_sum);
	}
	return g_test_run();
}
