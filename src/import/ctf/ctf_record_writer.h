/* ctf_record_writer: writes records (ctf_records.h) to a descriptor, many at once. */
#ifndef TACHO_CTF_RECORD_WRITER_H
#define TACHO_CTF_RECORD_WRITER_H

#include <string.h>

#include "import/ctf/ctf_records.h"

struct ctf_record_writer {
	int out;
	guint8 *bytes; /* not yet written: n_bytes of n_allocated */
	gsize n_bytes, n_allocated;
	gboolean is_broken;   /* nothing can be written any more */
	const gchar *failure; /* a record that cannot be one, NULL: none yet */
};

void ctf_record_writer_init(struct ctf_record_writer *writer, int out);
void ctf_record_writer_release(struct ctf_record_writer *writer);

/* Begin a record; returns where it is, until it ends. Its size is set by ctf_record_end(). */
gsize ctf_record_begin(struct ctf_record_writer *writer, enum ctf_record_kind kind,
		       gsize size_bytes);
void ctf_record_end(struct ctf_record_writer *writer, gsize record);
/* Make room for `n` bytes more. */
void ctf_record_grow(struct ctf_record_writer *writer, gsize n);
/* A struct ctf_string; NULL is an empty one. */
void ctf_record_add_string(struct ctf_record_writer *writer, const gchar *text);
/* A text behind the slots of the record; returns what its slot says. */
guint64 ctf_record_add_text(struct ctf_record_writer *writer, gsize record, const gchar *text,
			    gsize n);
/* Write what is not yet written. */
void ctf_record_flush(struct ctf_record_writer *writer);

/* Zeros at the end of the record that has begun; good until the next are added. */
static inline void *ctf_record_add(struct ctf_record_writer *writer, gsize n)
{
	gsize offset = writer->n_bytes;

	if (writer->n_allocated - offset < n)
		ctf_record_grow(writer, n);
	writer->n_bytes += n;
	return memset(writer->bytes + offset, 0, n);
}

static inline void *ctf_record_at(const struct ctf_record_writer *writer, gsize record)
{
	return writer->bytes + record;
}

#endif
