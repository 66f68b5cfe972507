/* call_kind: what a call of a device's runtime or driver does. */
#ifndef TACHO_CALL_KIND_H
#define TACHO_CALL_KIND_H

#include <tacho/timeline.h>

#define CALL_KINDS(KIND)                                                                           \
	KIND(OTHER)                                                                                \
	KIND(LAUNCH)	   /* a kernel */                                                          \
	KIND(GRAPH_LAUNCH) /* all work of a graph */                                               \
	KIND(BEGIN_CAPTURE)                                                                        \
	KIND(END_CAPTURE)                                                                          \
	KIND(COPY)	       /* whether it returns before the copy has ended is not known */     \
	KIND(COPY_ASYNC)       /* of plain bytes; returns when it likes */                         \
	KIND(COPY_SYNC)	       /* of plain bytes; returns when the copy has ended */               \
	KIND(COPY_SHAPED_SYNC) /* of rows, symbols and the like; the same */                       \
	KIND(FILL)                                                                                 \
	KIND(EVENT_RECORD) /* on a stream */                                                       \
	KIND(EVENT_WAIT)   /* by a stream */                                                       \
	KIND(EVENT_QUERY)  /* whether it has come; does not wait */                                \
	KIND(DEVICE_SYNC)  /* waits for all work of a device */                                    \
	KIND(STREAM_SYNC)                                                                          \
	KIND(EVENT_SYNC)                                                                           \
	KIND(SYNC) /* waits for something else, or it is not told what for */                      \
	KIND(FREE) /* gives back memory of a device, when no work uses it any more */              \
	KIND(WAIT) /* as SYNC, of runtimes whose waits the graph does not follow */

enum call_kind {
#define CALL_KIND_ENUM(enumerator) CALL_##enumerator,
	CALL_KINDS(CALL_KIND_ENUM)
#undef CALL_KIND_ENUM
		N_CALL_KINDS
};

/* What a call of that name (string id) does; and what a SYNC slice of that name waits for: EVENT_WAIT, DEVICE_SYNC,
 * STREAM_SYNC or EVENT_SYNC. */
enum call_kind call_kind_of_name(const TachoTimeline *timeline, guint32 name);

/* The same of a slice. */
static inline enum call_kind call_kind_of(const TachoTimeline *timeline, guint32 slice)
{
	return call_kind_of_name(timeline, timeline->slices.name[slice]);
}

static inline gboolean call_kind_copies(enum call_kind kind)
{
	return kind >= CALL_COPY && kind <= CALL_COPY_SHAPED_SYNC;
}

/* Whether such a call is there to wait: not those of a copy, nor of a free. */
static inline gboolean call_kind_syncs(enum call_kind kind)
{
	return kind >= CALL_DEVICE_SYNC && kind <= CALL_SYNC;
}

/* Whether such a call returns when a device has done something: one that is there to wait, or a copy that waits for itself. */
static inline gboolean call_kind_waits(enum call_kind kind)
{
	return call_kind_syncs(kind) || kind == CALL_WAIT || kind == CALL_COPY_SYNC ||
	       kind == CALL_COPY_SHAPED_SYNC;
}

#endif
