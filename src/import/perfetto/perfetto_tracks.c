#include <string.h>

#include "import/perfetto/perfetto_file.h"

enum { MAX_PARENTS = 16 };

/* ProcessDescriptor or ThreadDescriptor: their fields for a name differ. */
static void read_owner(struct perfetto_file *file, struct perfetto_described *track,
		       guint32 name_field, struct wire_cursor owner)
{
	struct wire_field field;

	while (wire_cursor_next(&owner, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			track->pid = (gint32)field.value;
		else if (field.number == 2 && field.type == WIRE_VARINT)
			track->tid = wire_signed(&field);
		else if (field.number == 2 && field.type == WIRE_BYTES && !track->command)
			track->command = perfetto_intern(file, &field);
		else if (field.number == name_field && field.type == WIRE_BYTES)
			track->name = perfetto_intern(file, &field);
	}
}

static void read_counter_descriptor(struct perfetto_described *track, struct wire_cursor counter)
{
	struct wire_field field;

	while (wire_cursor_next(&counter, &field) == WIRE_FIELD) {
		if (field.number == 4 && field.type == WIRE_VARINT && field.value)
			track->unit = wire_signed(&field);
		else if (field.number == 5 && field.type == WIRE_VARINT)
			track->is_sum = field.value != 0;
	}
}

void perfetto_read_descriptor(struct perfetto_file *file, struct wire_cursor descriptor)
{
	struct perfetto_described *track = g_new0(struct perfetto_described, 1);
	guint64 uuid = 0;
	struct wire_field field;

	*track = (struct perfetto_described){ .unit = 1, .track = TACHO_NONE };
	while (wire_cursor_next(&descriptor, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT) {
			uuid = field.value;
		} else if (field.number == 5 && field.type == WIRE_VARINT) {
			track->parent = field.value;
		} else if (field.type == WIRE_BYTES &&
			   (field.number == 2 || field.number == 10 || field.number == 13)) {
			track->name = perfetto_intern(file, &field);
		} else if (field.number == 3 && field.type == WIRE_BYTES) {
			track->is_process = TRUE;
			read_owner(file, track, 6, perfetto_cursor(&field));
		} else if (field.number == 4 && field.type == WIRE_BYTES) {
			track->is_thread = TRUE;
			read_owner(file, track, 5, perfetto_cursor(&field));
		} else if (field.number == 8 && field.type == WIRE_BYTES) {
			track->is_counter = TRUE;
			read_counter_descriptor(track, perfetto_cursor(&field));
		}
	}
	perfetto_keep_id(file->described, uuid, track);
}

/* Names of threads that ftrace saw: the tree has their processes. */
void perfetto_read_process_tree(struct perfetto_file *file, struct wire_cursor tree)
{
	struct wire_field field;

	while (wire_cursor_next(&tree, &field) == WIRE_FIELD) {
		struct wire_cursor entry = perfetto_cursor(&field);
		struct perfetto_described *thread;
		guint64 tid = 0;
		struct wire_field part;

		if (field.number != 2) /* a thread */
			continue;
		thread = g_new0(struct perfetto_described, 1);
		while (wire_cursor_next(&entry, &part) == WIRE_FIELD) {
			if (part.number == 1 && part.type == WIRE_VARINT)
				tid = part.value;
			else if (part.number == 2 && part.type == WIRE_BYTES)
				thread->name = perfetto_intern(file, &part);
			else if (part.number == 3 && part.type == WIRE_VARINT)
				thread->pid = (gint32)part.value;
		}
		perfetto_keep_id(file->threads, tid, thread);
	}
}

guint32 perfetto_process_of(struct perfetto_file *file, const struct perfetto_described *track)
{
	for (guint i = 0; i < MAX_PARENTS && track && !track->is_process && !track->is_thread; i++)
		track = perfetto_find_id(file->described, track->parent);
	return track_book_process(file->book, 0, track ? track->pid : 0);
}

/* The number behind one of the words: "AGENT [1]", "gpu 3"; 0: none. */
static gint64 number_behind(const gchar *name, const gchar *const *words, guint n)
{
	g_autofree gchar *lower = g_ascii_strdown(name, -1);

	for (guint i = 0; i < n; i++) {
		const gchar *found = strstr(lower, words[i]);

		if (!found)
			continue;
		found += strlen(words[i]);
		found += strspn(found, " [#");
		if (g_ascii_isdigit(*found))
			return (gint64)MIN(g_ascii_strtoull(found, NULL, 10), G_MAXINT32);
	}
	return 0;
}

/* Whether what is of this kind runs on a device. Collectives and waits do so only where the track says it. */
static gboolean is_device_work(TachoSliceKind kind, const gchar *track)
{
	static const gchar *const words[] = { "stream", "queue", "gpu", "agent", "device" };
	g_autofree gchar *lower = g_ascii_strdown(track, -1);

	switch (kind) {
	case TACHO_SLICE_KERNEL:
	case TACHO_SLICE_MEMCPY:
	case TACHO_SLICE_MEMSET:
		return TRUE;
	case TACHO_SLICE_COLLECTIVE:
	case TACHO_SLICE_SYNC:
		for (guint i = 0; i < G_N_ELEMENTS(words); i++)
			if (strstr(lower, words[i]))
				return TRUE;
		return FALSE;
	default:
		return FALSE;
	}
}

static gboolean is_host_work(TachoSliceKind kind)
{
	switch (kind) {
	case TACHO_SLICE_OP:
	case TACHO_SLICE_ANNOTATION:
	case TACHO_SLICE_MODULE:
	case TACHO_SLICE_FUNCTION:
	case TACHO_SLICE_RUNTIME:
		return TRUE;
	default:
		return FALSE;
	}
}

/* A thread that is no more than a name: "THREAD 1 (12822)". */
static guint32 make_thread(struct perfetto_file *file, guint32 process, guint32 name)
{
	static const gchar *const words[] = { "(", "thread" };
	const gchar *text = tacho_timeline_string(file->timeline, name);
	gint64 tid = number_behind(text, words, G_N_ELEMENTS(words));
	guint32 track = track_book_thread(file->book, process, (gint64)(name + 1) << 32 | tid);

	track_book_name_track(file->book, track, text);
	return track;
}

/* Tracks of one name are one queue: viewers show what overlaps on several. */
static guint32 make_stream(struct perfetto_file *file, guint32 process, guint32 name)
{
	static const gchar *const devices[] = { "agent", "gpu", "device" };
	static const gchar *const queues[] = { "stream", "queue" };
	const gchar *text = tacho_timeline_string(file->timeline, name);
	gint64 device = number_behind(text, devices, G_N_ELEMENTS(devices));
	gint64 queue = number_behind(text, queues, G_N_ELEMENTS(queues));
	guint32 track =
		track_book_stream(file->book, process, device, (gint64)(name + 1) << 32 | queue);

	track_book_name_track(file->book, track, text);
	return track;
}

/* perfetto_file.h, (2) */
guint32 perfetto_track_of(struct perfetto_file *file, struct perfetto_described *track,
			  TachoSliceKind kind)
{
	const gchar *name = tacho_timeline_string(file->timeline, track->name);
	guint32 process;

	if (track->track != TACHO_NONE)
		return track->track;
	process = perfetto_process_of(file, track);
	if (track->is_thread) {
		track->track = track_book_thread(file->book, process, track->tid);
		track_book_name_track(file->book, track->track, name);
	} else if (is_device_work(kind, name) && !track->is_process) {
		track->track = make_stream(file, process, track->name);
	} else if (is_host_work(kind) && !track->is_process) {
		track->track = make_thread(file, process, track->name);
	} else {
		track->track = track_book_aside(file->book, process, -1,
						track->is_process ? "process" : name);
	}
	return track->track;
}

struct perfetto_described *perfetto_find_described(struct perfetto_file *file, guint64 uuid)
{
	struct perfetto_described *track = perfetto_find_id(file->described, uuid);

	if (!track) {
		track = g_new0(struct perfetto_described, 1);
		*track = (struct perfetto_described){ .unit = 1, .track = TACHO_NONE };
		perfetto_keep_id(file->described, uuid, track);
	}
	return track;
}
