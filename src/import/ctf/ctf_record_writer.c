#include "import/ctf/ctf_record_writer.h"

#include <errno.h>
#include <unistd.h>

enum { FLUSH_BYTES = 256 << 10 };

void ctf_record_writer_init(struct ctf_record_writer *writer, int out)
{
	*writer = (struct ctf_record_writer){ .out = out };
	ctf_record_grow(writer, 2 * FLUSH_BYTES);
}

void ctf_record_writer_release(struct ctf_record_writer *writer)
{
	g_free(writer->bytes);
}

void ctf_record_flush(struct ctf_record_writer *writer)
{
	const guint8 *at = writer->bytes;
	gsize n = writer->n_bytes;

	while (n && !writer->is_broken) {
		gssize n_done = write(writer->out, at, n);

		if (n_done < 0 && errno == EINTR)
			continue;
		if (n_done <= 0) {
			writer->is_broken = TRUE;
			break;
		}
		at += n_done;
		n -= (gsize)n_done;
	}
	writer->n_bytes = 0;
}

void ctf_record_grow(struct ctf_record_writer *writer, gsize n)
{
	writer->n_allocated = MAX(2 * writer->n_allocated, writer->n_bytes + n);
	writer->bytes = g_realloc(writer->bytes, writer->n_allocated);
}

void ctf_record_add_string(struct ctf_record_writer *writer, const gchar *text)
{
	gsize n = text ? strlen(text) : 0;
	struct ctf_string *string;

	n = MIN(n, G_MAXUINT16);
	string = ctf_record_add(writer, sizeof(*string) + (n + 8) / 8 * 8);
	string->n = (guint32)n;
	if (n)
		memcpy(string + 1, text, n);
}

guint64 ctf_record_add_text(struct ctf_record_writer *writer, gsize record, const gchar *text,
			    gsize n)
{
	gsize offset = writer->n_bytes - record;

	if (n >= CTF_MAX_RECORD_BYTES || offset >= CTF_MAX_RECORD_BYTES) {
		writer->failure = "a text of more than 64 MiB";
		return 0;
	}
	memcpy(ctf_record_add(writer, n + 1), text, n);
	return (guint64)n << 32 | offset;
}

gsize ctf_record_begin(struct ctf_record_writer *writer, enum ctf_record_kind kind,
		       gsize size_bytes)
{
	gsize offset = writer->n_bytes;
	struct ctf_record *record = ctf_record_add(writer, size_bytes);

	record->kind = kind;
	return offset;
}

void ctf_record_end(struct ctf_record_writer *writer, gsize offset)
{
	gsize padding = -writer->n_bytes & 7;
	struct ctf_record *record;

	if (padding)
		ctf_record_add(writer, padding);
	record = ctf_record_at(writer, offset);
	record->size_bytes = (guint32)(writer->n_bytes - offset);
	if (writer->n_bytes - offset > CTF_MAX_RECORD_BYTES) {
		writer->n_bytes = offset;
		writer->failure = "an event of more than 64 MiB";
	}
	if (writer->n_bytes >= FLUSH_BYTES)
		ctf_record_flush(writer);
}
