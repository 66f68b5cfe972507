/* xplane_space: the planes of an XSpace, with what they say of their events: all but the events.
 *
 * A plane's lines stand in the file before the names of what is on them, so a file is read twice: first this,
 * then the events, line by line (xplane_import.c).
 *
 * (1) Names are strings of the timeline. What a plane says of a kind of event is kept in few figures
 *     (struct xplane_kind); the rest is read again when somebody asks.
 * (2) A plane that is broken inside ends there; the planes behind it are read. */
#ifndef TACHO_XPLANE_SPACE_H
#define TACHO_XPLANE_SPACE_H

#include <tacho/timeline.h>

#include "import/read/id_table.h"
#include "import/read/proto_arena.h"
#include "import/read/wire_walk.h"
#include "import/xla/xplane.pb-c.h"

/* Field numbers. */
enum {
	XSPACE_PLANES = 1,
	XSPACE_ERRORS = 2,
	XSPACE_WARNINGS = 3,
	XSPACE_HOSTNAMES = 4,

	XPLANE_ID = 1,
	XPLANE_NAME = 2,
	XPLANE_LINES = 3,
	XPLANE_EVENT_METADATA = 4,
	XPLANE_STAT_METADATA = 5,
	XPLANE_STATS = 6,

	XLINE_ID = 1,
	XLINE_NAME = 2,
	XLINE_TIMESTAMP_NS = 3,
	XLINE_EVENTS = 4,
	XLINE_DURATION_PS = 9,
	XLINE_DISPLAY_ID = 10,
	XLINE_DISPLAY_NAME = 11,
};

/* XPLANE_STAT(enumerator, name): the stats that are read; all others stay args. */
#define XPLANE_KNOWN_STATS(XPLANE_STAT)                                                            \
	XPLANE_STAT(CORRELATION, correlation_id)                                                   \
	XPLANE_STAT(GROUP, group_id)                                                               \
	XPLANE_STAT(STEP, step_num)                                                                \
	XPLANE_STAT(FLOPS, flops)                                                                  \
	XPLANE_STAT(BYTES, bytes_accessed)                                                         \
	XPLANE_STAT(CATEGORY, hlo_category)                                                        \
	XPLANE_STAT(HLO_OP, hlo_op)                                                                \
	XPLANE_STAT(TF_OP, tf_op)                                                                  \
	XPLANE_STAT(KERNEL, kernel_details)                                                        \
	XPLANE_STAT(MEMCPY, memcpy_details)                                                        \
	XPLANE_STAT(MEMSET, memset_details)                                                        \
	XPLANE_STAT(PRODUCER_TYPE, _pt)                                                            \
	XPLANE_STAT(PRODUCER, _p)                                                                  \
	XPLANE_STAT(CONSUMER_TYPE, _ct)                                                            \
	XPLANE_STAT(CONSUMER, _c)                                                                  \
	XPLANE_STAT(ALLOCATION, allocation_bytes)                                                  \
	XPLANE_STAT(ADDRESS, addr)                                                                 \
	XPLANE_STAT(ALLOCATOR, allocator_name)                                                     \
	XPLANE_STAT(ALLOCATED, bytes_allocated)                                                    \
	XPLANE_STAT(RESERVED, bytes_reserved)                                                      \
	XPLANE_STAT(REQUESTED, requested_bytes)                                                    \
	XPLANE_STAT(MOST_ALLOCATED, peak_bytes_in_use)                                             \
	XPLANE_STAT(FRAGMENTATION, fragmentation)                                                  \
	XPLANE_STAT(HLO_MODULE, hlo_module)                                                        \
	XPLANE_STAT(RUN, run_id)                                                                   \
	XPLANE_STAT(ORDINAL, device_ordinal)                                                       \
	XPLANE_STAT(START_TIME, profile_start_time)

enum xplane_stat {
	XPLANE_STAT_UNKNOWN,
#define XPLANE_STAT_ENUM(enumerator, name) XPLANE_STAT_##enumerator,
	XPLANE_KNOWN_STATS(XPLANE_STAT_ENUM)
#undef XPLANE_STAT_ENUM
		XPLANE_N_STATS
};

/* Values of stats, as far as they are known and there: numbers, or strings of the timeline. */
struct xplane_stats {
	guint32 present; /* bit a xplane_stat */
	guint64 numbers[XPLANE_N_STATS];
	guint32 texts[XPLANE_N_STATS];
	gdouble fragmentation; /* of an allocator, a share; 0: not there */
};

static inline gboolean xplane_stats_have(const struct xplane_stats *stats, enum xplane_stat stat)
{
	return stats->present >> stat & 1;
}

/* A kind of event (XEventMetadata). */
struct xplane_kind {
	guint32 name;	  /* to show: the display name, if it has one */
	guint32 category; /* hlo_category, 0: none */
	guint64 offset;	  /* of its entry in the file */
	guint64 flops, bytes;
	gboolean has_hlo_op, has_tf_op;
};

struct xplane_line {
	guint64 offset; /* of its field in the file */
	gint64 id, timestamp_ns;
	guint32 name; /* to show */
	guint64 n_events;
};

struct xplane_plane {
	guint64 offset; /* of its field in the file */
	guint32 name;
	GArray *lines; /* struct xplane_line */
	GArray *kinds; /* struct xplane_kind */
	struct id_table kind_rows;
	GArray *stat_names; /* guint32 strings */
	GArray *stat_known; /* guint8 enum xplane_stat, by row of stat_names */
	struct id_table stat_rows;
	struct xplane_stats stats;
	gchar *stats_json; /* all of them; NULL: none */
};

struct xplane_problem {
	TachoProblemKind kind;
	gchar *where;
};

struct xplane_space {
	GPtrArray *planes; /* struct xplane_plane */
	guint32 host;	   /* string; 0: not told */
	guint32 errors;	   /* strings, what the profiler had to say; 0: nothing */
	guint32 warnings;
	gint64 start_unix_ns; /* of the recording; 0: not told, then times are what they are */
	guint64 n_unknown;    /* fields of planes and lines that nothing here knows */
	guint64 n_dropped;    /* lines and kinds beyond what there may be */
	GArray *problems;     /* struct xplane_problem: where the file is broken */
};

/* Read all but the events; what is broken becomes a problem. */
void xplane_space_read(struct xplane_space *space, wire_walk *walk, struct proto_arena *arena,
		       TachoTimeline *timeline);
/* Make problems of the timeline of what was broken. */
void xplane_space_report(const struct xplane_space *space, TachoTimeline *timeline);
void xplane_space_release(struct xplane_space *space);

/* Add what is known of the values of `n` stats to `stats`, which must be initialised. `timeline` NULL: texts
 * that are no names of the plane are left out, so that any thread may call it. */
void xplane_stats_add(struct xplane_stats *stats, const struct xplane_plane *plane,
		      Tacho__Xplane__XStat *const *values, gsize n, TachoTimeline *timeline);

static inline const struct xplane_plane *xplane_space_plane(const struct xplane_space *space,
							    guint i)
{
	return g_ptr_array_index(space->planes, i);
}

/* The name of the stat with that id; 0: it has none. */
guint32 xplane_stat_name(const struct xplane_plane *plane, gint64 id);
/* NULL: no such kind. */
const struct xplane_kind *xplane_find_kind(const struct xplane_plane *plane, gint64 id);

#endif
