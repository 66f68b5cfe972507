/* fuzz_stacks: whatever stacks samples saw (STACK records), beside operations, and every view of what they make.
 *
 * The bytes are commands: a thread's stack, an operation, a leap of time. Which functions a thread ran, and for how long,
 * must be what a plain reading of the same commands says: a stack is all that stood, from the middle between the last sight of
 * the one before it and the first of it, until the next. */
#include <string.h>

#include <tacho/import.h>

#include "every_view.h"
#include "foreign_traces.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"
#include "run_builder.h"
#include "slice_promises.h"

enum {
	FIRST_STAMP = 1000,
	FIRST_TID = 10,
	N_THREADS = 4,
	NO_CLASS = 77,
	MAX_COMMANDS = 300,
};

/* A class, and what stands before and behind the line in the name of a slice. */
static const struct {
	enum trace_kind kind;
	const gchar *class, *before, *own_line, *behind;
} functions[] = {
	{ TRACE_KIND_FUNCTION, "train.py(10): main", "train.py(", "10", "): main" },
	{ TRACE_KIND_FUNCTION, "a(b).py(20): Net.step", "a(b).py(", "20", "): Net.step" },
	{ TRACE_KIND_FUNCTION, "/usr/lib/python3/dist-packages/torch/x.py(5): f", "torch/x.py(",
	  "5", "): f" },
	{ TRACE_KIND_FUNCTION, "/opt/lib/python3.11/json/tool.py(3): f", "json/tool.py(", "3",
	  "): f" },
	{ TRACE_KIND_FUNCTION, "<string>(1): <module>", "<string>(", "1", "): <module>" },
	{ TRACE_KIND_FUNCTION, "[gc]", "[gc]", NULL, "" },
	{ TRACE_KIND_OP, "aten::mm", "[unknown]", NULL, "" },
};

struct plain_thread {
	gboolean is_known, is_waiting, is_seen;
	GArray *frames; /* struct record_frame: the class's place in `functions` */
	gint64 since_ns, seen_ns;
	GHashTable *ns; /* names of a stack, a line each -> gint64 */
};

struct scene {
	const guint8 *at, *end;
	struct run_builder *run;
	guint32 classes[G_N_ELEMENTS(functions)], stack;
	guint64 stamp;
	struct plain_thread threads[N_THREADS];
};

static guint8 take(struct scene *scene)
{
	return scene->at < scene->end ? *scene->at++ : 0;
}

/* --- the plain reading ------------------------------------------------------------------------ */

static gchar *frame_name(struct record_frame frame)
{
	if (frame.function >= G_N_ELEMENTS(functions))
		return g_strdup("[unknown]");
	if (!functions[frame.function].own_line)
		return g_strdup(functions[frame.function].before);
	if (frame.line)
		return g_strdup_printf("%s%u%s", functions[frame.function].before, frame.line,
				       functions[frame.function].behind);
	return g_strconcat(functions[frame.function].before, functions[frame.function].own_line,
			   functions[frame.function].behind, NULL);
}

static void add_ns(GHashTable *ns, const gchar *stack, gint64 more_ns)
{
	gint64 *sum = g_hash_table_lookup(ns, stack);

	if (more_ns == 0)
		return;
	if (!sum) {
		sum = g_new0(gint64, 1);
		g_hash_table_insert(ns, g_strdup(stack), sum);
	}
	*sum += more_ns;
}

static void end_stack(struct plain_thread *thread, gint64 time_ns)
{
	g_autoptr(GString) stack = g_string_new(NULL);

	for (guint i = 0; i < thread->frames->len; i++) {
		g_autofree gchar *name =
			frame_name(g_array_index(thread->frames, struct record_frame, i));

		g_string_append_printf(stack, "%s\n", name);
	}
	if (thread->is_waiting)
		g_string_append(stack, "[waiting]\n");
	if (thread->frames->len)
		add_ns(thread->ns, stack->str, time_ns - thread->since_ns);
	thread->since_ns = time_ns;
}

static void read_stack(struct plain_thread *thread, const struct record_stack *record,
		       const struct record_frame *frames)
{
	gint64 time_ns = (gint64)record->header.stamp - FIRST_STAMP;
	gint64 change_ns = time_ns, before_ns = (gint64)record->before - FIRST_STAMP;
	gboolean is_known = record->n_same <= (thread->is_known ? thread->frames->len : 0) &&
			    record->n_same + record->n_frames <= TRACE_MAX_FRAMES;

	if (record->before && record->before <= record->header.stamp)
		change_ns = before_ns + (time_ns - before_ns) / 2;
	if (thread->is_seen)
		change_ns = MAX(change_ns, thread->since_ns);
	end_stack(thread, change_ns);
	g_array_set_size(thread->frames, is_known ? record->n_same : 0);
	if (is_known && record->n_frames)
		g_array_append_vals(thread->frames, frames, record->n_frames);
	thread->is_known = is_known;
	thread->is_waiting = thread->frames->len && record->state == TRACE_THREAD_WAITING;
	thread->is_seen = TRUE;
	thread->seen_ns = time_ns;
}

/* --- commands --------------------------------------------------------------------------------- */

static guint take_many(struct scene *scene, guint bits, guint factor)
{
	guint8 byte = take(scene);
	guint n = byte & ((1u << bits) - 1);

	return byte >> bits & 1 ? MIN(n * factor, TRACE_MAX_FRAMES) : n;
}

/* 0: never; later than the record: none; else so long before it. */
static guint64 take_before(struct scene *scene)
{
	guint64 ago = take(scene);

	if (ago < 2)
		return ago ? G_MAXUINT64 : 0;
	return scene->stamp - MIN((ago - 2) * (ago - 2), scene->stamp);
}

static void write_stack(struct scene *scene, guint8 command)
{
	struct plain_thread *thread = &scene->threads[command >> 3 & 3];
	struct record_frame frames[TRACE_MAX_FRAMES], *written;
	guint64 before = take_before(scene);
	guint n_same = take_many(scene, 4, 68), n_frames = take_many(scene, 4, 68);
	struct record_stack *record = run_builder_record(
		scene->run, scene->stack, scene->stamp,
		(guint32)(sizeof(*record) + n_frames * sizeof(struct record_frame)));

	record->before = before;
	record->tid = FIRST_TID + (command >> 3 & 3);
	record->state = command >> 5 & 3;
	record->n_same = n_same;
	record->n_frames = n_frames;
	written = (struct record_frame *)(record + 1);
	for (guint i = 0; i < n_frames; i++) {
		guint8 byte = i < 16 ? take(scene) : (guint8)i;

		frames[i] = (struct record_frame){ byte & 7, byte >> 3 };
		written[i] = (struct record_frame){ NO_CLASS, byte >> 3 };
		if (frames[i].function < G_N_ELEMENTS(functions))
			written[i].function = scene->classes[frames[i].function];
	}
	read_stack(thread, record, frames);
}

/* Stacks are the sampler's stream, which comes behind that of the operations: those are written at once. */
static void write_ops(struct scene *scene)
{
	guint32 op = run_builder_class(scene->run, TRACE_KIND_OP, "aten::add");
	guint n = take(scene) & 15;
	guint64 stamp = FIRST_STAMP;

	run_builder_stream(scene->run, FIRST_TID);
	run_builder_op(scene->run, op, FIRST_STAMP, FIRST_STAMP, -1);
	for (guint i = 0; i < n; i++) {
		guint8 byte = take(scene);

		stamp += 16u * (byte & 15);
		run_builder_op(scene->run, op, stamp, stamp + 16u * (byte >> 4), -1);
	}
}

static void write_stacks(struct scene *scene)
{
	scene->stack = run_builder_class(scene->run, TRACE_KIND_STACK, "python");
	for (guint i = 0; i < G_N_ELEMENTS(functions); i++)
		scene->classes[i] =
			run_builder_class(scene->run, functions[i].kind, functions[i].class);
	run_builder_stream(scene->run, FIRST_TID + N_THREADS);
	for (guint i = 0; i < MAX_COMMANDS && scene->at < scene->end; i++) {
		guint8 command = take(scene);

		switch (command & 7) {
		case 0:
			scene->stamp += (guint64)take(scene) << (command >> 3);
			break;
		case 1:
			run_builder_next_file(scene->run);
			break;
		default:
			scene->stamp += 10 * ((command & 7) - 2u);
			write_stack(scene, command);
		}
	}
}

/* --- comparing -------------------------------------------------------------------------------- */

static void add_slice(const TachoTimeline *timeline, guint32 slice, GHashTable *ns,
		      const gint64 *own_ns)
{
	GString *stack = g_string_new(NULL);

	for (guint32 i = slice; i != TACHO_NONE; i = timeline->slices.parent[i]) {
		g_string_prepend_c(stack, '\n');
		g_string_prepend(stack, tacho_slice_name(timeline, i));
	}
	add_ns(ns, stack->str, own_ns[slice]);
	g_string_free(stack, TRUE);
}

static void check_thread(const TachoTimeline *timeline, const TachoTrack *track,
			 const gint64 *own_ns, const struct plain_thread *plain)
{
	g_autoptr(GHashTable) ns = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	GHashTableIter entries;
	gpointer stack, sum;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (own_ns[i] > 0) /* of deep stacks, few are innermost */
			add_slice(timeline, i, ns, own_ns);
	if (g_hash_table_size(ns) != g_hash_table_size(plain->ns))
		FUZZ_FAIL("thread %u ran %u stacks, not %u", track->tid,
			  g_hash_table_size(plain->ns), g_hash_table_size(ns));
	g_hash_table_iter_init(&entries, plain->ns);
	while (g_hash_table_iter_next(&entries, &stack, &sum)) {
		const gint64 *found = g_hash_table_lookup(ns, stack);

		if (!found || *found != *(const gint64 *)sum)
			FUZZ_FAIL("thread %u ran\n%sfor %" G_GINT64_FORMAT
				  " ns, not %" G_GINT64_FORMAT,
				  track->tid, (const gchar *)stack, *(const gint64 *)sum,
				  found ? *found : 0);
	}
}

static void check_threads(const TachoTimeline *timeline, const struct scene *scene)
{
	g_autofree gint64 *own_ns = g_new0(gint64, timeline->slices.n + 1);
	guint n_sampled = 0, n_plain = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		own_ns[i] += timeline->slices.duration_ns[i];
		if (timeline->slices.parent[i] != TACHO_NONE)
			own_ns[timeline->slices.parent[i]] -= timeline->slices.duration_ns[i];
	}
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind != TACHO_TRACK_SAMPLED)
			continue;
		n_sampled++;
		g_assert_cmpuint(track->tid - FIRST_TID, <, N_THREADS);
		check_thread(timeline, track, own_ns, &scene->threads[track->tid - FIRST_TID]);
	}
	for (guint i = 0; i < N_THREADS; i++)
		n_plain += g_hash_table_size(scene->threads[i].ns) > 0;
	g_assert_cmpuint(n_sampled, ==, n_plain);
}

/* --- the target ------------------------------------------------------------------------------- */

static void begin(struct scene *scene, const uint8_t *data, size_t size)
{
	const struct run_builder_process process = { .pid = 33 };

	*scene = (struct scene){ .at = data, .end = data + size, .stamp = FIRST_STAMP };
	for (guint i = 0; i < N_THREADS; i++) {
		scene->threads[i].frames = g_array_new(FALSE, FALSE, sizeof(struct record_frame));
		scene->threads[i].ns =
			g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	}
	scene->run = run_builder_new(fuzz_folder_path(), &process);
}

static void release(struct scene *scene)
{
	g_autofree gchar *trace = g_build_filename(fuzz_folder_path(), "h0-33", NULL);

	for (guint i = 0; i < N_THREADS; i++) {
		g_array_unref(scene->threads[i].frames);
		g_hash_table_unref(scene->threads[i].ns);
	}
	run_builder_remove(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	g_autoptr(GError) error = NULL;
	const gchar *path = fuzz_folder_path();
	TachoFilter filter = TACHO_FILTER_INIT;
	struct scene scene;
	gint64 end_ns;

	begin(&scene, data, size);
	write_ops(&scene);
	write_stacks(&scene);
	run_builder_end(scene.run);
	timeline = tacho_run_open(&path, 1, NULL, NULL, &error);
	g_assert_no_error(error);
	end_ns = tacho_timeline_process(timeline, 0)->end_ns;
	for (guint i = 0; i < N_THREADS; i++)
		end_stack(&scene.threads[i],
			  MAX(end_ns, MAX(scene.threads[i].since_ns, scene.threads[i].seen_ns)));
	slice_promises_check(timeline);
	check_threads(timeline, &scene);
	foreign_use(timeline);
	filter.is_whole = TRUE;
	every_view_use(timeline, &filter);
	release(&scene);
	return 0;
}
