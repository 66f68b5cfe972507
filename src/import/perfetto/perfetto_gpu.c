#include <math.h>

#include "import/perfetto/perfetto_file.h"
#include "trace/clock_map.h"

void perfetto_read_gpu_stage(struct perfetto_file *file, const struct perfetto_sequence *sequence,
			     struct wire_cursor bytes, gint64 time_ns)
{
	const struct perfetto_generation *names =
		perfetto_args_borrow_generation(file->args, sequence->generation);
	struct book_slice slice = { .kind = TACHO_SLICE_KERNEL, .start_ns = time_ns };
	guint64 queue = 0, gpu = 0, duration_ns = 0;
	guint32 queue_name = 0;
	struct wire_field field;

	while (wire_cursor_next(&bytes, &field) == WIRE_FIELD) {
		if (field.type != WIRE_VARINT)
			continue;
		if (field.number == 2)
			duration_ns = field.value;
		else if (field.number == 3)
			queue = field.value;
		else if (field.number == 11)
			gpu = field.value;
		else if (field.number == 13) {
			queue = field.value;
			perfetto_generation_find(names, PERFETTO_GPU_SPECIFICATIONS, queue,
						 &queue_name);
		} else if (field.number == 14)
			perfetto_generation_find(names, PERFETTO_GPU_SPECIFICATIONS, field.value,
						 &slice.name);
	}
	slice.end_ns = clock_map_add(time_ns, (gint64)MIN(duration_ns, (guint64)TACHO_MAX_TIME_NS));
	slice.track = track_book_stream(file->book, track_book_process(file->book, 0, 0),
					(gint64)(gpu & G_MAXINT32), (gint64)(queue & G_MAXINT32));
	if (queue_name)
		track_book_name_track(file->book, slice.track,
				      tacho_timeline_string(file->timeline, queue_name));
	if (!slice.name)
		slice.name = tacho_timeline_intern(file->timeline, "render stage", -1);
	track_book_add(file->book, &slice);
}

/* GpuCounterDescriptor: 1 specs, each with 1 id, 2 name. */
static void read_counter_names(struct perfetto_file *file, struct wire_cursor descriptor)
{
	struct wire_field field;

	while (wire_cursor_next(&descriptor, &field) == WIRE_FIELD) {
		struct wire_cursor spec = perfetto_cursor(&field);
		struct wire_field part;
		guint64 id = 0;
		guint32 name = 0;

		if (field.number != 1)
			continue;
		while (wire_cursor_next(&spec, &part) == WIRE_FIELD) {
			if (part.number == 1 && part.type == WIRE_VARINT)
				id = part.value;
			else if (part.number == 2 && part.type == WIRE_BYTES)
				name = perfetto_intern(file, &part);
		}
		perfetto_keep_id(file->counters, id, GUINT_TO_POINTER(name));
	}
}

static void read_gpu_value(struct perfetto_file *file, guint64 gpu, struct wire_cursor counter,
			   gint64 time_ns)
{
	g_autofree gchar *name = NULL;
	struct wire_field field;
	guint64 id = 0;
	guint32 known;
	gdouble value = NAN;

	while (wire_cursor_next(&counter, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			id = field.value;
		else if (field.number == 2 && field.type == WIRE_VARINT)
			value = (gdouble)wire_signed(&field);
		else if (field.number == 3 && field.type == WIRE_FIXED64)
			value = wire_double(&field);
	}
	known = GPOINTER_TO_UINT(perfetto_find_id(file->counters, id));
	name = known ? g_strdup_printf("GPU %" G_GUINT64_FORMAT ": %s", gpu,
				       tacho_timeline_string(file->timeline, known))
		     : g_strdup_printf("GPU %" G_GUINT64_FORMAT ": counter %" G_GUINT64_FORMAT, gpu,
				       id);
	track_book_add_sample(
		file->book,
		track_book_counter(file->book, track_book_process(file->book, 0, 0), name), time_ns,
		value);
}

void perfetto_read_gpu_counters(struct perfetto_file *file, struct wire_cursor event,
				gint64 time_ns)
{
	struct wire_cursor again = event;
	struct wire_field field;
	guint64 gpu = 0;

	while (wire_cursor_next(&event, &field) == WIRE_FIELD) {
		if (field.number == 3 && field.type == WIRE_VARINT)
			gpu = field.value;
		else if (field.number == 1 && field.type == WIRE_BYTES)
			read_counter_names(file, perfetto_cursor(&field));
	}
	while (wire_cursor_next(&again, &field) == WIRE_FIELD)
		if (field.number == 2 && field.type == WIRE_BYTES)
			read_gpu_value(file, gpu, perfetto_cursor(&field), time_ns);
}
