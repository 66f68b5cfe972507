#include "import/perfetto/perfetto_args.h"

#include <pthread.h>
#include <string.h>
#include <zlib.h>

#include "base/json_memory.h"
#include "import/read/device_args.h"

enum {
	PACKET = 1,	  /* of a Trace */
	TRACK_EVENT = 11, /* of a packet */
	COMPRESSED = 50,  /* of a packet */
	ANNOTATION = 4,	  /* of an event */
	MAX_ANNOTATION_DEPTH = 16,
};

struct event_place {
	guint64 offset;
	guint32 inner, generation;
};

struct perfetto_args {
	struct foreign_reader reader;
	TachoTimeline *timeline; /* whose source this ends with */
	gchar *path;
	guint32 foreign;
	GArray *places;		/* struct event_place */
	GPtrArray *generations; /* struct perfetto_generation */
	pthread_mutex_t lock;
	/* Under the lock: */
	struct wire_walk *walk;
	gboolean is_broken;
};

/* --- annotations as JSON -------------------------------------------------------------------- */

struct annotations {
	const TachoTimeline *timeline;
	const struct perfetto_generation *generation;
	JsonWriter *json;
};

static void write_value(const struct annotations *annotations, struct wire_cursor annotation,
			guint depth);

static void write_text(const struct annotations *annotations, const struct wire_field *field)
{
	json_writer_string_length(annotations->json, (const gchar *)field->bytes,
				  (gsize)field->n_bytes);
}

static const gchar *interned(const struct annotations *annotations, enum perfetto_names kind,
			     guint64 iid)
{
	guint32 text;

	return perfetto_generation_find(annotations->generation, kind, iid, &text)
		       ? tacho_timeline_string(annotations->timeline, text)
		       : "?";
}

/* "key": of an annotation in an object. */
static void write_key(const struct annotations *annotations, struct wire_cursor annotation)
{
	g_autofree gchar *name = NULL;
	struct wire_field field;

	while (wire_cursor_next(&annotation, &field) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT) {
			g_free(name);
			name = g_strdup(
				interned(annotations, PERFETTO_ANNOTATION_NAMES, field.value));
		} else if (field.number == 10 && field.type == WIRE_BYTES) {
			g_free(name);
			name = g_strndup((const gchar *)field.bytes, (gsize)field.n_bytes);
		}
	}
	json_writer_key(annotations->json, name ? name : "?");
}

/* Values that consist of annotations: entries of an object (11), elements of an array (12). */
static gboolean write_nested(const struct annotations *annotations, struct wire_cursor annotation,
			     guint depth)
{
	guint32 number = 0;
	struct wire_field field;

	while (wire_cursor_next(&annotation, &field) == WIRE_FIELD) {
		struct wire_cursor value = perfetto_cursor(&field);

		if ((field.number != 11 && field.number != 12) || field.type != WIRE_BYTES)
			continue;
		if (!number && field.number == 11)
			json_writer_begin_object(annotations->json);
		else if (!number)
			json_writer_begin_array(annotations->json);
		if (number && field.number != number)
			continue;
		number = field.number;
		if (number == 11)
			write_key(annotations, value);
		write_value(annotations, value, depth + 1);
	}
	if (number == 11)
		json_writer_end_object(annotations->json);
	else if (number)
		json_writer_end_array(annotations->json);
	return number != 0;
}

static gboolean write_number(const struct annotations *annotations, const struct wire_field *field)
{
	switch (field->number) {
	case 2:
		json_writer_boolean(annotations->json, field->value != 0);
		return TRUE;
	case 3:
	case 7: /* a pointer */
		json_writer_unsigned(annotations->json, field->value);
		return TRUE;
	case 4:
		json_writer_integer(annotations->json, wire_signed(field));
		return TRUE;
	case 17:
		json_writer_string(annotations->json,
				   interned(annotations, PERFETTO_STRING_VALUES, field->value));
		return TRUE;
	default:
		return FALSE;
	}
}

static void write_value(const struct annotations *annotations, struct wire_cursor annotation,
			guint depth)
{
	struct wire_cursor at = annotation;
	struct wire_field field;

	while (wire_cursor_next(&at, &field) == WIRE_FIELD) {
		if (field.type == WIRE_VARINT && field.number != 1 &&
		    write_number(annotations, &field))
			return;
		if (field.type == WIRE_FIXED64 && field.number == 5) {
			json_writer_number(annotations->json, wire_double(&field));
			return;
		}
		/* a text, or JSON as a text */
		if (field.type == WIRE_BYTES && (field.number == 6 || field.number == 9)) {
			write_text(annotations, &field);
			return;
		}
	}
	if (depth >= MAX_ANNOTATION_DEPTH || !write_nested(annotations, annotation, depth))
		json_writer_null(annotations->json);
}

static gboolean has_annotation(struct wire_cursor event)
{
	struct wire_field field;

	while (wire_cursor_next(&event, &field) == WIRE_FIELD)
		if (field.number == ANNOTATION && field.type == WIRE_BYTES)
			return TRUE;
	return FALSE;
}

gchar *perfetto_annotations_json(const TachoTimeline *timeline,
				 const struct perfetto_generation *generation,
				 struct wire_cursor event)
{
	struct annotations annotations = { .timeline = timeline, .generation = generation };
	struct wire_field field;
	struct json_memory memory;

	if (!has_annotation(event))
		return NULL;
	annotations.json = json_memory_begin(&memory);
	if (!annotations.json)
		return NULL;
	json_writer_begin_object(annotations.json);
	while (wire_cursor_next(&event, &field) == WIRE_FIELD) {
		struct wire_cursor annotation = perfetto_cursor(&field);

		if (field.number != ANNOTATION || field.type != WIRE_BYTES)
			continue;
		write_key(&annotations, annotation);
		write_value(&annotations, annotation, 0);
	}
	json_writer_end_object(annotations.json);
	return json_memory_take(&memory, annotations.json);
}

/* --- finding an event again ----------------------------------------------------------------- */

GByteArray *perfetto_inflate(const guint8 *bytes, gsize n)
{
	g_autoptr(GByteArray) unpacked = g_byte_array_new();
	guint8 piece[16 * 1024];
	z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = (uInt)MIN(n, G_MAXUINT32) };
	int status = inflateInit(&stream);

	while (status == Z_OK && unpacked->len < PERFETTO_MAX_PACKET_BYTES) {
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		status = inflate(&stream, Z_NO_FLUSH);
		g_byte_array_append(unpacked, piece, (guint)(sizeof(piece) - stream.avail_out));
	}
	inflateEnd(&stream);
	return status == Z_STREAM_END ? g_steal_pointer(&unpacked) : NULL;
}

/* The `inner`-th packet, from 1 on, among those unpacked. */
static gboolean find_inner(struct wire_cursor trace, guint32 inner, struct wire_cursor *packet)
{
	struct wire_field field;

	while (wire_cursor_next(&trace, &field) == WIRE_FIELD)
		if (field.number == PACKET && field.type == WIRE_BYTES && --inner == 0) {
			*packet = perfetto_cursor(&field);
			return TRUE;
		}
	return FALSE;
}

static gboolean find_field(struct wire_cursor message, guint32 number, struct wire_cursor *value)
{
	struct wire_field field;

	while (wire_cursor_next(&message, &field) == WIRE_FIELD)
		if (field.number == number && field.type == WIRE_BYTES) {
			*value = perfetto_cursor(&field);
			return TRUE;
		}
	return FALSE;
}

/* The packet at the place; `*unpacked`, where it was compressed, holds its bytes. Under the lock. */
static gboolean find_packet(struct perfetto_args *args, const struct event_place *place,
			    GByteArray **unpacked, struct wire_cursor *packet)
{
	struct wire_cursor compressed;
	struct wire_field field;

	if (!args->walk && !args->is_broken)
		args->walk = wire_walk_open(args->path, NULL);
	args->is_broken = !args->walk;
	if (args->is_broken || !wire_walk_seek(args->walk, place->offset) ||
	    wire_walk_next(args->walk, &field) != WIRE_FIELD ||
	    !wire_walk_load(args->walk, &field, PERFETTO_MAX_PACKET_BYTES))
		return FALSE;
	*packet = perfetto_cursor(&field);
	if (!place->inner)
		return TRUE;
	if (!find_field(*packet, COMPRESSED, &compressed))
		return FALSE;
	*unpacked = perfetto_inflate(compressed.at, (gsize)(compressed.end - compressed.at));
	return *unpacked && find_inner(wire_cursor_of((*unpacked)->data, (*unpacked)->len),
				       place->inner, packet);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	struct perfetto_args *args = (struct perfetto_args *)reader;
	g_autoptr(GByteArray) unpacked = NULL;
	struct wire_cursor packet, event;
	const struct event_place *at;
	gchar *text = NULL;

	if (place >= args->places->len)
		return NULL;
	at = &g_array_index(args->places, struct event_place, place);
	pthread_mutex_lock(&args->lock);
	if (find_packet(args, at, &unpacked, &packet) && find_field(packet, TRACK_EVENT, &event))
		text = perfetto_annotations_json(
			args->timeline, perfetto_args_borrow_generation(args, at->generation),
			event);
	pthread_mutex_unlock(&args->lock);
	return text;
}

/* The value of "bytes": 4096 in the text. */
static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *kernel)
{
	g_autofree gchar *text = get_args_json(reader, place);
	const gchar *found = text ? strstr(text, "\"bytes\":") : NULL;

	if (!found || !g_ascii_isdigit(found[strlen("\"bytes\":")]))
		return FALSE;
	*kernel = (TachoKernelArgs){ .dtype = "", .text = "" };
	kernel->bytes = g_ascii_strtoull(found + strlen("\"bytes\":"), NULL, 10);
	return TRUE;
}

static gboolean get_collective(struct foreign_reader *reader, guint64 place,
			       TachoCollectiveArgs *collective)
{
	TachoKernelArgs kernel;

	if (!get_kernel(reader, place, &kernel))
		return FALSE;
	*collective = (TachoCollectiveArgs){ .bytes = kernel.bytes };
	return TRUE;
}

static void free_args(struct foreign_reader *reader)
{
	struct perfetto_args *args = (struct perfetto_args *)reader;

	wire_walk_close(args->walk);
	g_array_unref(args->places);
	g_ptr_array_unref(args->generations);
	pthread_mutex_destroy(&args->lock);
	g_free(args->path);
	g_free(args);
}

struct perfetto_args *perfetto_args_new(TachoTimeline *timeline, const gchar *path)
{
	struct perfetto_args *args = g_new0(struct perfetto_args, 1);

	args->reader = (struct foreign_reader){ .kernel = get_kernel,
						.collective = get_collective,
						.args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->timeline = timeline;
	args->path = g_strdup(path);
	args->places = g_array_new(FALSE, FALSE, sizeof(struct event_place));
	args->generations = g_ptr_array_new_with_free_func(perfetto_generation_free);
	pthread_mutex_init(&args->lock, NULL);
	args->foreign = tacho_source_take_foreign(timeline->source, &args->reader);
	return args->foreign == SOURCE_MAX_FOREIGN ? NULL : args;
}

guint32 perfetto_args_take_generation(struct perfetto_args *args,
				      struct perfetto_generation *generation)
{
	g_ptr_array_add(args->generations, generation);
	return args->generations->len - 1;
}

struct perfetto_generation *perfetto_args_borrow_generation(const struct perfetto_args *args,
							    guint32 number)
{
	return args->generations->pdata[number];
}

guint64 perfetto_args_handle(struct perfetto_args *args, guint64 offset, guint32 inner,
			     guint32 generation)
{
	struct event_place place = { .offset = offset, .inner = inner, .generation = generation };

	if (args->places->len == G_MAXUINT32 - 1)
		return 0;
	g_array_append_val(args->places, place);
	return tacho_source_foreign_handle(args->foreign, args->places->len - 1);
}
