#include "import/xla/xplane_args.h"

#include <pthread.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/partition_point.h"
#include "import/read/device_args.h"
#include "import/xla/xplane_json.h"

enum {
	MAX_EVENT_BYTES = 16 * 1024 * 1024,
	MAX_KIND_BYTES = 64 * 1024 * 1024,
	MAX_TEXT_BYTES = 64 * 1024, /* of what is shown as a text */
	MAX_UNPACKED_BYTES = 256 * 1024 * 1024,
};

struct xplane_args {
	struct foreign_reader reader;
	gchar *path;
	struct xplane_space space;
	const TachoTimeline *timeline;
	pthread_mutex_t lock;
	/* Under the lock: */
	wire_walk *walk;
	gboolean is_broken; /* cannot be opened (any more) */
	struct proto_arena event_arena, kind_arena;
};

/* --- reading the file ----------------------------------------------------------------------- */

static void *read_message(struct xplane_args *args, guint64 offset, gsize max_bytes,
			  struct proto_arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
	struct wire_field field;

	if (!args->walk && !args->is_broken)
		args->walk = wire_walk_open(args->path, NULL);
	args->is_broken = !args->walk;
	if (args->is_broken || !wire_walk_seek(args->walk, offset) ||
	    wire_walk_next(args->walk, &field) != WIRE_FIELD ||
	    !wire_walk_load(args->walk, &field, max_bytes))
		return NULL;
	return proto_arena_unpack(arena, descriptor, field.bytes, (gsize)field.n_bytes);
}

static const Tacho__Xplane__XEvent *read_event(struct xplane_args *args, guint64 place)
{
	return read_message(args, place, MAX_EVENT_BYTES, &args->event_arena,
			    &tacho__xplane__xevent__descriptor);
}

/* The plane that the field at `offset` is in. */
static const struct xplane_plane *find_plane(const struct xplane_args *args, guint64 offset)
{
	const GPtrArray *planes = args->space.planes;
	guint n =
		PARTITION_POINT(i, 0, planes->len,
				((const struct xplane_plane *)planes->pdata[i])->offset <= offset);

	return n ? planes->pdata[n - 1] : NULL;
}

/* --- figures -------------------------------------------------------------------------------- */

guint64 xplane_copied_bytes(const gchar *details, gsize n)
{
	g_autofree gchar *text = g_strndup(n ? details : "", MIN(n, (gsize)MAX_TEXT_BYTES));
	const gchar *size = strstr(text, "size:");

	return size ? g_ascii_strtoull(size + strlen("size:"), NULL, 10) : 0;
}

static guint64 find_copied_bytes(const struct xplane_args *args, const struct xplane_plane *plane,
				 const Tacho__Xplane__XEvent *event)
{
	for (gsize i = 0; i < event->n_stats; i++) {
		const Tacho__Xplane__XStat *stat = event->stats[i];
		const gchar *name = tacho_timeline_string(
			args->timeline, xplane_stat_name(plane, stat->metadata_id));

		if (strcmp(name, "memcpy_details") != 0 && strcmp(name, "memset_details") != 0)
			continue;
		if (stat->has_str_value)
			return xplane_copied_bytes((const gchar *)stat->str_value.data,
						   stat->str_value.len);
		name = tacho_timeline_string(args->timeline,
					     xplane_stat_name(plane, (gint64)stat->ref_value));
		return xplane_copied_bytes(name, strlen(name));
	}
	return 0;
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	struct xplane_args *args = (struct xplane_args *)reader;
	const struct xplane_plane *plane = find_plane(args, place);
	const Tacho__Xplane__XEvent *event;
	const struct xplane_kind *kind;
	struct xplane_stats stats = { 0 };

	if (!plane)
		return FALSE;
	*kernel = (TachoKernelArgs){ .dtype = "", .text = "" };
	pthread_mutex_lock(&args->lock);
	event = read_event(args, place);
	if (event) {
		xplane_stats_add(&stats, plane, event->stats, event->n_stats, NULL);
		kernel->flops = stats.numbers[XPLANE_STAT_FLOPS];
		kernel->bytes =
			stats.numbers[XPLANE_STAT_BYTES] ?: find_copied_bytes(args, plane, event);
		kind = xplane_find_kind(plane, event->metadata_id);
		if (kind && !kernel->flops)
			kernel->flops = kind->flops;
		if (kind && !kernel->bytes)
			kernel->bytes = kind->bytes;
		kernel->text = tacho_timeline_string(args->timeline,
						     stats.texts[XPLANE_STAT_KERNEL]
							     ?: stats.texts[XPLANE_STAT_MEMCPY]);
	}
	pthread_mutex_unlock(&args->lock);
	return event != NULL;
}

/* What an operation of XLA accesses is its operands and its result; where these are equal by definition, one
 * of them is what goes in. */
static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	static const gchar *const equal[] = { "all-reduce", "all-to-all", "collective-permute" };
	struct xplane_args *args = (struct xplane_args *)reader;
	const struct xplane_plane *plane = find_plane(args, place);
	const Tacho__Xplane__XEvent *event;
	const struct xplane_kind *kind = NULL;

	*collective = (TachoCollectiveArgs){ 0 };
	pthread_mutex_lock(&args->lock);
	event = plane ? read_event(args, place) : NULL;
	if (event)
		kind = xplane_find_kind(plane, event->metadata_id);
	for (guint i = 0; kind && i < G_N_ELEMENTS(equal); i++)
		if (g_str_has_prefix(tacho_timeline_string(args->timeline, kind->category),
				     equal[i]))
			collective->bytes = kind->bytes / 2;
	pthread_mutex_unlock(&args->lock);
	return event != NULL;
}

/* --- args ----------------------------------------------------------------------------------- */

static void write_bytes(JsonWriter *writer, const gchar *key, const ProtobufCBinaryData *bytes)
{
	json_writer_string_length(json_writer_key(writer, key), (const gchar *)bytes->data,
				  MIN(bytes->len, (gsize)MAX_TEXT_BYTES));
}

/* What the plane says of all events of that kind. */
static void write_kind(struct xplane_args *args, JsonWriter *writer,
		       const struct xplane_plane *plane, const struct xplane_kind *kind)
{
	const Tacho__Xplane__XEventMetadataEntry *entry =
		read_message(args, kind->offset, MAX_KIND_BYTES, &args->kind_arena,
			     &tacho__xplane__xevent_metadata_entry__descriptor);

	if (!entry || !entry->value)
		return;
	if (entry->value->display_name.len && entry->value->name.len)
		write_bytes(writer, "long_name", &entry->value->name);
	if (entry->value->metadata.len)
		json_writer_unsigned(json_writer_key(writer, "metadata_bytes"),
				     entry->value->metadata.len);
	xplane_json_stats(writer, plane, entry->value->stats, entry->value->n_stats,
			  args->timeline);
}

/* Fields of the message that nothing here knows: how many. */
static void write_unknown(JsonWriter *writer, const ProtobufCMessage *message)
{
	if (!message->n_unknown_fields)
		return;
	json_writer_unsigned(json_writer_key(writer, "unknown_fields"), message->n_unknown_fields);
}

static gchar *event_json(struct xplane_args *args, const struct xplane_plane *plane,
			 const Tacho__Xplane__XEvent *event)
{
	const struct xplane_kind *kind = xplane_find_kind(plane, event->metadata_id);
	struct json_memory memory;
	JsonWriter *writer = json_memory_begin(&memory);

	if (!writer)
		return NULL;
	json_writer_begin_object(writer);
	xplane_json_stats(writer, plane, event->stats, event->n_stats, args->timeline);
	write_unknown(writer, &event->base);
	if (kind)
		write_kind(args, writer, plane, kind);
	json_writer_end_object(writer);
	return json_memory_take(&memory, writer);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct xplane_args *args = (struct xplane_args *)reader;
	const struct xplane_plane *plane = find_plane(args, place);
	const Tacho__Xplane__XEvent *event;
	gchar *text = NULL;

	if (!plane)
		return NULL;
	pthread_mutex_lock(&args->lock);
	event = read_event(args, place);
	if (event)
		text = event_json(args, plane, event);
	pthread_mutex_unlock(&args->lock);
	return text;
}

/* --- the reader ----------------------------------------------------------------------------- */

static void free_args(struct foreign_reader *reader)
{
	struct xplane_args *args = (struct xplane_args *)reader;

	wire_walk_close(args->walk);
	proto_arena_release(&args->event_arena);
	proto_arena_release(&args->kind_arena);
	xplane_space_release(&args->space);
	pthread_mutex_destroy(&args->lock);
	g_free(args->path);
	g_free(args);
}

struct foreign_reader *xplane_args_new(const gchar *path, struct xplane_space *space,
				       const TachoTimeline *timeline)
{
	struct xplane_args *args = g_new0(struct xplane_args, 1);

	args->reader = (struct foreign_reader){
		.kernel = get_kernel,
		.collective = get_collective,
		.args_json = get_args_json,
		.launch_shape = device_args_launch_shape,
		.copy = device_args_copy,
		.free = free_args,
	};
	args->path = g_strdup(path);
	args->space = *space;
	args->timeline = timeline;
	pthread_mutex_init(&args->lock, NULL);
	proto_arena_init(&args->event_arena, MAX_UNPACKED_BYTES);
	proto_arena_init(&args->kind_arena, MAX_UNPACKED_BYTES);
	return &args->reader;
}

const struct xplane_space *xplane_args_borrow_space(const struct foreign_reader *reader)
{
	return &((const struct xplane_args *)reader)->space;
}
