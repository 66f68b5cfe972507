#include "run_builder.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

struct built_file {
	guint32 stream, index, tid;
	guint64 n_dropped;
	guint64 pair_ticks, pair_mono_ns;
	GByteArray *bytes;
};

struct run_builder {
	gchar *path;
	guint8 uuid[16];
	GString *metadata;
	guint32 n_classes, n_streams;
	GArray *files; /* struct built_file */
};

static void fail(const gchar *what, const gchar *path)
{
	g_error("%s %s: %s", what, path, g_strerror(errno));
}

static void make_folder(const gchar *path)
{
	if (g_mkdir_with_parents(path, 0700) < 0)
		fail("cannot make", path);
}

static void append_preamble(struct run_builder *run, const struct run_builder_process *process)
{
	g_autoptr(GString) uuid = g_string_new(NULL);
	g_autofree gchar *boot_id =
		process->boot_id
			? g_strdup(process->boot_id)
			: g_strdup_printf("boot of %s", process->host ? process->host : "h0");

	for (guint i = 0; i < 16; i++)
		g_string_append_printf(uuid, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
				       run->uuid[i]);
	g_string_append_printf(
		run->metadata,
		"/* CTF 1.8 */\n"
		"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n};\n"
		"env {\n\ttacho_format = %u;\n\thostname = \"%s\";\n"
		"\tboot_id = \"%s\";\n\tpid = %u;\n\tppid = %u;\n\trank = %d;\n"
		"\tlocal_rank = %d;\n\tworld_size = %d;\n\tjob = \"%s\";\n"
		"\tcommand = \"%s\";\n\tstart_mono_ns = %" G_GUINT64_FORMAT ";\n};\n",
		uuid->str, process->format ? process->format : TRACE_FORMAT_VERSION,
		process->host ? process->host : "h0", boot_id, process->pid,
		process->ppid ? process->ppid : 1, process->rank, process->rank,
		process->world_size ? process->world_size : -1, process->job ? process->job : "",
		process->command ? process->command : "train", process->start_mono_ns);
	if (process->clock_source) /* a block may come in parts */
		g_string_append_printf(run->metadata,
				       "env {\n\tclock_source = \"%s\";\n"
				       "\tmonotonic_ahead_ns = %" G_GINT64_FORMAT ";\n};\n",
				       process->clock_source, process->monotonic_ahead_ns);
	g_string_append_printf(run->metadata,
			       "clock {\n\tname = ticks;\n\tfreq = %" G_GUINT64_FORMAT ";\n"
			       "\toffset_s = %" G_GUINT64_FORMAT ";\n\toffset = %" G_GUINT64_FORMAT
			       ";\n\tabsolute = TRUE;\n};\n"
			       "stream {\n\tid = 0;\n};\n",
			       process->frequency_hz ? process->frequency_hz : 1000000000,
			       process->offset_s, process->offset_ticks);
}

struct run_builder *run_builder_new(const gchar *run_folder,
				    const struct run_builder_process *process)
{
	struct run_builder *run = g_new0(struct run_builder, 1);
	g_autofree gchar *name =
		g_strdup_printf("%s-%u", process->host ? process->host : "h0", process->pid);

	run->path = g_build_filename(run_folder, name, NULL);
	make_folder(run->path);
	memcpy(run->uuid, &process->pid, sizeof(process->pid));
	run->metadata = g_string_new(NULL);
	run->files = g_array_new(FALSE, TRUE, sizeof(struct built_file));
	append_preamble(run, process);
	return run;
}

const gchar *run_builder_path(const struct run_builder *run)
{
	return run->path;
}

guint32 run_builder_class(struct run_builder *run, enum trace_kind kind, const gchar *name)
{
	static const gchar *const kinds[] = {
#define KIND_NAME(enumerator, name, is_slice) #name,
		TRACE_KINDS(KIND_NAME)
#undef KIND_NAME
	};

	g_string_append_printf(run->metadata, "event { id = %u; name = \"", ++run->n_classes);
	for (; *name; name++)
		g_string_append_printf(run->metadata, *name == '"' || *name == '\\' ? "\\%c" : "%c",
				       *name);
	g_string_append_printf(run->metadata, "\"; stream_id = 0; fields := struct %s; };\n",
			       kinds[kind]);
	return run->n_classes;
}

void run_builder_metadata(struct run_builder *run, const gchar *text)
{
	g_string_append(run->metadata, text);
}

static struct built_file *last_file(struct run_builder *run)
{
	g_assert(run->files->len);
	return &g_array_index(run->files, struct built_file, run->files->len - 1);
}

static void add_file(struct run_builder *run, guint32 stream, guint32 index, guint32 tid)
{
	struct built_file file = { .stream = stream, .index = index, .tid = tid };

	file.bytes = g_byte_array_new();
	g_byte_array_set_size(file.bytes, sizeof(struct packet_header));
	g_array_append_val(run->files, file);
}

void run_builder_stream(struct run_builder *run, guint32 tid)
{
	add_file(run, run->n_streams++, 0, tid);
}

void run_builder_next_file(struct run_builder *run)
{
	const struct built_file *file = last_file(run);

	add_file(run, file->stream, file->index + 1, file->tid);
}

void run_builder_dropped(struct run_builder *run, guint64 n)
{
	last_file(run)->n_dropped = n;
}

void run_builder_pair(struct run_builder *run, guint64 ticks, guint64 mono_ns)
{
	last_file(run)->pair_ticks = ticks;
	last_file(run)->pair_mono_ns = mono_ns;
}

/* --- records -------------------------------------------------------------------------------- */

void *run_builder_record(struct run_builder *run, guint32 class_id, guint64 stamp,
			 guint32 size_bytes)
{
	GByteArray *bytes = last_file(run)->bytes;
	guint offset = bytes->len;
	struct record_header *header;

	g_byte_array_set_size(bytes, offset + size_bytes);
	header = (void *)(bytes->data + offset);
	memset(header, 0, size_bytes);
	header->class_id = class_id;
	header->size_bytes = size_bytes;
	header->stamp = stamp;
	return header;
}

static guint64 duration_of(guint64 begin, guint64 end)
{
	return end == G_MAXUINT64 ? TRACE_OPEN : end - begin;
}

void run_builder_slice(struct run_builder *run, guint32 class_id, guint64 begin, guint64 end,
		       guint64 id)
{
	struct record_slice *slice = run_builder_record(run, class_id, begin, sizeof(*slice));

	slice->duration = duration_of(begin, end);
	slice->id = id;
}

struct record_op *run_builder_op(struct run_builder *run, guint32 class_id, guint64 begin,
				 guint64 end, gint64 sequence)
{
	struct record_op *op = run_builder_record(run, class_id, begin, sizeof(*op));

	op->duration = duration_of(begin, end);
	op->sequence = sequence;
	return op;
}

void run_builder_memory(struct run_builder *run, guint32 class_id, guint64 stamp, guint64 address,
			guint64 bytes)
{
	struct record_memory *memory = run_builder_record(run, class_id, stamp, sizeof(*memory));

	memory->address = address;
	memory->bytes = bytes;
}

void run_builder_mark(struct run_builder *run, guint32 class_id, guint64 stamp, gint64 first,
		      gint64 second, const gchar *text)
{
	guint32 n_text = (guint32)((strlen(text) + 7) & ~(gsize)7);
	struct record_mark *mark =
		run_builder_record(run, class_id, stamp, (guint32)sizeof(*mark) + n_text);

	mark->first = first;
	mark->second = second;
	mark->n_text = n_text;
	memcpy(mark + 1, text, strlen(text));
}

/* --- writing -------------------------------------------------------------------------------- */

static void write_whole(const gchar *folder, const gchar *name, const void *bytes, gsize length)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	g_autoptr(GError) error = NULL;

	if (!g_file_set_contents_full(path, bytes, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0600,
				      &error))
		g_error("%s", error->message);
}

static void write_file(const struct run_builder *run, struct built_file *file)
{
	struct packet_header *packet = (void *)file->bytes->data;
	g_autofree gchar *name = g_strdup_printf("%u-%u.%u", file->stream, file->tid, file->index);

	*packet = (struct packet_header){ .magic = TRACE_PACKET_MAGIC,
					  .packet_bits = (guint64)file->bytes->len * 8,
					  .content_bits = (guint64)file->bytes->len * 8,
					  .discarded = file->n_dropped,
					  .pair_ticks = file->pair_ticks,
					  .pair_mono_ns = file->pair_mono_ns,
					  .stream = file->stream,
					  .index = file->index,
					  .tid = file->tid };
	memcpy(packet->uuid, run->uuid, sizeof(packet->uuid));
	write_whole(run->path, name, file->bytes->data, file->bytes->len);
	g_byte_array_free(file->bytes, TRUE);
}

void run_builder_end(struct run_builder *run)
{
	for (guint i = 0; i < run->files->len; i++)
		write_file(run, &g_array_index(run->files, struct built_file, i));
	write_whole(run->path, TRACE_METADATA_FILE, run->metadata->str, run->metadata->len);
	g_array_free(run->files, TRUE);
	g_string_free(run->metadata, TRUE);
	g_free(run->path);
	g_free(run);
}

void run_builder_remove(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		if (g_file_test(path, G_FILE_TEST_IS_DIR) &&
		    !g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			run_builder_remove(path);
		else
			g_unlink(path);
	}
	g_rmdir(folder);
}

/* --- a timeline as a run -------------------------------------------------------------------- */

/* Something of a thread, at its place in the order of records. */
struct item {
	gint64 time_ns;
	enum { ITEM_OUTPUTS, ITEM_SLICE, ITEM_MEMORY, ITEM_MARK, ITEM_OUTPUTS_AT_ONCE } kind;
	guint32 row;
};

struct timeline_writer {
	const TachoTimeline *timeline;
	struct run_builder *run;
	GHashTable *classes; /* "KIND NAME" -> id */
};

static guint32 class_of(struct timeline_writer *writer, enum trace_kind kind, const gchar *name)
{
	gchar *key = g_strdup_printf("%d %s", kind, name);
	guint32 id = GPOINTER_TO_UINT(g_hash_table_lookup(writer->classes, key));

	if (id) {
		g_free(key);
		return id;
	}
	id = run_builder_class(writer->run, kind, name);
	g_hash_table_insert(writer->classes, key, GUINT_TO_POINTER(id));
	return id;
}

static guint8 find_dtype(const gchar *name)
{
	static const gchar *const names[] = {
#define DTYPE_NAME(enumerator, name, bytes) #name,
		TRACE_DTYPES(DTYPE_NAME)
#undef DTYPE_NAME
	};

	for (guint8 i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_strcmp0(names[i], name) == 0)
			return i;
	return TRACE_DTYPE_UNKNOWN;
}

typedef gboolean (*ReadTensor)(const TachoTimeline *, guint32, guint32, TachoTensor *);

/* The bytes of all tensors; to be freed with g_byte_array_free(). */
static GByteArray *tensor_bytes(const TachoTimeline *timeline, guint32 slice, ReadTensor read)
{
	GByteArray *bytes = g_byte_array_new();
	TachoTensor tensor;

	for (guint32 i = 0; read(timeline, slice, i, &tensor); i++) {
		struct record_tensor record = { .storage = tensor.storage,
						.offset_bytes = tensor.offset_bytes,
						.dtype = find_dtype(tensor.dtype),
						.device = TRACE_DEVICE_CPU,
						.n_dims = (guint16)tensor.n_dims,
						.argument = tensor.argument };

		g_byte_array_append(bytes, (const void *)&record, sizeof(record));
		g_byte_array_append(bytes, (const void *)tensor.shape,
				    (guint)(tensor.n_dims * sizeof(gint64)));
	}
	return bytes;
}

static void copy_tensors(void *target, const GByteArray *tensors)
{
	if (tensors->len)
		memcpy(target, tensors->data, tensors->len);
}

static guint64 slice_duration(const TachoTimeline *timeline, guint32 slice)
{
	if (timeline->slices.flags[slice] & TACHO_SLICE_OPEN)
		return TRACE_OPEN;
	return (guint64)timeline->slices.duration_ns[slice];
}

static void write_op(struct timeline_writer *writer, guint32 slice, guint32 class_id)
{
	const TachoTimeline *timeline = writer->timeline;
	g_autoptr(GByteArray) tensors = tensor_bytes(timeline, slice, tacho_slice_input);
	TachoOpArgs args = { .sequence = -1 };
	struct record_op *op;

	tacho_slice_op(timeline, slice, &args);
	op = run_builder_record(writer->run, class_id, (guint64)timeline->slices.start_ns[slice],
				(guint32)sizeof(*op) + tensors->len);
	op->duration = slice_duration(timeline, slice);
	op->sequence = args.sequence;
	op->forward_thread = args.forward_thread;
	op->n_inputs = args.n_inputs;
	if (timeline->slices.flags[slice] & TACHO_SLICE_BACKWARD)
		op->flags |= TRACE_OP_BACKWARD;
	copy_tensors(op + 1, tensors);
}

static void write_kernel(struct timeline_writer *writer, guint32 slice, guint32 class_id)
{
	const TachoTimeline *timeline = writer->timeline;
	TachoKernelArgs args = { .text = "" };
	struct record_kernel *kernel;
	guint32 n_text;

	tacho_slice_kernel(timeline, slice, &args);
	n_text = (guint32)((strlen(args.text) + 7) & ~(gsize)7);
	kernel = run_builder_record(
		writer->run, class_id, (guint64)timeline->slices.start_ns[slice],
		(guint32)(sizeof(*kernel) + args.n_dims * sizeof(gint64)) + n_text);
	kernel->duration = slice_duration(timeline, slice);
	kernel->flops = args.flops;
	kernel->bytes = args.bytes;
	kernel->dtype = find_dtype(args.dtype);
	kernel->n_dims = args.n_dims;
	kernel->n_text = n_text;
	memcpy(kernel + 1, args.dims, args.n_dims * sizeof(gint64));
	memcpy((gint64 *)(kernel + 1) + args.n_dims, args.text, strlen(args.text));
}

static void write_collective(struct timeline_writer *writer, guint32 slice, guint32 class_id)
{
	const TachoTimeline *timeline = writer->timeline;
	g_autoptr(GByteArray) tensors = tensor_bytes(timeline, slice, tacho_slice_input);
	TachoCollectiveArgs args = { 0 };
	struct record_collective *collective;

	tacho_slice_collective(timeline, slice, &args);
	collective =
		run_builder_record(writer->run, class_id, (guint64)timeline->slices.start_ns[slice],
				   (guint32)sizeof(*collective) + tensors->len);
	collective->duration = slice_duration(timeline, slice);
	collective->bytes = args.bytes;
	collective->group = args.group;
	collective->end_tid = args.end_tid;
	collective->n_inputs = args.n_inputs;
	copy_tensors(collective + 1, tensors);
}

static void write_message(struct timeline_writer *writer, guint32 slice, guint32 class_id)
{
	const TachoTimeline *timeline = writer->timeline;
	TachoMessageArgs args = { 0 };
	struct record_message *message;

	tacho_slice_message(timeline, slice, &args);
	message =
		run_builder_record(writer->run, class_id, (guint64)timeline->slices.start_ns[slice],
				   (guint32)sizeof(*message));
	message->duration = slice_duration(timeline, slice);
	message->bytes = args.bytes;
	message->is_receive = args.is_receive ? 1 : 0;
	message->fd = args.fd;
	message->local_port = args.local.port;
	message->peer_port = args.peer.port;
	memcpy(message->local_address, args.local.address, sizeof(message->local_address));
	memcpy(message->peer_address, args.peer.address, sizeof(message->peer_address));
}

static void write_slice(struct timeline_writer *writer, guint32 slice)
{
	const TachoTimeline *timeline = writer->timeline;
	TachoSliceKind kind = timeline->slices.kind[slice];
	gint64 start_ns = timeline->slices.start_ns[slice];
	guint32 class_id;

	if (kind == TACHO_SLICE_STEP) /* a run has no such records */
		return;
	class_id = class_of(
		writer, kind == TACHO_SLICE_MESSAGE ? TRACE_KIND_MESSAGE : (enum trace_kind)kind,
		tacho_slice_name(timeline, slice));
	if (kind == TACHO_SLICE_OP)
		write_op(writer, slice, class_id);
	else if (kind == TACHO_SLICE_KERNEL)
		write_kernel(writer, slice, class_id);
	else if (kind == TACHO_SLICE_COLLECTIVE)
		write_collective(writer, slice, class_id);
	else if (kind == TACHO_SLICE_MESSAGE)
		write_message(writer, slice, class_id);
	else
		run_builder_slice(writer->run, class_id, (guint64)start_ns,
				  timeline->slices.flags[slice] & TACHO_SLICE_OPEN
					  ? G_MAXUINT64
					  : (guint64)tacho_slice_end_ns(timeline, slice),
				  tacho_slice_id(timeline, slice));
}

static void write_outputs(struct timeline_writer *writer, guint32 slice, gint64 time_ns)
{
	g_autoptr(GByteArray) tensors = tensor_bytes(writer->timeline, slice, tacho_slice_output);
	TachoOpArgs args;
	struct record_outputs *outputs;

	tacho_slice_op(writer->timeline, slice, &args);
	outputs = run_builder_record(writer->run, class_of(writer, TRACE_KIND_OUTPUTS, "outputs"),
				     (guint64)time_ns, (guint32)sizeof(*outputs) + tensors->len);
	outputs->begin_stamp = (guint64)writer->timeline->slices.start_ns[slice];
	outputs->n_outputs = args.n_outputs;
	copy_tensors(outputs + 1, tensors);
}

static void write_memory(struct timeline_writer *writer, const TachoMemoryEvent *event)
{
	gboolean is_alloc = event->bytes > 0;

	run_builder_memory(writer->run,
			   class_of(writer, is_alloc ? TRACE_KIND_ALLOC : TRACE_KIND_FREE, "cpu"),
			   (guint64)event->time_ns, event->address, (guint64)ABS(event->bytes));
}

static void write_mark(struct timeline_writer *writer, const TachoMark *mark)
{
	const TachoTimeline *timeline = writer->timeline;

	run_builder_mark(
		writer->run,
		class_of(writer, TRACE_KIND_MARK, tacho_timeline_string(timeline, mark->name)),
		(guint64)mark->time_ns, mark->first, mark->second,
		tacho_timeline_string(timeline, mark->text));
}

static void add_item(GArray *items, gint64 time_ns, gint kind, guint32 row)
{
	struct item item = { .time_ns = time_ns, .row = row };

	item.kind = kind;
	g_array_append_val(items, item);
}

static void add_slices(GArray *items, const TachoTimeline *timeline, const TachoTrack *track)
{
	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 row = track->first_slice + i;
		gint64 start_ns = timeline->slices.start_ns[row];
		TachoTensor tensor;

		add_item(items, start_ns, ITEM_SLICE, row);
		if (tacho_slice_output(timeline, row, 0, &tensor))
			add_item(items, tacho_slice_end_ns(timeline, row),
				 timeline->slices.duration_ns[row] ? ITEM_OUTPUTS
								   : ITEM_OUTPUTS_AT_ONCE,
				 row);
	}
}

/* Everything of the thread, with what it queued. */
static void add_items(GArray *items, const TachoTimeline *timeline, guint32 thread)
{
	const TachoTrack *track = tacho_timeline_track(timeline, thread);

	add_slices(items, timeline, track);
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *other = tacho_timeline_track(timeline, i);

		if (other->kind == TACHO_TRACK_ASYNC && other->process == track->process &&
		    other->tid == track->tid)
			add_slices(items, timeline, other);
	}
	for (guint i = 0; i < timeline->memory->len; i++) {
		const TachoMemoryEvent *event =
			&g_array_index(timeline->memory, TachoMemoryEvent, i);

		if (event->track == thread)
			add_item(items, event->time_ns, ITEM_MEMORY, i);
	}
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);

		if (mark->track == thread)
			add_item(items, mark->time_ns, ITEM_MARK, i);
	}
}

static gint compare_items(gconstpointer first, gconstpointer second)
{
	const struct item *a = first, *b = second;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static void write_items(struct timeline_writer *writer, const GArray *items)
{
	const TachoTimeline *timeline = writer->timeline;

	for (guint i = 0; i < items->len; i++) {
		const struct item *item = &g_array_index(items, struct item, i);

		switch (item->kind) {
		case ITEM_SLICE:
			write_slice(writer, item->row);
			break;
		case ITEM_MEMORY:
			write_memory(writer,
				     &g_array_index(timeline->memory, TachoMemoryEvent, item->row));
			break;
		case ITEM_MARK:
			write_mark(writer, &g_array_index(timeline->marks, TachoMark, item->row));
			break;
		default:
			write_outputs(writer, item->row, item->time_ns);
		}
	}
}

static void write_thread(struct timeline_writer *writer, guint32 thread, gboolean is_first)
{
	const TachoTimeline *timeline = writer->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, thread);
	const TachoProcess *process =
		&g_array_index(timeline->processes, TachoProcess, track->process);
	g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(struct item));

	run_builder_stream(writer->run, track->tid);
	run_builder_dropped(writer->run, track->n_dropped);
	run_builder_mark(writer->run, class_of(writer, TRACE_KIND_THREAD, "thread"),
			 /* the first record of all makes the origin of time */
			 thread == 0 ? 0 : (guint64)track->first_ns, track->parent_tid, 0,
			 tacho_timeline_string(timeline, track->name));
	add_items(items, timeline, thread);
	g_array_sort(items, compare_items);
	write_items(writer, items);
	if (is_first && process->end == TACHO_END_EXITED)
		run_builder_mark(writer->run, class_of(writer, TRACE_KIND_EXIT, "exit"),
				 (guint64)process->end_ns, process->exit_status, 0, "");
}

static void write_process(const TachoTimeline *timeline, guint32 index, const gchar *run_folder,
			  GKeyFile *facts)
{
	const TachoProcess *process = &g_array_index(timeline->processes, TachoProcess, index);
	struct timeline_writer writer = { .timeline = timeline };
	gboolean is_first = TRUE;

	writer.classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	writer.run = run_builder_new(
		run_folder,
		&(struct run_builder_process){
			.host = tacho_timeline_string(timeline, process->host),
			.job = tacho_timeline_string(timeline, process->job),
			.command = tacho_timeline_string(timeline, process->command),
			.pid = process->pid,
			.ppid = process->ppid,
			.rank = process->rank,
			.world_size = process->world_size > 0 ? process->world_size
							      : timeline->expected_ranks,
			.offset_s = (guint64)(timeline->origin_unix_ns / 1000000000),
			.offset_ticks = (guint64)(timeline->origin_unix_ns % 1000000000) });
	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind != TACHO_TRACK_THREAD || track->process != index)
			continue;
		write_thread(&writer, i, is_first);
		is_first = FALSE;
	}
	run_builder_end(writer.run);
	g_hash_table_unref(writer.classes);
	if (process->end == TACHO_END_KILLED) {
		g_autofree gchar *group = g_strdup_printf("child %u", index);
		g_autofree gchar *status = g_strdup_printf("signal=%d", process->exit_status);

		g_key_file_set_uint64(facts, group, "pid", process->pid);
		g_key_file_set_string(facts, group, "status", status);
	}
}

void run_builder_write_timeline(const TachoTimeline *timeline, const gchar *run_folder)
{
	g_autoptr(GKeyFile) facts = g_key_file_new();
	g_autofree gchar *text = NULL;

	make_folder(run_folder);
	g_key_file_set_string(facts, "run", "version", TACHO_VERSION);
	for (guint32 i = 0; i < timeline->processes->len; i++)
		write_process(timeline, i, run_folder, facts);
	text = g_key_file_to_data(facts, NULL, NULL);
	write_whole(run_folder, TRACE_RUN_FILE, text, strlen(text));
}
