/* perfetto_args: the debug annotations of a Perfetto trace's events, read from the file when asked for. */
#ifndef TACHO_PERFETTO_ARGS_H
#define TACHO_PERFETTO_ARGS_H

#include "import/perfetto/perfetto_state.h"
#include "trace/source.h"

struct perfetto_args;

/* Have the timeline read them from the file at `path`. NULL: there are more files than can be. */
struct perfetto_args *perfetto_args_new(TachoTimeline *timeline, const gchar *path);
/* Take over a generation of names; returns its number. */
guint32 perfetto_args_take_generation(struct perfetto_args *args,
				      struct perfetto_generation *generation);
struct perfetto_generation *perfetto_args_borrow_generation(const struct perfetto_args *args,
							    guint32 number);

/* A handle for the event in the packet whose field begins at the decoded `offset`; `inner`: its number
 * among the packets that are compressed in there, counted from 1, or 0: it is that packet itself. */
guint64 perfetto_args_handle(struct perfetto_args *args, guint64 offset, guint32 inner,
			     guint32 generation);

/* The annotations of a TrackEvent as the text of a JSON object; NULL: it has none. To be freed with g_free(). */
gchar *perfetto_annotations_json(const TachoTimeline *timeline,
				 const struct perfetto_generation *generation,
				 struct wire_cursor event);

#define PERFETTO_MAX_PACKET_BYTES ((gsize)64 << 20)

/* The bytes of compressed packets, unpacked: a Trace. NULL: broken, or more than PERFETTO_MAX_PACKET_BYTES. */
GByteArray *perfetto_inflate(const guint8 *bytes, gsize n);

#endif
