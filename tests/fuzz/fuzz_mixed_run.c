/* fuzz_mixed_run: a run of tacho's with traces of other tools in it (RUN/traces), and every view of what they make together.
 *
 * The bytes are commands: which processes the run has, what they ran, how the system's clocks went meanwhile, what trace.ini
 * says, and the rows of a Chrome trace; or they are the trace's own file as it is. What must hold of the first:
 * (1) Each trace is in the timeline, or a problem says that it is not; `tacho add` would say the same.
 * (2) The run's own operations are all there, as they were recorded. Of a trace's rows, each is there at the time that the
 *     system's clock had, or the run, or the trace before, has one of its name within a millisecond. */
#include <string.h>

#include <tacho/import.h>

#include "every_view.h"
#include "foreign_traces.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "run_builder.h"
#include "slice_promises.h"

#define BASE_S	1700000000
#define BASE_NS (BASE_S * G_GINT64_CONSTANT(1000000000))
#define US	G_GINT64_CONSTANT(1000)
#define MS	G_GINT64_CONSTANT(1000000)
#define MONO_NS (1000000 * MS) /* of CLOCK_MONOTONIC when the trace's clock is 0 */

enum {
	MAX_TRACES = 2,
	MAX_ROWS = 64,
	FIRST_PID = 33,
};

enum flags {
	TWO_PROCESSES = 1 << 0,
	READINGS = 1 << 1,
	MONOTONIC = 1 << 2,
	TWO_TRACES = 1 << 3,
	RAW_TRACE = 1 << 4,
};

static const gchar *const names[] = { "aten::add", "aten::mm", "train", "aten::copy_" };

struct row {
	guint pid, tid;
	const gchar *name;
	gint64 start_ns, duration_ns; /* own: of the run's clock; of a trace: of the system's */
};

struct reading {
	gint64 stamp, ahead_ns;
};

struct scene {
	const guint8 *at, *end;
	guint flags, n_traces;
	gchar *run;
	GArray *own, *readings, *rows[MAX_TRACES];
};

static guint8 take(struct scene *scene)
{
	return scene->at < scene->end ? *scene->at++ : 0;
}

/* --- the run ---------------------------------------------------------------------------------- */

static void write_readings(struct scene *scene, struct run_builder *builder)
{
	guint32 class_id = run_builder_class(builder, TRACE_KIND_CLOCK, "clocks");

	for (guint i = 0; i < scene->readings->len; i++) {
		struct reading reading = g_array_index(scene->readings, struct reading, i);
		struct record_clock *record = run_builder_record(
			builder, class_id, (guint64)reading.stamp, sizeof(*record));

		record->mono_ns = (guint64)(reading.stamp + reading.ahead_ns + MONO_NS);
		record->real_ns = (guint64)(reading.stamp + reading.ahead_ns + BASE_NS);
	}
}

static void write_thread(struct scene *scene, struct run_builder *builder, guint pid, guint tid,
			 const guint32 *classes)
{
	guint n = take(scene) & 7;
	struct row row = { .pid = pid, .tid = tid, .start_ns = 10 * MS };

	run_builder_stream(builder, tid);
	for (guint i = 0; i < n; i++) {
		guint name = take(scene) & 3;

		row.name = names[name];
		row.start_ns += take(scene) * 100 * US;
		row.duration_ns = take(scene) * 10 * US;
		run_builder_op(builder, classes[name], (guint64)row.start_ns,
			       (guint64)(row.start_ns + row.duration_ns), -1);
		g_array_append_val(scene->own, row);
	}
}

static void write_process(struct scene *scene, guint index)
{
	const struct run_builder_process process = { .pid = FIRST_PID + index,
						     .rank = (gint)index,
						     .offset_s = BASE_S };
	struct run_builder *builder = run_builder_new(scene->run, &process);
	guint32 classes[G_N_ELEMENTS(names)];

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		classes[i] = run_builder_class(builder, TRACE_KIND_OP, names[i]);
	write_thread(scene, builder, process.pid, 10, classes);
	write_thread(scene, builder, process.pid, 11, classes);
	run_builder_stream(builder, 12);
	if (index == 0)
		write_readings(scene, builder);
	run_builder_end(builder);
}

static void write_run(struct scene *scene)
{
	struct reading reading = { 0 };
	guint n = scene->flags & READINGS ? 1 + (take(scene) & 3) : 0;

	for (guint i = 0; i < n; i++) {
		reading.stamp += 20 * MS;
		reading.ahead_ns += (take(scene) - 128) * 10 * US;
		g_array_append_val(scene->readings, reading);
	}
	write_process(scene, 0);
	if (scene->flags & TWO_PROCESSES)
		write_process(scene, 1);
}

/* --- traces ----------------------------------------------------------------------------------- */

static void write_bytes(const gchar *trace, const gchar *name, const void *bytes, gsize n)
{
	g_autofree gchar *path = g_build_filename(trace, name, NULL);

	if (!g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE, 0600, NULL))
		g_error("%s cannot be written", path);
}

static void write_facts(struct scene *scene, const gchar *trace)
{
	g_autoptr(GString) facts = g_string_new("[trace]\n");
	guint8 byte = take(scene);

	if (byte & 3)
		g_string_append_printf(facts, "pid=%u\n", FIRST_PID - 1 + (byte & 3));
	if (byte >> 2 & 3)
		g_string_append_printf(facts, "rank=%d\n", (byte >> 2 & 3) - 1);
	if (byte >> 4 & 1)
		g_string_append_printf(facts, "host=h%d\n", byte >> 5 & 1);
	if (byte >> 6 & 1)
		g_string_append_printf(facts, "step=train\nsteps=%d\n", byte >> 7);
	write_bytes(trace, TRACE_ADDED_FILE, facts->str, facts->len);
}

/* Around the times of the run's own. */
static void write_rows(struct scene *scene, GArray *rows, const gchar *trace)
{
	static const guint pids[] = { FIRST_PID, FIRST_PID + 1, 1, FIRST_PID };
	g_autoptr(GString) json = g_string_new("{\"traceEvents\": [");
	guint n = take(scene) % MAX_ROWS;

	for (guint i = 0; i < n; i++) {
		guint8 byte = take(scene);
		struct row row = {
			.pid = pids[byte & 3],
			.tid = 10 + (byte >> 2 & 3),
			.name = names[byte >> 4 & 3],
		};

		row.start_ns = (scene->flags & MONOTONIC ? MONO_NS : BASE_NS) + 8 * MS;
		row.start_ns += take(scene) * 100 * US + take(scene) * 10 * US;
		row.duration_ns = take(scene) * 10 * US;
		g_string_append_printf(json,
				       "%s{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", "
				       "\"pid\": %u, \"tid\": %u, \"ts\": %" G_GINT64_FORMAT
				       ", \"dur\": %" G_GINT64_FORMAT "}",
				       i ? ",\n" : "", row.name, row.pid, row.tid,
				       row.start_ns / US, row.duration_ns / US);
		g_array_append_val(rows, row);
	}
	g_string_append(json, "]}");
	write_bytes(trace, "trace.json", json->str, json->len);
}

static gchar *trace_path(const struct scene *scene, guint index)
{
	return g_build_filename(scene->run, TRACE_ADDED_FOLDER, index ? "b" : "a", NULL);
}

static void write_trace(struct scene *scene, guint index)
{
	g_autofree gchar *trace = trace_path(scene, index);

	g_mkdir_with_parents(trace, 0700);
	write_facts(scene, trace);
	if (scene->flags & RAW_TRACE && index + 1 == scene->n_traces)
		write_bytes(trace, "trace", scene->at, (gsize)(scene->end - scene->at));
	else
		write_rows(scene, scene->rows[index], trace);
}

/* --- what must hold --------------------------------------------------------------------------- */

/* What the run's clock had when the system's had that. */
static gint64 run_time(const struct scene *scene, gint64 system_ns)
{
	gint64 system_base_ns = scene->flags & MONOTONIC ? MONO_NS : BASE_NS;
	const struct reading *before = NULL, *after = NULL;
	gint64 told_ns = system_ns - system_base_ns, length_ns;

	for (guint i = 0; i < scene->readings->len; i++) {
		const struct reading *reading = &g_array_index(scene->readings, struct reading, i);

		if (reading->stamp + reading->ahead_ns <= told_ns)
			before = reading;
		else if (!after)
			after = reading;
	}
	if (!before || !after)
		return told_ns - (before ? before->ahead_ns : after ? after->ahead_ns : 0);
	length_ns = after->stamp + after->ahead_ns - before->stamp - before->ahead_ns;
	return before->stamp +
	       (gint64)((gdouble)(told_ns - before->stamp - before->ahead_ns) *
			(gdouble)(after->stamp - before->stamp) / (gdouble)length_ns);
}

/* What the run's clock counts from. A run that has recorded nothing has no time: its first trace's counts. */
static gint64 run_base(const struct scene *scene)
{
	return scene->flags & MONOTONIC && !scene->own->len && !scene->readings->len ? MONO_NS
										     : BASE_NS;
}

/* Whether a slice of that name and length begins within 2 ns of that time of the run's clock. */
static gboolean has_slice(const struct scene *scene, const TachoTimeline *timeline,
			  const struct row *row, gint64 time_ns)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gint64 apart_ns = timeline->slices.start_ns[i] + timeline->origin_unix_ns -
				  run_base(scene) - time_ns;

		if (ABS(apart_ns) <= 2 && timeline->slices.duration_ns[i] == row->duration_ns &&
		    strcmp(tacho_slice_name(timeline, i), row->name) == 0)
			return TRUE;
	}
	return FALSE;
}

static gboolean is_twin(const struct row *row, const struct row *other, gint64 apart_ns)
{
	return other->tid == row->tid && strcmp(other->name, row->name) == 0 &&
	       ABS(apart_ns) <= MS + 2;
}

/* Whether the run, or a trace that was laid in before, has one that the row may be. */
static gboolean has_twin(const struct scene *scene, guint index, const struct row *row)
{
	gint64 time_ns = run_time(scene, row->start_ns);

	for (guint i = 0; i < scene->own->len; i++) {
		const struct row *own = &g_array_index(scene->own, struct row, i);

		if (is_twin(row, own, own->start_ns - time_ns))
			return TRUE;
	}
	for (guint i = 0; i < index; i++)
		for (guint j = 0; j < scene->rows[i]->len; j++) {
			const struct row *other = &g_array_index(scene->rows[i], struct row, j);

			if (is_twin(row, other, run_time(scene, other->start_ns) - time_ns))
				return TRUE;
		}
	return FALSE;
}

static const TachoMark *find_mark(const TachoTimeline *timeline, const gchar *trace)
{
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		if (strcmp(tacho_timeline_string(timeline, mark->name), "added_trace") == 0 &&
		    strcmp(tacho_timeline_string(timeline, mark->text), trace) == 0)
			return mark;
	}
	return NULL;
}

static void check_rows(const struct scene *scene, const TachoTimeline *timeline, guint index,
		       const TachoMark *mark)
{
	const GArray *rows = scene->rows[index];

	if (scene->flags & RAW_TRACE && index + 1 == scene->n_traces)
		return;
	g_assert_cmpint(mark->first + mark->second, ==, rows->len);
	for (guint i = 0; i < rows->len; i++) {
		const struct row *row = &g_array_index(rows, struct row, i);
		gint64 time_ns = run_time(scene, row->start_ns);

		if (!has_slice(scene, timeline, row, time_ns) && !has_twin(scene, index, row))
			FUZZ_FAIL("%s of trace %u, at %" G_GINT64_FORMAT " ns, is not there",
				  row->name, index, time_ns);
	}
}

static void check_try(const struct scene *scene, guint index, const TachoMark *mark)
{
	g_autofree gchar *trace = trace_path(scene, index);
	g_autoptr(GError) error = NULL;
	guint64 n_added = 0, n_same = 0;

	if (tacho_run_try_trace(scene->run, trace, &n_added, &n_same, &error) != (mark != NULL))
		FUZZ_FAIL("trace %u: %s", index, error ? error->message : "would be taken");
	if (mark && index == 0) {
		g_assert_cmpint(mark->first, ==, n_added);
		g_assert_cmpint(mark->second, ==, n_same);
	}
}

static void check(const struct scene *scene, const TachoTimeline *timeline)
{
	gint64 n_slices = scene->own->len;
	guint n_left_out = 0;

	slice_promises_check(timeline);
	for (guint i = 0; i < scene->n_traces; i++) {
		const TachoMark *mark = find_mark(timeline, i ? "b" : "a");

		check_try(scene, i, mark);
		n_left_out += !mark;
		if (!mark)
			continue;
		n_slices += mark->first;
		check_rows(scene, timeline, i, mark);
	}
	g_assert_cmpint(timeline->slices.n, ==, n_slices);
	g_assert_true(n_left_out == 0 ||
		      tacho_timeline_find_problem(timeline, TACHO_PROBLEM_LEFT_OUT) ||
		      tacho_timeline_find_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE));
	for (guint i = 0; i < scene->own->len; i++) {
		const struct row *own = &g_array_index(scene->own, struct row, i);

		if (!has_slice(scene, timeline, own, own->start_ns))
			FUZZ_FAIL("%s of the run, at %" G_GINT64_FORMAT " ns, is not there",
				  own->name, own->start_ns);
	}
}

/* --- the target ------------------------------------------------------------------------------- */

static void begin(struct scene *scene, const uint8_t *data, size_t size)
{
	*scene = (struct scene){ .at = data, .end = data + size };
	scene->run = g_build_filename(fuzz_folder_path(), "run.tacho", NULL);
	scene->flags = take(scene);
	scene->n_traces = scene->flags & TWO_TRACES ? 2 : 1;
	scene->own = g_array_new(FALSE, FALSE, sizeof(struct row));
	scene->readings = g_array_new(FALSE, FALSE, sizeof(struct reading));
	for (guint i = 0; i < MAX_TRACES; i++)
		scene->rows[i] = g_array_new(FALSE, FALSE, sizeof(struct row));
}

static void release(struct scene *scene)
{
	g_array_unref(scene->own);
	g_array_unref(scene->readings);
	for (guint i = 0; i < MAX_TRACES; i++)
		g_array_unref(scene->rows[i]);
	run_builder_remove(scene->run);
	g_free(scene->run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;
	const TachoFilter filter = TACHO_FILTER_INIT;
	struct scene scene;

	begin(&scene, data, size);
	write_run(&scene);
	for (guint i = 0; i < scene.n_traces; i++)
		write_trace(&scene, i);
	timeline = tacho_run_open((const gchar *const *)&scene.run, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	check(&scene, timeline);
	foreign_use(timeline);
	every_view_use(timeline, &filter);
	release(&scene);
	return 0;
}
