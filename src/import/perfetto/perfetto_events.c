#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/perfetto/perfetto_file.h"
#include "import/rocm/rocm_events.h"

enum {
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,

	MAX_MARK_TEXT = 4096,
};

struct event {
	struct wire_cursor bytes;
	guint64 type, track;
	guint32 name, category; /* string ids; 0: none */
	gboolean has_value;
	gdouble value;
	GArray *flows, *values, *value_tracks; /* guint64, gdouble, guint64 */
};

static void add_fixed(GArray *numbers, const struct wire_field *field)
{
	guint64 number;

	if (field->type != WIRE_BYTES) {
		g_array_append_val(numbers, field->value);
		return;
	}
	for (guint64 i = 0; i + sizeof(number) <= field->n_bytes; i += sizeof(number)) {
		memcpy(&number, field->bytes + i, sizeof(number));
		g_array_append_val(numbers, number);
	}
}

static void find_interned(const struct perfetto_generation *names, enum perfetto_names kind,
			  guint64 iid, guint32 *ret_text)
{
	if (!*ret_text)
		perfetto_generation_find(names, kind, iid, ret_text);
}

static void read_field(struct perfetto_file *file, const struct perfetto_generation *names,
		       const struct wire_field *field, struct event *event)
{
	g_autoptr(GArray) iids = NULL;

	switch (field->number) {
	case 3:
		iids = g_array_new(FALSE, FALSE, sizeof(guint64));
		perfetto_add_numbers(iids, field);
		if (iids->len)
			find_interned(names, PERFETTO_CATEGORIES, g_array_index(iids, guint64, 0),
				      &event->category);
		break;
	case 22:
		if (field->type == WIRE_BYTES && !event->category)
			event->category = perfetto_intern(file, field);
		break;
	case 9:
		event->type = field->value;
		break;
	case 10:
		find_interned(names, PERFETTO_EVENT_NAMES, field->value, &event->name);
		break;
	case 23:
		if (field->type == WIRE_BYTES)
			event->name = perfetto_intern(file, field);
		break;
	case 11:
		event->track = field->value;
		break;
	case 30:
		event->has_value = TRUE;
		event->value = (gdouble)wire_signed(field);
		break;
	case 44:
		event->has_value = TRUE;
		event->value = wire_double(field);
		break;
	case 36: /* as they were numbered before */
	case 42:
		perfetto_add_numbers(event->flows, field);
		break;
	case 47:
	case 48:
		add_fixed(event->flows, field);
		break;
	case 31:
		perfetto_add_numbers(event->value_tracks, field);
		break;
	case 12:
		perfetto_add_numbers(event->values, field);
		break;
	default:
		break;
	}
}

/* What a category says: tacho's own are its kinds. */
static TachoSliceKind kind_of(const gchar *category, const gchar *name)
{
	static const struct {
		const gchar *category;
		TachoSliceKind kind;
	} others[] = { { "cpu_op", TACHO_SLICE_OP },
		       { "user_annotation", TACHO_SLICE_ANNOTATION },
		       { "gpu_user_annotation", TACHO_SLICE_ANNOTATION },
		       { "python_function", TACHO_SLICE_FUNCTION },
		       { "cuda_runtime", TACHO_SLICE_RUNTIME },
		       { "cuda_driver", TACHO_SLICE_RUNTIME },
		       { "gpu_memcpy", TACHO_SLICE_MEMCPY },
		       { "gpu_memset", TACHO_SLICE_MEMSET },
		       { "memory_copy", TACHO_SLICE_MEMCPY },
		       { "rocm_memory_copy", TACHO_SLICE_MEMCPY },
		       { "kernel_dispatch", TACHO_SLICE_KERNEL },
		       { "rocm_kernel_dispatch", TACHO_SLICE_KERNEL },
		       { "device_hip", TACHO_SLICE_KERNEL },
		       { "hip_activity", TACHO_SLICE_KERNEL } };
	TachoSliceKind kind = TACHO_SLICE_EVENT;

	for (guint i = 0; i < TACHO_N_SLICE_KINDS; i++)
		if (strcmp(category, tacho_slice_kind_name((TachoSliceKind)i)) == 0)
			return (TachoSliceKind)i;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (strcmp(category, others[i].category) == 0)
			kind = others[i].kind;
	if (kind == TACHO_SLICE_KERNEL)
		return track_book_kernel_kind(name);
	if (kind != TACHO_SLICE_EVENT)
		return kind;
	switch (rocm_kind_of_domain(category)) {
	case ROCM_CALL:
		return TACHO_SLICE_RUNTIME;
	case ROCM_RANGE:
		return TACHO_SLICE_ANNOTATION;
	default:
		return TACHO_SLICE_EVENT;
	}
}

/* The rows that are open on a track, as this sequence sees it: perfetto_file.h, (1). */
static GArray *open_rows(struct perfetto_file *file, guint64 track, guint32 sequence)
{
	guint64 key = track * 0x9E3779B97F4A7C15u ^ sequence;
	GArray *rows = perfetto_find_id(file->open, key);

	if (!rows) {
		rows = g_array_new(FALSE, FALSE, sizeof(guint32));
		perfetto_keep_id(file->open, key, rows);
	}
	return rows;
}

static void note_arrows(struct perfetto_file *file, const struct event *event, guint32 row,
			gint64 time_ns)
{
	for (guint i = 0; row != TACHO_NONE && i < event->flows->len; i++) {
		struct perfetto_arrow arrow = { g_array_index(event->flows, guint64, i), row,
						time_ns };

		g_array_append_val(file->arrows, arrow);
	}
}

static void begin_event(struct perfetto_file *file, const struct perfetto_sequence *sequence,
			const struct event *event, gint64 time_ns)
{
	const gchar *name = tacho_timeline_string(file->timeline, event->name);
	struct perfetto_described *described = perfetto_find_described(file, event->track);
	struct book_slice slice = { .start_ns = time_ns,
				    .end_ns = time_ns,
				    .name = event->name,
				    .flags = TACHO_SLICE_OPEN };
	guint32 row;

	slice.kind = kind_of(tacho_timeline_string(file->timeline, event->category), name);
	slice.track = perfetto_track_of(file, described, slice.kind);
	if (slice.kind == TACHO_SLICE_STEP || slice.kind == TACHO_SLICE_ANNOTATION)
		track_book_note_range(file->book, slice.track, name, time_ns);
	if (slice.kind == TACHO_SLICE_STEP) /* those of the timeline are found anew */
		slice.kind = TACHO_SLICE_EVENT;
	if (event->bytes.at)
		slice.source = perfetto_args_handle(file->args, file->offset, file->inner,
						    sequence->generation);
	row = track_book_add(file->book, &slice);
	if (row != TACHO_NONE)
		g_array_append_val(open_rows(file, event->track, sequence->id), row);
	note_arrows(file, event, row, time_ns);
}

static void end_event(struct perfetto_file *file, const struct perfetto_sequence *sequence,
		      const struct event *event, gint64 time_ns)
{
	GArray *rows = open_rows(file, event->track, sequence->id);
	guint32 row;

	if (!rows->len) {
		file->n_unmatched++;
		return;
	}
	row = g_array_index(rows, guint32, rows->len - 1);
	g_array_set_size(rows, rows->len - 1);
	track_book_end(file->book, row, time_ns);
	note_arrows(file, event, row, file->timeline->slices.start_ns[row]);
}

static void mark_event(struct perfetto_file *file, const struct perfetto_sequence *sequence,
		       const struct event *event, gint64 time_ns)
{
	g_autofree gchar *text = perfetto_annotations_json(
		file->timeline, perfetto_args_borrow_generation(file->args, sequence->generation),
		event->bytes);

	if (text && strlen(text) > MAX_MARK_TEXT)
		g_clear_pointer(&text, g_free);
	track_book_add_mark(file->book,
			    perfetto_track_of(file, perfetto_find_described(file, event->track),
					      TACHO_SLICE_EVENT),
			    time_ns, tacho_timeline_string(file->timeline, event->name),
			    text ? text : "", 0, 0);
}

static void count_value(struct perfetto_file *file, guint64 uuid, gint64 time_ns, gdouble value)
{
	struct perfetto_described *track = perfetto_find_described(file, uuid);
	const gchar *name = tacho_timeline_string(file->timeline, track->name);

	value *= (gdouble)track->unit;
	if (track->is_sum)
		value = track->total += value;
	if (track->track == TACHO_NONE)
		track->track = track_book_counter(file->book, perfetto_process_of(file, track),
						  *name ? name : "counter");
	track_book_add_sample(file->book, track->track, time_ns, value);
}

static void use_event(struct perfetto_file *file, struct perfetto_sequence *sequence,
		      const struct event *event, gint64 time_ns)
{
	switch (event->type) {
	case TYPE_BEGIN:
		begin_event(file, sequence, event, time_ns);
		break;
	case TYPE_END:
		end_event(file, sequence, event, time_ns);
		break;
	case TYPE_INSTANT:
		mark_event(file, sequence, event, time_ns);
		break;
	case TYPE_COUNTER:
		if (event->has_value)
			count_value(file, event->track, time_ns, event->value);
		break;
	default: /* as Chrome wrote them before */
		track_book_count_unknown(file->book,
					 "byte %" G_GUINT64_FORMAT ": an event of an unknown type",
					 file->offset);
	}
	for (guint i = 0; i < MIN(event->values->len, event->value_tracks->len); i++)
		count_value(file, g_array_index(event->value_tracks, guint64, i), time_ns,
			    (gdouble)(gint64)g_array_index(event->values, guint64, i));
}

void perfetto_read_track_event(struct perfetto_file *file, struct perfetto_sequence *sequence,
			       struct wire_cursor bytes, gint64 time_ns)
{
	const struct perfetto_generation *names =
		perfetto_args_borrow_generation(file->args, sequence->generation);
	struct event event = { .bytes = bytes, .track = sequence->default_track };
	enum wire_result result;
	struct wire_field field;

	event.flows = g_array_new(FALSE, FALSE, sizeof(guint64));
	event.values = g_array_new(FALSE, FALSE, sizeof(guint64));
	event.value_tracks = g_array_new(FALSE, FALSE, sizeof(guint64));
	while ((result = wire_cursor_next(&bytes, &field)) == WIRE_FIELD)
		read_field(file, names, &field, &event);
	if (result == WIRE_END)
		use_event(file, sequence, &event, time_ns);
	else
		perfetto_count_broken(file, "a broken event");
	g_array_unref(event.flows);
	g_array_unref(event.values);
	g_array_unref(event.value_tracks);
}

/* --- arrows --------------------------------------------------------------------------------- */

static gint compare_arrows(gconstpointer first, gconstpointer second)
{
	const struct perfetto_arrow *a = first, *b = second;

	return ORDER(a->id, b->id) ?: ORDER(a->time_ns, b->time_ns) ?: ORDER(a->row, b->row);
}

static TachoTrackKind track_kind(const struct perfetto_file *file, guint32 row)
{
	return tacho_timeline_track(file->timeline, file->timeline->slices.track[row])->kind;
}

static void tie(struct perfetto_file *file, guint32 from, guint32 to)
{
	TachoFlow flow = { .from = from, .to = to, .kind = TACHO_FLOW_OTHER, .is_exact = TRUE };

	if (track_kind(file, from) == TACHO_TRACK_THREAD &&
	    track_kind(file, to) == TACHO_TRACK_STREAM)
		tacho_timeline_set_launch(file->timeline, to, from);
	else
		g_array_append_val(file->timeline->flows, flow);
}

/* perfetto_file.h, (3): what a thread launched on a device comes from the thread, even if several are tied in a row. */
void perfetto_tie_arrows(struct perfetto_file *file)
{
	guint32 last = TACHO_NONE, last_host = TACHO_NONE;
	guint64 id = 0;

	g_array_sort(file->arrows, compare_arrows);
	FOR_EACH_AT(const struct perfetto_arrow, arrow, i, file->arrows) {
		gboolean is_device = track_kind(file, arrow->row) == TACHO_TRACK_STREAM;

		if (i == 0 || arrow->id != id)
			last = last_host = TACHO_NONE;
		id = arrow->id;
		if (last != arrow->row && is_device && last_host != TACHO_NONE)
			tie(file, last_host, arrow->row);
		else if (last != arrow->row && last != TACHO_NONE)
			tie(file, last, arrow->row);
		last = arrow->row;
		if (!is_device)
			last_host = arrow->row;
	}
}
