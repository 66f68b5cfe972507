/* lttng_stream: one stream of a process that is put together again (lttng_run.h): a file as the agent writes them, whole when it is
 * closed. What is not yet in the file is in memory, MAX_TAIL_BYTES of it. */
#ifndef TACHO_LTTNG_STREAM_H
#define TACHO_LTTNG_STREAM_H

#include <glib.h>

#include "trace/trace_layout.h"

struct lttng_stream;

/* The stream's file will be `path`. */
struct lttng_stream *lttng_stream_new(const gchar *path, guint32 number, guint32 tid);
void lttng_stream_free(struct lttng_stream *stream);

/* Put a record behind the others: `n_words` of what is behind its header. FALSE: it is out of order, or none, and left out. */
gboolean lttng_stream_add(struct lttng_stream *stream, guint64 position,
			  const struct record_header *header, const guint64 *words, guint n_words,
			  enum trace_kind kind);
/* The slice at `position` has ended; what is behind its duration begins with `words` now. FALSE: it is not there. */
gboolean lttng_stream_end(struct lttng_stream *stream, guint64 position, guint64 duration,
			  const guint64 *words, guint n_words);
/* So many records the stream has lost. */
void lttng_stream_set_discarded(struct lttng_stream *stream, guint64 count);

/* Write the file with its header: of `header` the uuid and the pair of clocks are taken. A stream without records leaves none. */
gboolean lttng_stream_close(struct lttng_stream *stream, const struct packet_header *header,
			    GError **error);

#endif
