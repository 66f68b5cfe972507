#include "trace/process_reader.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/source.h"
#include "trace/trace_layout.h"

#define NS_PER_S       1000000000
#define START_SLACK_NS NS_PER_S /* clocks are corrected meanwhile */

static void clear_stream(gpointer stream_pointer)
{
	struct stream_input *stream = stream_pointer;

	g_clear_pointer(&stream->files, g_array_unref);
	g_clear_pointer(&stream->kept, g_array_unref);
	g_clear_pointer(&stream->kept_queued, g_array_unref);
	g_clear_pointer(&stream->lent, g_array_unref);
	g_clear_pointer(&stream->lent_queued, g_array_unref);
	stream_rows_release(&stream->rows);
}

void process_input_release(struct process_input *input)
{
	g_clear_pointer(&input->path, g_free);
	g_clear_pointer(&input->streams, g_array_unref);
	trace_metadata_release(&input->metadata);
}

/* --- one file ------------------------------------------------------------------------------- */

/* A stream file as it was when it was opened. */
struct opened_file {
	struct mapped_file mapped;
	const struct file_part *part; /* whose file it is; NULL: ours */
	gchar *path;
	struct packet_header packet;
	gsize content_bytes;
};

static void clear_file(gpointer file_pointer)
{
	struct opened_file *file = file_pointer;

	if (!file->part)
		mapped_file_close(&file->mapped);
	g_free(file->path);
}

/* Whether the file can be used; what is wrong with it becomes a problem. */
static gboolean check_packet(struct opened_file *file, TachoTimeline *timeline)
{
	const struct packet_header *packet = (const void *)file->mapped.bytes;
	gsize size_bytes = file->mapped.size_bytes;
	guint64 content_bits;

	if (size_bytes < sizeof(*packet)) {
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s, byte %zu: the file ends inside its header",
					   file->path, size_bytes);
		return FALSE;
	}
	/* What lies below it was written before it. */
	content_bits = __atomic_load_n(&packet->content_bits, __ATOMIC_ACQUIRE);
	file->packet = *packet;
	file->content_bytes = content_bits / 8;
	if (packet->magic != TRACE_PACKET_MAGIC || content_bits % 64 ||
	    file->content_bytes < sizeof(*packet) || content_bits > file->packet.packet_bits ||
	    file->content_bytes > SOURCE_MAX_FILE_BYTES) {
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_BAD_PACKET, 1,
					   "%s, byte 0: the header is broken", file->path);
		return FALSE;
	}
	if (file->packet.packet_bits / 8 > size_bytes)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
			"%s, byte %zu: the file ends here, but should have %" G_GUINT64_FORMAT
			" bytes",
			file->path, size_bytes, file->packet.packet_bits / 8);
	file->content_bytes = MIN(file->content_bytes, size_bytes);
	return TRUE;
}

static gboolean open_stream_file(GArray *files, const gchar *path, TachoTimeline *timeline)
{
	g_autoptr(GError) error = NULL;
	struct opened_file file = { .path = g_strdup(path) };

	if (!mapped_file_open(&file.mapped, path, &error)) {
		/* One that is gone was empty: the job is just ending. */
		if (!g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT))
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNREADABLE_FILE, 1, "%s",
						   error->message);
		g_free(file.path);
		return FALSE;
	}
	if (!check_packet(&file, timeline)) {
		clear_file(&file);
		return FALSE;
	}
	g_array_append_val(files, file);
	return TRUE;
}

static GArray *opened_files_new(void)
{
	GArray *files = g_array_new(FALSE, TRUE, sizeof(struct opened_file));

	g_array_set_clear_func(files, clear_file);
	return files;
}

/* Those of a window, which are open. */
static GArray *borrow_stream_files(const gchar *folder, GHashTable *parts, TachoTimeline *timeline)
{
	GArray *files = opened_files_new();

	FOR_EACH_ENTRY(entry, parts) {
		const struct file_part *part = entry.value;
		struct opened_file file = { .mapped = *part->mapped,
					    .part = part,
					    .path = g_build_filename(folder, entry.key, NULL) };

		if (check_packet(&file, timeline))
			g_array_append_val(files, file);
		else
			clear_file(&file);
	}
	return files;
}

static GArray *open_stream_files(const gchar *folder, TachoTimeline *timeline, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(GDir) entries = g_dir_open(folder, 0, &cause);
	GArray *files;
	const gchar *name;

	if (!entries) {
		g_set_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_IO, "%s: %s", folder,
			    cause->message);
		return NULL;
	}
	files = opened_files_new();
	while ((name = g_dir_read_name(entries))) {
		g_autofree gchar *path = NULL;

		if (name[0] == '.' || strcmp(name, TRACE_METADATA_FILE) == 0)
			continue;
		path = g_build_filename(folder, name, NULL);
		open_stream_file(files, path, timeline);
	}
	return files;
}

/* --- streams -------------------------------------------------------------------------------- */

static gint compare_files(gconstpointer first, gconstpointer second)
{
	const struct opened_file *a = first, *b = second;

	return ORDER(a->packet.stream, b->packet.stream) ?: ORDER(a->packet.index, b->packet.index) ?:
	       strcmp(a->path, b->path);
}

static struct stream_input *add_stream(struct process_input *input, const struct opened_file *file)
{
	struct stream_input stream = { .number = file->packet.stream, .tid = file->packet.tid };

	stream.files = g_array_new(FALSE, TRUE, sizeof(struct stream_file_place));
	g_array_append_val(input->streams, stream);
	return process_input_stream(input, input->streams->len - 1);
}

/* Put the file, the next by stream and index, into its stream. */
static void add_file(struct process_input *input, struct opened_file *file, TachoTimeline *timeline,
		     GPtrArray *file_paths)
{
	guint n_streams = input->streams->len;
	struct stream_input *stream = n_streams ? process_input_stream(input, n_streams - 1) : NULL;
	struct stream_file_place place = { .index = file->packet.index };

	if (!stream || stream->number != file->packet.stream)
		stream = add_stream(input, file);
	if (stream->files->len) {
		guint32 last = g_array_index(stream->files, struct stream_file_place,
					     stream->files->len - 1)
				       .index;

		if (place.index == last) {
			tacho_timeline_add_problem(timeline, TACHO_PROBLEM_BAD_PACKET, 1,
						   "%s, byte 0: its stream already has a file %u",
						   file->path, last);
			return;
		}
		if (place.index - last > 1 && !input->is_part)
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_MISSING_FILE, place.index - last - 1,
				"%s: the files between number %u and this one are missing",
				file->path, last);
	}
	stream->n_dropped = MAX(stream->n_dropped, file->packet.discarded);
	stream->n_bytes += file->content_bytes;
	place.part = file->part;
	place.file = file->part ? tacho_source_lend_file(timeline->source, &file->mapped,
							 file->content_bytes)
				: tacho_source_take_file(timeline->source, &file->mapped,
							 file->content_bytes);
	g_ptr_array_add(file_paths, g_steal_pointer(&file->path));
	g_array_append_val(stream->files, place);
}

/* The tick before which the process was not there, by the clocks that were read when `packet` was made. 0: not known. */
static guint64 find_least_ticks(const struct trace_metadata *metadata,
				const struct packet_header *packet)
{
	__int128 since_ns = (__int128)packet->pair_mono_ns - metadata->monotonic_ahead_ns -
			    metadata->start_mono_ns + metadata->age_ns + START_SLACK_NS;
	__int128 ticks;

	if (!metadata->age_ns || since_ns < 0 || since_ns > G_MAXINT64)
		return 0;
	ticks = packet->pair_ticks - since_ns * metadata->frequency_hz / NS_PER_S;
	return ticks > 0 ? (guint64)ticks : 0;
}

static void add_files(struct process_input *input, GArray *files, TachoTimeline *timeline,
		      GPtrArray *file_paths)
{
	g_array_sort(files, compare_files);
	if (files->len)
		input->metadata.least_ticks = find_least_ticks(
			&input->metadata, &g_array_index(files, struct opened_file, 0).packet);
	FOR_EACH(struct opened_file, file, files) {
		if (memcmp(file->packet.uuid, input->metadata.uuid, sizeof(file->packet.uuid)) == 0)
			add_file(input, file, timeline, file_paths);
		else
			tacho_timeline_add_problem(
				timeline, TACHO_PROBLEM_BAD_PACKET, 1,
				"%s, byte %zu: the file belongs to another trace", file->path,
				offsetof(struct packet_header, uuid));
	}
}

/* `known`: what it said before, or NULL. */
static gboolean read_metadata(struct process_input *input, const struct trace_metadata *known,
			      const gchar *path, TachoTimeline *timeline, GError **error)
{
	if (!known || !trace_metadata_is_current(known, path))
		return trace_metadata_read(&input->metadata, path, timeline->strings, error);
	trace_metadata_copy(&input->metadata, known);
	return TRUE;
}

gboolean process_input_open(struct process_input *input, const gchar *path,
			    const struct process_window *window, TachoTimeline *timeline,
			    GPtrArray *file_paths, GError **error)
{
	g_autofree gchar *metadata_path = g_build_filename(path, TRACE_METADATA_FILE, NULL);
	g_autoptr(GArray) files = window ? borrow_stream_files(path, window->parts, timeline)
					 : open_stream_files(path, timeline, error);

	*input = (struct process_input){ .is_part = window != NULL };
	if (!files || !read_metadata(input, window ? window->metadata : NULL, metadata_path,
				     timeline, error)) {
		trace_metadata_release(&input->metadata);
		return FALSE;
	}
	if (input->metadata.n_bad_lines)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_METADATA,
					   input->metadata.n_bad_lines,
					   "%s, byte %zu: this class cannot be read", metadata_path,
					   input->metadata.first_bad_line);
	input->path = g_strdup(path);
	input->streams = g_array_new(FALSE, TRUE, sizeof(struct stream_input));
	g_array_set_clear_func(input->streams, clear_stream);
	add_files(input, files, timeline, file_paths);
	return TRUE;
}
