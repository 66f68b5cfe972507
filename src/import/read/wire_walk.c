/* The encoding: a field is a tag (a varint: number << 3 | type), then a varint, 4 or 8 bytes, or a varint length
 * and that many bytes (protobuf.dev, "Encoding").
 *
 * A walk reads the file through a window of bytes, [begin, end) of `buffer`; `offset` is where begin stands in
 * the decoded file. What a field has beyond its length is not in the window until it is loaded: `pending` bytes
 * follow that belong to the last field. */
#include "import/read/wire_walk.h"

#include <string.h>

#define MAX_FIELD_NUMBER ((1u << 29) - 1)
#define NO_FILE_BYTES	 (G_GUINT64_CONSTANT(1) << 60) /* no file is as long */

enum {
	MAX_VARINT_BYTES = 10,
	MAX_HEAD_BYTES = 2 * MAX_VARINT_BYTES, /* of a field without the bytes of a WIRE_BYTES */
	WINDOW_BYTES = 64 * 1024,
	SEEK_BYTES = 256 * 1024, /* less is passed over by reading it */
};

/* --- in memory ------------------------------------------------------------------------------ */

/* 0: cut, or longer than any. */
static guint parse_varint(const guint8 *at, const guint8 *end, guint64 *ret_value)
{
	guint64 value = 0;

	for (guint i = 0; i < MAX_VARINT_BYTES && at + i < end; i++) {
		value |= (guint64)(at[i] & 0x7f) << (7 * i);
		if (!(at[i] & 0x80)) {
			*ret_value = value;
			return i + 1;
		}
	}
	return 0;
}

gboolean wire_cursor_varint(struct wire_cursor *cursor, guint64 *ret_value)
{
	guint n = parse_varint(cursor->at, cursor->end, ret_value);

	cursor->at += n;
	return n > 0;
}

/* What it means that there is no varint in the last bytes up to `end`. */
static enum wire_result missing_varint(const guint8 *at, const guint8 *end)
{
	return end - at < MAX_VARINT_BYTES ? WIRE_TRUNCATED : WIRE_BROKEN;
}

static enum wire_result parse_fixed(const guint8 *at, const guint8 *end, guint size,
				    struct wire_field *field, guint *ret_n)
{
	guint64 value = 0;

	if (end - at < (gssize)size)
		return WIRE_TRUNCATED;
	for (guint i = 0; i < size; i++)
		value |= (guint64)at[i] << (8 * i);
	field->value = value;
	*ret_n += size;
	return WIRE_FIELD;
}

/* A field without its bytes; its length in *ret_n. */
static enum wire_result parse_head(const guint8 *at, const guint8 *end, struct wire_field *field,
				   guint *ret_n)
{
	guint64 tag;
	guint n = parse_varint(at, end, &tag), n_more;

	if (!n)
		return missing_varint(at, end);
	if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD_NUMBER)
		return WIRE_BROKEN;
	field->number = (guint32)(tag >> 3);
	field->type = (enum wire_type)(tag & 7);
	field->value = field->n_bytes = 0;
	field->bytes = NULL;
	*ret_n = n;
	at += n;
	switch (field->type) {
	case WIRE_FIXED64:
		return parse_fixed(at, end, 8, field, ret_n);
	case WIRE_FIXED32:
		return parse_fixed(at, end, 4, field, ret_n);
	case WIRE_VARINT:
	case WIRE_BYTES:
		n_more = parse_varint(at, end,
				      field->type == WIRE_BYTES ? &field->n_bytes : &field->value);
		*ret_n += n_more;
		return n_more ? WIRE_FIELD : missing_varint(at, end);
	default:
		return WIRE_BROKEN;
	}
}

enum wire_result wire_cursor_next(struct wire_cursor *cursor, struct wire_field *field)
{
	enum wire_result result;
	guint n = 0;

	if (cursor->at >= cursor->end)
		return WIRE_END;
	result = parse_head(cursor->at, cursor->end, field, &n);
	if (result != WIRE_FIELD)
		return result;
	field->offset = (guint64)(cursor->at - cursor->begin);
	if (field->type == WIRE_BYTES) {
		if (field->n_bytes > (guint64)(cursor->end - cursor->at) - n)
			return WIRE_TRUNCATED;
		field->bytes = cursor->at + n;
	}
	cursor->at += n + field->n_bytes;
	return WIRE_FIELD;
}

gboolean wire_looks_like_message(const void *bytes, gsize n, guint32 max_field)
{
	struct wire_cursor cursor = wire_cursor_of(bytes, n);
	struct wire_field field;
	enum wire_result result;
	guint n_fields = 0;

	while ((result = wire_cursor_next(&cursor, &field)) == WIRE_FIELD) {
		if (field.number > max_field)
			return FALSE;
		n_fields++;
	}
	if (result != WIRE_TRUNCATED)
		return result == WIRE_END && n_fields;
	/* the field that is cut: its number, if that much is there, must be one, too */
	return parse_varint(cursor.at, cursor.end, &field.value) ? field.value >> 3 <= max_field
								 : n_fields > 0;
}

/* --- a file --------------------------------------------------------------------------------- */

struct wire_walk {
	ByteStream *stream;
	gchar *path;
	guint8 *buffer;
	gsize capacity, begin, end;
	guint64 offset;		      /* of buffer[begin] */
	guint64 field_offset;	      /* of the last field's tag */
	guint64 pending;	      /* bytes of the last field from `offset` on */
	guint64 ends[WIRE_MAX_DEPTH]; /* of the messages that were entered */
	guint depth;
	gboolean can_enter;	  /* the last field has bytes, and was not entered yet */
	enum wire_result failure; /* WIRE_FIELD: none so far */
	gchar *problem;
};

struct wire_walk *wire_walk_open(const gchar *path, GError **error)
{
	ByteStream *stream = byte_stream_open(path, error);
	struct wire_walk *walk;

	if (!stream)
		return NULL;
	walk = g_new0(struct wire_walk, 1);
	walk->stream = stream;
	walk->path = g_strdup(path);
	walk->capacity = WINDOW_BYTES;
	walk->buffer = g_malloc(walk->capacity);
	return walk;
}

void wire_walk_close(struct wire_walk *walk)
{
	if (!walk)
		return;
	byte_stream_close(walk->stream);
	g_free(walk->path);
	g_free(walk->buffer);
	g_free(walk->problem);
	g_free(walk);
}

static enum wire_result fail(struct wire_walk *walk, enum wire_result failure, const gchar *why)
{
	g_free(walk->problem);
	walk->failure = failure;
	walk->problem = g_strdup_printf("%s: byte %" G_GUINT64_FORMAT ": %s", walk->path,
					walk->field_offset, why);
	return failure;
}

static enum wire_result fail_truncated(struct wire_walk *walk)
{
	return fail(walk, WIRE_TRUNCATED, "the file ends inside this field");
}

/* The stream's errors name file and byte themselves. */
static gboolean fail_stream(struct wire_walk *walk, GError *error)
{
	g_free(walk->problem);
	walk->failure = g_error_matches(error, BYTE_STREAM_ERROR, BYTE_STREAM_ERROR_TRUNCATED)
				? WIRE_TRUNCATED
				: WIRE_FAILED;
	walk->problem = g_strdup(error->message);
	g_error_free(error);
	return FALSE;
}

static gsize in_window(const struct wire_walk *walk)
{
	return walk->end - walk->begin;
}

static void consume(struct wire_walk *walk, gsize n)
{
	walk->begin += n;
	walk->offset += n;
}

/* Room behind `end`: by moving the window to the front, else by more memory (1). */
static gboolean make_room(struct wire_walk *walk)
{
	guint8 *larger;

	if (walk->begin > 0) {
		memmove(walk->buffer, walk->buffer + walk->begin, in_window(walk));
		walk->end -= walk->begin;
		walk->begin = 0;
	}
	if (walk->end < walk->capacity)
		return TRUE;
	larger = g_try_realloc(walk->buffer, walk->capacity * 2);
	if (!larger) {
		fail(walk, WIRE_FAILED, "there is not enough memory for this field");
		return FALSE;
	}
	walk->buffer = larger;
	walk->capacity *= 2;
	return TRUE;
}

/* Have `n` bytes in the window, or all that are left of the file. FALSE: it failed. */
static gboolean fill(struct wire_walk *walk, gsize n)
{
	while (in_window(walk) < n) {
		GError *error = NULL;
		gssize n_read;

		if (walk->begin + n > walk->capacity && !make_room(walk))
			return FALSE;
		n_read = byte_stream_read(walk->stream, walk->buffer + walk->end,
					  walk->capacity - walk->end, &error);
		if (n_read < 0)
			return fail_stream(walk, error);
		if (n_read == 0)
			return TRUE;
		walk->end += (gsize)n_read;
	}
	return TRUE;
}

/* To `offset`, by way of the byte before it: in a file that ends earlier that one is not there, which a stream
 * does not tell. */
static gboolean seek_stream(struct wire_walk *walk, guint64 offset)
{
	GError *error = NULL;

	if (offset >= NO_FILE_BYTES) {
		fail_truncated(walk);
		return FALSE;
	}
	walk->begin = walk->end = 0;
	walk->offset = offset ? offset - 1 : 0;
	if (!byte_stream_seek(walk->stream, walk->offset, &error))
		return fail_stream(walk, error);
	if (!offset)
		return TRUE;
	if (!fill(walk, 1))
		return FALSE;
	if (in_window(walk) == 0) {
		fail_truncated(walk);
		return FALSE;
	}
	consume(walk, 1);
	return TRUE;
}

/* Pass over what the last field has left. FALSE: it failed, or the file ends before. */
static gboolean pass_over(struct wire_walk *walk)
{
	guint64 target;

	if (__builtin_add_overflow(walk->offset, walk->pending, &target)) {
		fail_truncated(walk);
		return FALSE;
	}
	while (walk->offset < target) {
		if (in_window(walk) == 0 && target - walk->offset > SEEK_BYTES) {
			if (!seek_stream(walk, target))
				return FALSE;
			continue;
		}
		if (!fill(walk, 1))
			return FALSE;
		if (in_window(walk) == 0)
			break;
		consume(walk, (gsize)MIN(in_window(walk), target - walk->offset));
	}
	walk->pending = 0;
	if (walk->offset < target)
		fail_truncated(walk);
	return walk->offset == target;
}

/* How many bytes the innermost message has left; G_MAXUINT64: nobody knows. */
static guint64 bytes_left(const struct wire_walk *walk)
{
	return walk->depth ? walk->ends[walk->depth - 1] - walk->offset : G_MAXUINT64;
}

static enum wire_result parse_next(struct wire_walk *walk, struct wire_field *field)
{
	guint64 left = bytes_left(walk);
	const guint8 *at = walk->buffer + walk->begin;
	gsize n_there = (gsize)MIN(in_window(walk), left);
	enum wire_result result;
	guint n = 0;

	result = parse_head(at, at + n_there, field, &n);
	if (result == WIRE_TRUNCATED && n_there < left) /* it is the file that ends */
		return fail_truncated(walk);
	if (result != WIRE_FIELD)
		return fail(walk, WIRE_BROKEN, "this is not a field of a protocol buffer");
	if (field->n_bytes > left - n)
		return fail(walk, WIRE_BROKEN, "the field is longer than the message around it");
	field->offset = walk->field_offset;
	consume(walk, n);
	walk->pending = field->n_bytes;
	walk->can_enter = field->type == WIRE_BYTES;
	return WIRE_FIELD;
}

enum wire_result wire_walk_next(struct wire_walk *walk, struct wire_field *field)
{
	if (walk->failure != WIRE_FIELD || !pass_over(walk))
		return walk->failure;
	walk->field_offset = walk->offset;
	walk->can_enter = FALSE;
	if (bytes_left(walk) == 0) {
		walk->depth--;
		return WIRE_END;
	}
	if (!fill(walk, MAX_HEAD_BYTES))
		return walk->failure;
	if (in_window(walk) == 0)
		return walk->depth ? fail_truncated(walk) : WIRE_END;
	return parse_next(walk, field);
}

gboolean wire_walk_enter(struct wire_walk *walk)
{
	guint64 end;

	if (walk->failure != WIRE_FIELD || !walk->can_enter || walk->depth == WIRE_MAX_DEPTH ||
	    __builtin_add_overflow(walk->offset, walk->pending, &end))
		return FALSE;
	walk->can_enter = FALSE;
	walk->ends[walk->depth++] = end;
	walk->pending = 0;
	return TRUE;
}

gboolean wire_walk_load(struct wire_walk *walk, struct wire_field *field, gsize max_bytes)
{
	gsize n;

	if (walk->failure != WIRE_FIELD || field->type != WIRE_BYTES ||
	    walk->pending != field->n_bytes || field->n_bytes > max_bytes)
		return FALSE;
	n = (gsize)field->n_bytes;
	if (!fill(walk, n))
		return FALSE;
	if (in_window(walk) < n) {
		fail_truncated(walk);
		return FALSE;
	}
	field->bytes = walk->buffer + walk->begin;
	return TRUE;
}

gboolean wire_walk_seek(struct wire_walk *walk, guint64 offset)
{
	g_clear_pointer(&walk->problem, g_free);
	walk->failure = WIRE_FIELD;
	walk->depth = 0;
	walk->pending = 0;
	walk->can_enter = FALSE;
	walk->field_offset = offset;
	if (offset >= walk->offset && offset - walk->offset <= in_window(walk)) {
		consume(walk, (gsize)(offset - walk->offset));
		return TRUE;
	}
	return seek_stream(walk, offset);
}

guint64 wire_walk_offset(const struct wire_walk *walk)
{
	return walk->offset + walk->pending;
}

gdouble wire_walk_done(const struct wire_walk *walk)
{
	return byte_stream_done(walk->stream);
}

const gchar *wire_walk_problem(const struct wire_walk *walk)
{
	return walk->problem;
}

TachoProblemKind wire_walk_problem_kind(const struct wire_walk *walk)
{
	if (walk->failure == WIRE_TRUNCATED)
		return TACHO_PROBLEM_TRUNCATED_FILE;
	return walk->failure == WIRE_BROKEN ? TACHO_PROBLEM_CORRUPT_RECORD
					    : TACHO_PROBLEM_UNREADABLE_FILE;
}
