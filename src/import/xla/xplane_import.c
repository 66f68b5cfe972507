/* xplane_import: XSpace, the profiles of TensorFlow, JAX and PyTorch/XLA (*.xplane.pb): GPUs, TPUs and hosts.
 *
 * (1) A file is one process of one rank. What planes, lines and events are, xla_lines.h says.
 * (2) A device's event was launched by the call with its correlation id. What a TPU does was launched by who
 *     launched the module it lies in; that, like all that one thread does for another, is told by context ids:
 *     "_pt" and "_p" at who gives, "_ct" and "_c" at who takes.
 * (3) Steps are events with "step_num", those of tacho's hook only where there are no others; else the first device's line "Steps"; else what has one "group_id".
 * (4) Where there are no devices, the host runs the HLO operations of XLA's programs itself: they are operations, or
 *     collectives, and tell the module that they are of.
 * (5) Times are picoseconds since their line's time, which is since the begin of the recording where the file
 *     tells that ("profile_start_time"). Begins and ends are rounded down to nanoseconds, so that what followed
 *     each other still does. */
#include <math.h>
#include <string.h>

#include "import/device_properties.h"
#include "import/import_format.h"
#include "trace/launch_index.h"
#include "import/read/json_scan.h"
#include "import/used_devices.h"
#include "import/xla/xla_lines.h"
#include "import/xla/xla_memory.h"
#include "import/xla/xla_modules.h"
#include "import/xla/xplane_args.h"
#include "import/xla/xplane_flows.h"
#include "import/xla/xplane_space.h"
#include "import/xla/xplane_steps.h"
#include "trace/slice_columns.h"

#define MIN_UNIX_NS                                                                                \
	(G_GINT64_CONSTANT(100000000) * 1000000000) /* 1973: times before it count from elsewhere */
#define PS_PER_NS 1000

enum {
	MAX_EVENT_BYTES = 16 * 1024 * 1024,
	MAX_UNPACKED_BYTES = 256 * 1024 * 1024,
	MAX_LANES = 64,
};

struct xplane_file {
	struct import *import;
	TachoTimeline *timeline;
	const gchar *path;
	wire_walk *walk;
	struct proto_arena arena;
	const struct xplane_space *space; /* the reader's */
	guint32 foreign;		  /* index of the reader of args */
	guint32 process;		  /* row, TACHO_NONE: none yet */
	guint32 aside;			  /* track of what is told of all, TACHO_NONE: none yet */
	gint64 base_ns;
	struct xplane_flows *flows;
	struct xplane_steps *steps;
	struct xla_memory *memory;
	struct xla_modules *modules; /* NULL: devices run them */
	guint64 n_impossible, n_summed, n_bad, bad_offset;
	gboolean is_out_of_memory;
};

/* The line that is being read. */
struct xplane_reading {
	struct xplane_file *file;
	const struct xplane_plane *plane;
	const struct xplane_line *line;
	enum xla_line kind;
	gint32 device;
	gint64 base_ns;
	guint32 track; /* TACHO_NONE: no event so far */
	guint32 lanes[MAX_LANES];
	gint64 lane_end_ns[MAX_LANES];
	guint n_lanes;
};

/* --- what planes and lines are -------------------------------------------------------------- */

static const gchar *text_of(const struct xplane_file *file, guint32 string)
{
	return tacho_timeline_string(file->timeline, string);
}

static gboolean has_streams(const struct xplane_file *file, const struct xplane_plane *plane)
{
	for (guint i = 0; i < plane->lines->len; i++)
		if (xla_is_stream(
			    text_of(file, g_array_index(plane->lines, struct xplane_line, i).name)))
			return TRUE;
	return FALSE;
}

/* --- what events are ------------------------------------------------------------------------ */

static TachoSliceKind kind_of_event(const struct xplane_reading *reading, const gchar *name,
				    const gchar *category, gint64 duration_ns,
				    const struct xplane_stats *stats)
{
	struct xla_event event = {
		.name = name,
		.category = category,
		.has_duration = duration_ns != 0,
		.has_kernel = xplane_stats_have(stats, XPLANE_STAT_KERNEL),
		.has_memcpy = xplane_stats_have(stats, XPLANE_STAT_MEMCPY),
		.has_memset = xplane_stats_have(stats, XPLANE_STAT_MEMSET),
		.has_correlation = xplane_stats_have(stats, XPLANE_STAT_CORRELATION),
		.has_step = xplane_stats_have(stats, XPLANE_STAT_STEP),
		.is_host_op =
			reading->file->modules && xplane_stats_have(stats, XPLANE_STAT_HLO_OP),
	};

	return xla_kind_of(reading->kind, &event);
}

/* --- tracks --------------------------------------------------------------------------------- */

/* The process, made when the first event has been read. */
static guint32 file_process(struct xplane_file *file)
{
	TachoProcess process = {
		.host = file->space->host ?: tacho_timeline_intern(file->timeline, "unknown", -1),
		.rank = import_rank_of_name(file->path),
		.local_rank = -1,
		.world_size = -1,
		.end = TACHO_END_UNKNOWN,
		.path = (gchar *)file->path
	};

	if (file->process == TACHO_NONE)
		file->process =
			import_add_process(file->import, &process, import_new_file(file->import));
	return file->process;
}

static guint32 add_track(struct xplane_reading *reading)
{
	const gchar *name = text_of(reading->file, reading->line->name);
	TachoTrackKind kind = TACHO_TRACK_STREAM;
	guint32 track;

	if (reading->kind == XLA_LINE_THREAD)
		kind = TACHO_TRACK_THREAD;
	else if (reading->kind == XLA_LINE_OTHER)
		kind = TACHO_TRACK_ASYNC;
	track = import_add_track(reading->file->import, kind, file_process(reading->file),
				 (guint32)reading->line->id, name);
	if (kind == TACHO_TRACK_STREAM)
		g_array_index(reading->file->timeline->tracks, TachoTrack, track).device =
			reading->device;
	return track;
}

/* What is asynchronous overlaps: it goes to the first lane that is free. */
static guint32 find_lane(struct xplane_reading *reading, gint64 start_ns, gint64 duration_ns)
{
	guint lane = 0, earliest = 0;

	while (lane < reading->n_lanes && reading->lane_end_ns[lane] > start_ns) {
		if (reading->lane_end_ns[lane] < reading->lane_end_ns[earliest])
			earliest = lane;
		lane++;
	}
	if (lane == MAX_LANES)
		lane = earliest;
	if (lane == reading->n_lanes)
		reading->lanes[reading->n_lanes++] = add_track(reading);
	reading->lane_end_ns[lane] = start_ns + duration_ns;
	return reading->lanes[lane];
}

static guint32 find_track(struct xplane_reading *reading, gint64 start_ns, gint64 duration_ns)
{
	if (reading->kind == XLA_LINE_ASYNC_OPS)
		return find_lane(reading, start_ns, duration_ns);
	if (reading->track == TACHO_NONE)
		reading->track = add_track(reading);
	return reading->track;
}

/* --- memory --------------------------------------------------------------------------------- */

/* TRUE: it was such an event, and is no slice. */
static gboolean take_memory(struct xplane_reading *reading, const gchar *name,
			    const struct xplane_stats *stats, gint64 start_ns)
{
	struct xla_memory_event event = {
		.time_ns = start_ns,
		.address = stats->numbers[XPLANE_STAT_ADDRESS],
		.bytes = stats->numbers[XPLANE_STAT_ALLOCATION],
		.allocated_bytes = stats->numbers[XPLANE_STAT_ALLOCATED],
		.reserved_bytes = stats->numbers[XPLANE_STAT_RESERVED],
		.requested_bytes = stats->numbers[XPLANE_STAT_REQUESTED],
		.most_allocated_bytes = stats->numbers[XPLANE_STAT_MOST_ALLOCATED],
		.fragmentation = xplane_stats_have(stats, XPLANE_STAT_FRAGMENTATION)
					 ? stats->fragmentation
					 : NAN,
		.allocator = stats->texts[XPLANE_STAT_ALLOCATOR],
	};

	if (!xplane_stats_have(stats, XPLANE_STAT_ADDRESS) || reading->kind != XLA_LINE_THREAD ||
	    !xla_memory_is_event(name, &event.is_allocation))
		return FALSE;
	xla_memory_add(reading->file->memory, &event, file_process(reading->file),
		       find_track(reading, start_ns, 0));
	return TRUE;
}

/* --- events --------------------------------------------------------------------------------- */

/* (5). TRUE: it had to be mended. */
static gboolean find_times(const struct xplane_reading *reading, const Tacho__Xplane__XEvent *event,
			   gint64 *ret_start_ns, gint64 *ret_duration_ns)
{
	gint64 end_ps, start_ns = 0;

	*ret_start_ns = reading->base_ns;
	*ret_duration_ns = 0;
	if (event->offset_ps < 0 ||
	    __builtin_add_overflow(reading->base_ns, event->offset_ps / PS_PER_NS, &start_ns))
		return TRUE;
	*ret_start_ns = start_ns;
	if (event->duration_ps < 0 ||
	    __builtin_add_overflow(event->offset_ps, event->duration_ps, &end_ps))
		return TRUE;
	*ret_duration_ns = end_ps / PS_PER_NS - event->offset_ps / PS_PER_NS;
	return FALSE;
}

static guint32 add_slice(struct xplane_reading *reading, TachoSliceKind kind, guint32 name,
			 gint64 start_ns, gint64 duration_ns, guint8 flags, guint64 offset)
{
	struct xplane_file *file = reading->file;
	guint32 track = find_track(reading, start_ns, duration_ns);

	if (!slice_columns_grow(&file->timeline->slices)) {
		file->is_out_of_memory = TRUE;
		return TACHO_NONE;
	}
	return tacho_timeline_add_slice(file->timeline, kind, track, name, start_ns, duration_ns,
					flags, tacho_source_foreign_handle(file->foreign, offset));
}

/* The region in `row` is one of step `number`. */
static void note_region(struct xplane_file *file, guint32 row, gint64 number)
{
	const TachoSlices *slices = &file->timeline->slices;
	gint64 start_ns = slices->start_ns[row], duration_ns = slices->duration_ns[row];

	if (strcmp(text_of(file, slices->name[row]), XPLANE_OWN_STEP) == 0)
		xplane_steps_add(file->steps, XPLANE_STEPS_OWN, number, start_ns, duration_ns);
	else
		xplane_steps_add_annotated(file->steps, slices->track[row], number, start_ns,
					   duration_ns);
}

/* What others will want to know of the slice in `row`. */
static void note_slice(struct xplane_reading *reading, guint32 row,
		       const struct xplane_stats *stats)
{
	struct xplane_file *file = reading->file;
	const TachoSlices *slices = &file->timeline->slices;
	gint64 start_ns = slices->start_ns[row], duration_ns = slices->duration_ns[row];

	xplane_flows_note(file->flows, row, slices->kind[row], start_ns, stats);
	if (file->modules && reading->kind == XLA_LINE_THREAD)
		xla_modules_note(file->modules, stats, start_ns, duration_ns);
	if (reading->kind == XLA_LINE_MODULES)
		xplane_flows_add_module(file->flows, row, start_ns, duration_ns);
	else if (reading->kind == XLA_LINE_OPS || reading->kind == XLA_LINE_ASYNC_OPS)
		xplane_flows_add_work(file->flows, row, start_ns);
	if (reading->kind == XLA_LINE_THREAD && xplane_stats_have(stats, XPLANE_STAT_STEP))
		note_region(file, row, (gint64)stats->numbers[XPLANE_STAT_STEP]);
	else if (reading->kind == XLA_LINE_STEPS)
		xplane_steps_add(file->steps, XPLANE_STEPS_LINE,
				 g_ascii_strtoll(text_of(file, slices->name[row]), NULL, 10),
				 start_ns, duration_ns);
	else if (xplane_stats_have(stats, XPLANE_STAT_GROUP))
		xplane_steps_add(file->steps, XPLANE_STEPS_GROUPED,
				 (gint64)stats->numbers[XPLANE_STAT_GROUP], start_ns, duration_ns);
}

static guint32 name_of_event(struct xplane_reading *reading, const struct xplane_kind *kind,
			     gint64 id)
{
	g_autofree gchar *unnamed = NULL;

	if (kind && kind->name)
		return kind->name;
	unnamed = g_strdup_printf("event %" G_GINT64_FORMAT, id);
	return tacho_timeline_intern(reading->file->timeline, unnamed, -1);
}

static void read_event(struct xplane_reading *reading, const Tacho__Xplane__XEvent *event,
		       guint64 offset)
{
	struct xplane_file *file = reading->file;
	const struct xplane_kind *kind = xplane_find_kind(reading->plane, event->metadata_id);
	guint32 name = name_of_event(reading, kind, event->metadata_id), row;
	const gchar *text = text_of(file, name);
	struct xplane_stats stats = { 0 };
	gint64 start_ns, duration_ns;
	gboolean is_mended;

	if (event->has_num_occurrences && !event->has_offset_ps && !event->has_duration_ps) {
		file->n_summed++;
		return;
	}
	xplane_stats_add(&stats, reading->plane, event->stats, event->n_stats, file->timeline);
	is_mended = find_times(reading, event, &start_ns, &duration_ns);
	file->n_impossible += is_mended;
	if (take_memory(reading, text, &stats, start_ns))
		return;
	row = add_slice(reading,
			kind_of_event(reading, text, kind ? text_of(file, kind->category) : "",
				      duration_ns, &stats),
			name, start_ns, duration_ns, is_mended ? TACHO_SLICE_REPAIRED : 0, offset);
	if (row != TACHO_NONE)
		note_slice(reading, row, &stats);
}

static void note_bad(struct xplane_file *file, guint64 offset)
{
	if (file->n_bad++ == 0)
		file->bad_offset = offset;
}

static void read_line(struct xplane_reading *reading)
{
	struct xplane_file *file = reading->file;
	const Tacho__Xplane__XEvent *event;
	struct wire_field field;

	if (!wire_walk_seek(file->walk, reading->line->offset) ||
	    wire_walk_next(file->walk, &field) != WIRE_FIELD || !wire_walk_enter(file->walk))
		return;
	while (!file->is_out_of_memory && wire_walk_next(file->walk, &field) == WIRE_FIELD) {
		if (field.number != XLINE_EVENTS)
			continue;
		event = NULL;
		if (wire_walk_load(file->walk, &field, MAX_EVENT_BYTES))
			event = proto_arena_unpack(&file->arena, &tacho__xplane__xevent__descriptor,
						   field.bytes, (gsize)field.n_bytes);
		if (event)
			read_event(reading, event, field.offset);
		else if (!wire_walk_problem(file->walk)) /* which has been told */
			note_bad(file, field.offset);
	}
	if (file->import->progress)
		file->import->progress(wire_walk_done(file->walk), file->import->progress_data);
}

static void read_plane(struct xplane_file *file, const struct xplane_plane *plane)
{
	const gchar *name = text_of(file, plane->name);
	enum xla_plane kind = xla_plane_of(name, has_streams(file, plane));

	for (guint i = 0; i < plane->lines->len && !file->is_out_of_memory; i++) {
		const struct xplane_line *line =
			&g_array_index(plane->lines, struct xplane_line, i);
		struct xplane_reading reading = {
			.file = file,
			.plane = plane,
			.line = line,
			.kind = xla_line_of(kind, text_of(file, line->name)),
			.device = xla_device_of(name),
			.base_ns = line->timestamp_ns,
			.track = TACHO_NONE,
		};

		if (line->timestamp_ns < MIN_UNIX_NS &&
		    __builtin_add_overflow(file->base_ns, line->timestamp_ns, &reading.base_ns))
			reading.base_ns = file->base_ns;
		if (line->n_events)
			read_line(&reading);
	}
	xplane_flows_end_plane(file->flows);
	xplane_steps_end_plane(file->steps);
}

/* --- a file --------------------------------------------------------------------------------- */

static void add_mark(struct xplane_file *file, gint64 time_ns, guint32 name, const gchar *text)
{
	TachoMark mark = { .time_ns = time_ns, .name = name };

	if (file->aside == TACHO_NONE)
		file->aside = import_add_track(file->import, TACHO_TRACK_ASYNC, file->process, 0,
					       "profiler");
	mark.track = file->aside;
	mark.text = tacho_timeline_intern(file->timeline, text, -1);
	g_array_append_val(file->timeline->marks, mark);
}

/* What planes, and the profiler, tell of all. */
/* What a plane tells of its device: MEMBER(stat, field of TachoDevice, its unit in that of the field); names are those of
 * XLA's tsl/profiler/utils/xplane_schema.cc. */
#define DEVICE_STATS(STAT)                                                                         \
	STAT("core_count", n_multiprocessors, 1)                                                   \
	STAT("clock_rate", clock_hz, 1000)                                                         \
	STAT("memory_size", memory_bytes, 1)                                                       \
	STAT("memory_bandwidth", peak_bytes_per_s, 1)                                              \
	STAT("peak_hbm_bw_gigabytes_per_second", peak_bytes_per_s, 1e9)                            \
	STAT("peak_teraflops_per_second", peak_flops_per_s, 1e12)

static void read_device_stat(struct xplane_file *file, struct json_scan *scan,
			     const struct json_text *key, TachoDevice *device, gdouble *versions)
{
	struct json_text text;
	gdouble value;

	if (JSON_TEXT_IS(key, "device_type_string") && json_peek(scan) == '"') {
		g_autofree gchar *name = NULL;

		if (!json_string(scan, &text))
			return;
		name = json_text_dup(&text);
		device->name = tacho_timeline_intern(file->timeline, name, -1);
		return;
	}
	if (json_peek(scan) == '{' || json_peek(scan) == '[') {
		json_skip(scan);
		return;
	}
	if (!json_number(scan, &value) || !(value >= 0 && value < 0x1p62))
		return;
#define SET_STAT(name, field, unit)                                                                \
	if (JSON_TEXT_IS(key, name) &&                                                             \
	    value * (unit) < (sizeof(device->field) > 4 ? 0x1p62 : 0x1p31))                        \
		device->field = (__typeof__(device->field))(value * (unit));
	DEVICE_STATS(SET_STAT)
#undef SET_STAT
	if (JSON_TEXT_IS(key, "compute_cap_major"))
		versions[0] = value;
	else if (JSON_TEXT_IS(key, "compute_cap_minor"))
		versions[1] = value;
}

static void add_device(struct xplane_file *file, const struct xplane_plane *plane)
{
	gdouble versions[] = { -1, -1 };
	const gchar *name = tacho_timeline_string(file->timeline, plane->name);
	TachoDevice device = { .number = xla_device_of(name) };
	struct json_scan scan;
	g_autofree gchar *copy = NULL;
	struct json_text key;

	copy = json_scan_copy(&scan, plane->stats_json);
	if (!g_str_has_prefix(name, "/device:"))
		return;
	for (gboolean is_in = json_enter(&scan, '{'); is_in && json_member(&scan, &key);)
		read_device_stat(file, &scan, &key, &device, versions);
	device.architecture =
		device_architecture(file->timeline, (gint64)versions[0], (gint64)versions[1]);
	if (device.name || device.architecture || device.n_multiprocessors || device.memory_bytes ||
	    device.clock_hz || device.peak_bytes_per_s || device.peak_flops_per_s)
		used_devices_add(file->timeline, file->process, &device);
}

static void add_marks(struct xplane_file *file, gint64 time_ns)
{
	const struct xplane_space *space = file->space;

	for (guint i = 0; i < space->planes->len; i++) {
		const struct xplane_plane *plane = xplane_space_plane(space, i);

		if (!plane->stats_json)
			continue;
		add_mark(file, time_ns, plane->name, plane->stats_json);
		add_device(file, plane);
	}
	if (space->errors)
		add_mark(file, time_ns, tacho_timeline_intern(file->timeline, "errors", -1),
			 text_of(file, space->errors));
	if (space->warnings)
		add_mark(file, time_ns, tacho_timeline_intern(file->timeline, "warnings", -1),
			 text_of(file, space->warnings));
}

static gint64 first_time(const TachoTimeline *timeline, guint32 first_row)
{
	gint64 first_ns = G_MAXINT64;

	for (guint32 row = first_row; row < timeline->slices.n; row++)
		first_ns = MIN(first_ns, timeline->slices.start_ns[row]);
	return first_ns;
}

static void report(const struct xplane_file *file)
{
	const struct xplane_space *space = file->space;
	TachoTimeline *timeline = file->timeline;

	xplane_space_report(space, timeline);
	if (file->n_bad)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, file->n_bad,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": an event that cannot be read",
					   file->path, file->bad_offset);
	if (file->n_summed)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, file->n_summed,
					   "%s: events that were summed up and have no times",
					   file->path);
	if (space->n_unknown)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, space->n_unknown,
					   "%s: unknown fields of planes and lines", file->path);
	if (space->n_dropped)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, space->n_dropped,
					   "%s: names and lines that cannot be read", file->path);
	if (file->n_impossible)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME, file->n_impossible,
			"%s: times before the begin of their line, or negative times", file->path);
}

static gboolean has_devices(const struct xplane_file *file)
{
	for (guint i = 0; i < file->space->planes->len; i++) {
		const struct xplane_plane *plane = xplane_space_plane(file->space, i);
		enum xla_plane kind =
			xla_plane_of(text_of(file, plane->name), has_streams(file, plane));

		if ((kind == XLA_PLANE_STREAMS || kind == XLA_PLANE_CORE) && plane->lines->len)
			return TRUE;
	}
	return FALSE;
}

static void read_events(struct xplane_file *file)
{
	guint32 first_row = file->timeline->slices.n;
	gint64 first_ns;

	file->base_ns = file->space->start_unix_ns;
	file->flows = xplane_flows_new(file->timeline);
	file->steps = xplane_steps_new();
	file->memory = xla_memory_new(file->import);
	file->modules = has_devices(file) ? NULL : xla_modules_new();
	for (guint i = 0; i < file->space->planes->len; i++)
		read_plane(file, xplane_space_plane(file->space, i));
	xla_memory_finish(file->memory);
	xplane_flows_link(file->flows);
	first_ns = first_time(file->timeline, first_row);
	if (first_ns != G_MAXINT64) { /* then there is a process, too */
		add_marks(file, first_ns);
		xplane_steps_mark(file->steps, file->import, file->process);
		if (file->modules)
			xla_modules_add(file->modules, file->import, file->process);
	}
	report(file);
	xplane_flows_free(file->flows);
	xplane_steps_free(file->steps);
	xla_memory_free(file->memory);
	xla_modules_free(file->modules);
}

static gboolean has_events(const struct xplane_space *space)
{
	for (guint i = 0; i < space->planes->len; i++) {
		const GArray *lines = xplane_space_plane(space, i)->lines;

		for (guint k = 0; k < lines->len; k++)
			if (g_array_index(lines, struct xplane_line, k).n_events)
				return TRUE;
	}
	return FALSE;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	struct xplane_file file = {
		.import = import,
		.timeline = import->timeline,
		.path = path,
		.process = TACHO_NONE,
		.aside = TACHO_NONE,
	};
	struct foreign_reader *reader;
	struct xplane_space space;

	(void)data;
	file.walk = wire_walk_open(path, error);
	if (!file.walk)
		return FALSE;
	proto_arena_init(&file.arena, MAX_UNPACKED_BYTES);
	xplane_space_read(&space, file.walk, &file.arena, import->timeline);
	if (has_events(&space)) {
		reader = xplane_args_new(path, &space, import->timeline);
		file.space = xplane_args_borrow_space(reader);
		file.foreign = tacho_source_take_foreign(import->timeline->source, reader);
		if (file.foreign < SOURCE_MAX_FOREIGN)
			read_events(&file);
	} else {
		xplane_space_report(&space, import->timeline);
		xplane_space_release(&space);
	}
	proto_arena_release(&file.arena);
	wire_walk_close(file.walk);
	if (!file.is_out_of_memory)
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_MEMORY,
		    "%s: there is not enough memory for the trace's events", path);
	return FALSE;
}

/* --- which files ---------------------------------------------------------------------------- */

static gboolean is_plane_name(const guint8 *bytes, gsize n)
{
	static const gchar *const names[] = { "/host:", "/device:", "Task Environment", "#Chip" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (n >= strlen(names[i]) && memcmp(bytes, names[i], strlen(names[i])) == 0)
			return TRUE;
	return FALSE;
}

/* Its first field is a plane, among the first fields of which is such a name. */
static gboolean sniff_xplane(const struct sniff_input *input)
{
	struct wire_cursor cursor = wire_cursor_of(input->head, input->n_head);
	struct wire_field field;
	guint64 n;

	if (input->n_head < 4 || *cursor.at++ != (XSPACE_PLANES << 3 | WIRE_BYTES) ||
	    !wire_cursor_varint(&cursor, &n))
		return FALSE;
	cursor = wire_cursor_of(cursor.at, MIN(n, (gsize)(cursor.end - cursor.at)));
	while (wire_cursor_next(&cursor, &field) == WIRE_FIELD && field.number <= XPLANE_NAME)
		if (field.number == XPLANE_NAME && field.type == WIRE_BYTES)
			return is_plane_name(field.bytes, (gsize)field.n_bytes);
	return FALSE;
}

const struct import_format import_xplane = {
	.name = "xplane",
	.title = "XSpace: profiles of TensorFlow, JAX and PyTorch/XLA",
	.files = "*.xplane.pb, *.xplane.pb.gz",
	.sniff = sniff_xplane,
	.read_file = read_file,
};
