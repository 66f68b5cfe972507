/* byte_stream: the bytes of a file, decoded where it is compressed (gzip, zstd), from its begin to its
 * end or from any place.
 *
 * (1) Files are read(2), not mapped: what has been read costs no memory, and a file that shrinks meanwhile
 *     is one that ends earlier.
 * (2) How a file is compressed is told by its first bytes, never by its name.
 * (3) What could be decoded before an error is handed out first; the error comes with the next call, and
 *     every call after it.
 * A stream is for one thread at a time. */
#ifndef TACHO_BYTE_STREAM_H
#define TACHO_BYTE_STREAM_H

#include <glib.h>

typedef struct _ByteStream ByteStream;

typedef enum {
	BYTE_CODING_NONE,
	BYTE_CODING_GZIP,
	BYTE_CODING_ZSTD,
} ByteCoding;

#define BYTE_STREAM_ERROR byte_stream_error_quark()
GQuark byte_stream_error_quark(void);
typedef enum {
	BYTE_STREAM_ERROR_TRUNCATED, /* compressed, and not to its end */
	BYTE_STREAM_ERROR_CORRUPT,   /* compressed, but not like this */
	BYTE_STREAM_ERROR_MEMORY,
} ByteStreamError;

/* Open the regular file at `path`. Errors are G_FILE_ERROR or BYTE_STREAM_ERROR, and name the file. */
ByteStream *byte_stream_open(const gchar *path, GError **error);
void byte_stream_close(ByteStream *stream);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ByteStream, byte_stream_close)

/* Read the next `size` decoded bytes, or fewer where the file ends; 0 at its end, -1 on an error, which
 * names the byte offset in the file. */
gssize byte_stream_read(ByteStream *stream, void *buffer, gsize size, GError **error);
/* Go on reading at the decoded `offset`; at most to the end. In a gzip file, places that have been
 * passed are found again from states kept on the way (each megabyte, later each 16th part of it); in a
 * zstd file, from its begin. */
gboolean byte_stream_seek(ByteStream *stream, guint64 offset, GError **error);

/* Where the next decoded byte stands. */
guint64 byte_stream_offset(const ByteStream *stream);
/* How much of the file, as it lies on the disk, has been read: 0 to 1. */
gdouble byte_stream_done(const ByteStream *stream);
ByteCoding byte_stream_coding(const ByteStream *stream);

#endif
