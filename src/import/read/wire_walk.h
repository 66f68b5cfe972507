/* wire_walk: protocol buffers, field by field: of bytes in memory (wire_cursor), and of a whole file, read
 * through a ByteStream (wire_walk).
 *
 * A file is often one message with gigabytes of fields: whoever walks it is told of each field before its
 * bytes are read, and then loads them, enters the message that they are, or goes on, which passes them over:
 *
 *     while (wire_walk_next(walk, &field) == WIRE_FIELD)
 *             if (field.number == LINES && wire_walk_enter(walk))
 *                     read_lines(walk);                  until its next() says WIRE_END: out again
 *             else if (field.number == NAME && wire_walk_load(walk, &field, MAX_NAME_BYTES))
 *                     use(field.bytes, field.n_bytes);
 *
 * (1) A length that a file claims is never allocated: memory grows with the bytes that come, up to the limit
 *     that the caller sets.
 * (2) What went wrong stays: every call after it tells the same, with the offset of the field it is about.
 * (3) A walk is for one thread. */
#ifndef TACHO_WIRE_WALK_H
#define TACHO_WIRE_WALK_H

#include <tacho/problem.h>

#include "base/byte_stream.h"

#define WIRE_MAX_DEPTH 16

/* As encoded in the low bits of a tag; groups, types 3 and 4, are not read. */
enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2, /* a text, a message, or packed numbers */
	WIRE_FIXED32 = 5,
};

enum wire_result {
	WIRE_FIELD,
	WIRE_END,	/* of the message */
	WIRE_TRUNCATED, /* the file ends inside a field */
	WIRE_BROKEN,	/* no such encoding; or a field is longer than the message it is in */
	WIRE_FAILED,	/* the file cannot be read or decompressed, or memory is short */
};

struct wire_field {
	guint32 number;
	enum wire_type type;
	guint64 offset;	     /* of its tag: in the decoded file; of a cursor, from its first byte */
	guint64 value;	     /* VARINT and FIXED: the bits */
	guint64 n_bytes;     /* BYTES: how many it says it has */
	const guint8 *bytes; /* BYTES: of a cursor, or when loaded */
};

static inline gint64 wire_signed(const struct wire_field *field)
{
	return (gint64)field->value;
}

/* FIXED64 as a double. */
static inline gdouble wire_double(const struct wire_field *field)
{
	gdouble number;

	__builtin_memcpy(&number, &field->value, sizeof(number));
	return number;
}

/* --- in memory ------------------------------------------------------------------------------ */

struct wire_cursor {
	const guint8 *begin, *at, *end;
};

static inline struct wire_cursor wire_cursor_of(const void *bytes, gsize n)
{
	return (struct wire_cursor){ bytes, bytes, (const guint8 *)bytes + n };
}

/* The next field. After WIRE_TRUNCATED or WIRE_BROKEN, `at` is where the field begins. */
enum wire_result wire_cursor_next(struct wire_cursor *cursor, struct wire_field *field);

/* The next number of a packed field's bytes; FALSE: there is no more, or it is broken. */
gboolean wire_cursor_varint(struct wire_cursor *cursor, guint64 *ret_value);

/* Whether `n` bytes are a message, as far as they go: every whole field has a number up to `max_field`, and
 * there is one at least. The last field may be cut. For sniffing, which sees only a file's head. */
gboolean wire_looks_like_message(const void *bytes, gsize n, guint32 max_field);

/* --- a file --------------------------------------------------------------------------------- */

typedef struct wire_walk wire_walk;

/* A walk of the file at `path`, from its begin. Errors are byte_stream_open()'s. */
wire_walk *wire_walk_open(const gchar *path, GError **error);
void wire_walk_close(struct wire_walk *walk);

/* The next field of the message; `bytes` is NULL. WIRE_END: of the message that was entered last, and the next
 * call goes on behind it; or of the file. */
enum wire_result wire_walk_next(struct wire_walk *walk, struct wire_field *field);
/* Go into the message that the field just returned holds. FALSE: it is not of type BYTES, or WIRE_MAX_DEPTH
 * messages are entered already. */
gboolean wire_walk_enter(struct wire_walk *walk);
/* Read the bytes of the field just returned; they are good until the next call. FALSE: not of type BYTES, or
 * longer than `max_bytes`, and next() goes on behind it; or the file ends, which next() then tells. */
gboolean wire_walk_load(struct wire_walk *walk, struct wire_field *field, gsize max_bytes);
/* Leave all messages and go on at the decoded `offset` as at the file's begin; whatever went wrong before is
 * forgotten. FALSE: that cannot be read. */
gboolean wire_walk_seek(struct wire_walk *walk, guint64 offset);

/* Where the next field begins. */
guint64 wire_walk_offset(const struct wire_walk *walk);
/* How much of the file has been read, 0 to 1. */
gdouble wire_walk_done(const struct wire_walk *walk);
/* The kind of problem that makes for a timeline: TRUNCATED_FILE, CORRUPT_RECORD, UNREADABLE_FILE. */
TachoProblemKind wire_walk_problem_kind(const struct wire_walk *walk);
/* Why next() said neither WIRE_FIELD nor WIRE_END: the file, the byte and what is wrong there; NULL: it did not. */
const gchar *wire_walk_problem(const struct wire_walk *walk);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(wire_walk, wire_walk_close)

#endif
