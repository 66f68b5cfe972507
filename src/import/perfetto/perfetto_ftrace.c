#include "import/perfetto/perfetto_file.h"

#include "base/for_each.h"

/* Who runs on a core since when. */
struct core {
	gint64 since_ns, pid;
	guint32 name;
};

static void leave_core(struct perfetto_file *file, guint64 cpu, const struct core *core,
		       gint64 time_ns, guint8 flags)
{
	const struct perfetto_described *thread =
		perfetto_find_id(file->threads, (guint64)core->pid);
	g_autofree gchar *track = g_strdup_printf("CPU %" G_GUINT64_FORMAT, cpu);
	struct book_slice slice = { .kind = TACHO_SLICE_EVENT,
				    .name = core->name,
				    .start_ns = core->since_ns,
				    .end_ns = MAX(time_ns, core->since_ns),
				    .flags = flags };

	slice.track = track_book_aside(
		file->book, track_book_process(file->book, 0, thread ? thread->pid : 0), -1, track);
	track_book_add(file->book, &slice);
}

/* Thread 0 is nobody: the core idles. */
static void switch_core(struct perfetto_file *file, guint64 cpu, gint64 time_ns, gint64 next_pid,
			guint32 next_name)
{
	struct core *core = perfetto_find_id(file->running, cpu);

	if (core && core->pid)
		leave_core(file, cpu, core, time_ns, 0);
	core = g_new(struct core, 1);
	*core = (struct core){ .since_ns = time_ns, .pid = next_pid, .name = next_name };
	perfetto_keep_id(file->running, cpu, core);
}

static void read_switch(struct perfetto_file *file, guint64 cpu, gint64 time_ns,
			struct wire_cursor bytes)
{
	struct wire_field field;
	gint64 next_pid = 0;
	guint32 name = 0;

	while (wire_cursor_next(&bytes, &field) == WIRE_FIELD) {
		if (field.number == 5 && field.type == WIRE_BYTES)
			name = perfetto_intern(file, &field);
		else if (field.number == 6 && field.type == WIRE_VARINT)
			next_pid = (gint32)field.value;
	}
	switch_core(file, cpu, time_ns, next_pid, name);
}

/* FtraceEvent: 1 time, 4 sched_switch; all others are counted. */
static void read_ftrace_event(struct perfetto_file *file, guint64 cpu, struct wire_cursor event)
{
	struct wire_cursor content = { NULL, NULL, NULL };
	struct wire_field field;
	guint64 time_ns = 0;

	while (wire_cursor_next(&event, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			time_ns = field.value;
		else if (field.number == 4 && field.type == WIRE_BYTES)
			content = perfetto_cursor(&field);
	}
	if (content.at)
		read_switch(file, cpu, (gint64)MIN(time_ns, (guint64)TACHO_MAX_TIME_NS), content);
	else
		track_book_count_unknown(file->book,
					 "byte %" G_GUINT64_FORMAT
					 ": an event of the kernel that tacho does not read",
					 file->offset);
}

/* Switches of a core as columns: times as differences, names by their numbers. */
static void read_compact(struct perfetto_file *file, guint64 cpu, struct wire_cursor compact)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(guint64));
	g_autoptr(GArray) table = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct wire_field field;
	gint64 time_ns = 0;

	while (wire_cursor_next(&compact, &field) == WIRE_FIELD) {
		if (field.number == 1)
			perfetto_add_numbers(times, &field);
		else if (field.number == 3)
			perfetto_add_numbers(pids, &field);
		else if (field.number == 6)
			perfetto_add_numbers(names, &field);
		if (field.number == 5 && field.type == WIRE_BYTES) {
			guint32 name = perfetto_intern(file, &field);

			g_array_append_val(table, name);
		}
	}
	for (guint i = 0; i < MIN(times->len, pids->len); i++) {
		guint64 name = i < names->len ? g_array_index(names, guint64, i) : G_MAXUINT64;

		if (__builtin_add_overflow(time_ns, g_array_index(times, guint64, i), &time_ns))
			time_ns = TACHO_MAX_TIME_NS;
		switch_core(file, cpu, time_ns, (gint32)g_array_index(pids, guint64, i),
			    name < table->len ? g_array_index(table, guint32, name) : 0);
	}
}

void perfetto_read_ftrace(struct perfetto_file *file, struct wire_cursor bundle)
{
	struct wire_cursor again = bundle;
	struct wire_field field;
	guint64 cpu = 0;

	while (wire_cursor_next(&bundle, &field) == WIRE_FIELD)
		if (field.number == 1 && field.type == WIRE_VARINT)
			cpu = field.value;
	while (wire_cursor_next(&again, &field) == WIRE_FIELD) {
		if (field.type != WIRE_BYTES)
			continue;
		if (field.number == 2)
			read_ftrace_event(file, cpu, perfetto_cursor(&field));
		else if (field.number == 4)
			read_compact(file, cpu, perfetto_cursor(&field));
	}
}

void perfetto_end_cores(struct perfetto_file *file)
{
	FOR_EACH_ENTRY(entry, file->running)
		if (((struct core *)entry.value)->pid)
			leave_core(file, *(guint64 *)entry.key, entry.value,
				   ((struct core *)entry.value)->since_ns, TACHO_SLICE_OPEN);
}
