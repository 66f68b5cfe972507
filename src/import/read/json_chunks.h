/* json_chunks: the elements of a long JSON array, in pieces that several threads can read at once.
 *
 * The array is in a file of any size, alone or as a member of an object. A piece is cut where an element
 * seems to end and the next to begin: a brace, a comma, and a brace with one of the members that events
 * begin with. That is a guess: such a place may lie inside an element or a string. Whoever reads a piece
 * finds out, since then it does not end with an element; the reader starts over with pieces that are cut
 * by nobody: `is_careful`, one thread, an unfinished element carried over to the next piece.
 *
 * (1) Pieces follow each other without gap, in the order of `index`.
 * (2) At most one piece a thread is in memory. A piece is larger than usual only where a single element
 *     is.
 * (3) Reading the file is behind a lock, reading what is in a piece is not. */
#ifndef TACHO_JSON_CHUNKS_H
#define TACHO_JSON_CHUNKS_H

#include <glib.h>

#include "base/byte_stream.h"

typedef struct _JsonChunks JsonChunks;

struct json_chunk {
	gchar *bytes; /* JSON_PADDING '"' behind them */
	gsize n, capacity;
	guint64 offset; /* in the decoded file */
	guint index;
	gboolean is_last; /* the file ends here */
};

/* Called with what stands before the array, from the begin of the file, and whether that is all there is;
 * sets how long it is, up to and with the '['. False: more of the file is needed, or, of all there is: no
 * such array. */
typedef gboolean (*JsonHead)(const gchar *bytes, gsize n, gboolean is_all, gpointer data,
			     gsize *ret_n_head);

/* Open the file and pass over its head. */
JsonChunks *json_chunks_open(const gchar *path, gboolean is_careful, JsonHead head, gpointer data,
			     GError **error);
void json_chunks_close(JsonChunks *chunks);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JsonChunks, json_chunks_close)

/* The next piece, in the room of the piece before; zeroed storage is an empty piece, to be released.
 * False: there is none, or, with the error set, it cannot be read. For any thread. */
gboolean json_chunks_next(JsonChunks *chunks, struct json_chunk *chunk, GError **error);
/* Careful: of the piece handed out last, the bytes from `n_used` on come again, at the begin of the
 * next. */
void json_chunks_give_back(JsonChunks *chunks, const struct json_chunk *chunk, gsize n_used);
void json_chunk_release(struct json_chunk *chunk);

/* How much of the file has been read: 0 to 1. */
gdouble json_chunks_done(const JsonChunks *chunks);

/* The last place in [bytes, bytes + n) where an element seems to begin, as an offset; 0: there is none. */
gsize json_chunks_find_cut(const gchar *bytes, gsize n);
/* The first such place at or behind `from`; n: there is none. */
gsize json_chunks_find_next(const gchar *bytes, gsize n, gsize from);

#endif
