/* perfetto_state: what a packet of a Perfetto trace means depends on the packets before it: names that its sequence
 * has interned, defaults, clocks.
 *
 * (1) A sequence's names begin anew when a packet says that the state is cleared. Names of a generation are
 *     only ever added, so whoever knows the generation can read an event again.
 * (2) Times of all clocks become those of the trace's own (BOOTTIME, if it does not say another). */
#ifndef TACHO_PERFETTO_STATE_H
#define TACHO_PERFETTO_STATE_H

#include <tacho/timeline.h>

#include "import/read/wire_walk.h"

/* What is in a field: nothing, where it holds no bytes. */
static inline struct wire_cursor perfetto_cursor(const struct wire_field *field)
{
	return field->type == WIRE_BYTES ? wire_cursor_of(field->bytes, (gsize)field->n_bytes)
					 : (struct wire_cursor){ NULL, NULL, NULL };
}

/* Fields of InternedData: which name it is. */
enum perfetto_names {
	PERFETTO_CATEGORIES = 1,
	PERFETTO_EVENT_NAMES = 2,
	PERFETTO_ANNOTATION_NAMES = 3,
	PERFETTO_GPU_SPECIFICATIONS = 24,
	PERFETTO_STRING_VALUES = 29,
};

/* (1): from kind and number to string ids of the timeline. */
struct perfetto_generation {
	GHashTable *names;
};

struct perfetto_generation *perfetto_generation_new(void);
void perfetto_generation_free(gpointer generation);
/* Take in the names of an InternedData. False: it is broken. */
gboolean perfetto_generation_add(struct perfetto_generation *generation, TachoTimeline *timeline,
				 struct wire_cursor data);
/* A string id; FALSE: no such name. */
gboolean perfetto_generation_find(const struct perfetto_generation *generation,
				  enum perfetto_names kind, guint64 iid, guint32 *ret_text);

/* --- clocks --------------------------------------------------------------------------------- */

#define PERFETTO_BOOTTIME 6

struct perfetto_clocks {
	GHashTable *bases; /* sequence and number -> struct clock_base */
	gint64 primary;	   /* number of the trace's own */
	gint64 day_ns;	   /* what is to be added for the time of day; 0: not known */
	guint64 n_unknown; /* times of clocks that no snapshot has */
};

void perfetto_clocks_init(struct perfetto_clocks *clocks);
void perfetto_clocks_release(struct perfetto_clocks *clocks);
/* Take in a ClockSnapshot of that sequence. False: it is broken. */
gboolean perfetto_clocks_note(struct perfetto_clocks *clocks, guint32 sequence,
			      struct wire_cursor snapshot);
/* (2). Every packet with a time must be converted, since some clocks count from packet to packet; of those that are
 * used, clocks that are not known are counted. */
gint64 perfetto_clocks_convert(struct perfetto_clocks *clocks, guint32 sequence, gint64 clock,
			       guint64 time, gboolean is_used);

#endif
