/* group_exchange: what several processes have summed up by name, each of its own ranks, made one (trace/run_share.h).
 *
 *     group_pack_string(), pack_text() ...   a group's key
 *     group_pack()                           its figures          } of each group of this process, as it found them
 *     group_exchange()  --> take()           of each group of each owner: find it by its key, make it where there is
 *                                            none, and add the figures with group_unpack()
 *
 * (1) A name is sent as text, because strings have other numbers elsewhere.
 * (2) Groups come in the order of ranks, so that new ones stand as one process finds them.
 * (3) Sums are the same in whatever order they are made, or no process makes the view (run_share_adds_up()). */
#ifndef TACHO_GROUP_EXCHANGE_H
#define TACHO_GROUP_EXCHANGE_H

#include "trace/run_share.h"

/* How figures of one group, found by two processes, become one; and what type they are of. */
enum group_merge {
	GROUP_COUNT,   /* guint64: the sum */
	GROUP_SUM,     /* gdouble: the sum */
	GROUP_LEAST,   /* gint64 */
	GROUP_LARGEST, /* gint64 */
	GROUP_ANY,     /* gboolean: of either */
};

struct group_field {
	gsize offset, n_bytes; /* in the group's struct; of several values, all */
	enum group_merge merge;
};

#define GROUP_FIELD(type, member, merge)                                                           \
	{                                                                                          \
		offsetof(type, member), sizeof(((type *)NULL)->member), merge                      \
	}

/* Groups of one sort. */
struct group_kind {
	const gchar *view; /* whose they are, in messages */
	const gchar *what; /* what the exchange is called */
	const struct group_field *fields;
	guint n_fields;
};

/* Put the figures of `group` behind its key. What cannot be added exactly lets all processes fail with the next exchange. */
void group_pack(GByteArray *bytes, const TachoTimeline *timeline, const struct group_kind *kind,
		gconstpointer group);
/* Add the figures that come next to those of `group`. False: they cannot be such. */
gboolean group_unpack(struct packed_bytes *packed, const struct group_kind *kind, gpointer group);

/* A string of the timeline, as its text; and back. False: this process does not know it. */
void group_pack_string(GByteArray *bytes, const TachoTimeline *timeline, guint32 id);
gboolean group_unpack_string(struct packed_bytes *packed, const TachoTimeline *timeline,
			     guint32 *ret_id);

/* Take in the group that comes next of process `from`. False: it cannot be one. */
typedef gboolean (*GroupTaker)(guint from, struct packed_bytes *packed, gpointer data);

/* Have `take` called for each group of each process, this one's included: `bytes` has them one behind the other. Every process
 * calls it, with a timeline that has a share. */
void group_exchange(const TachoTimeline *timeline, const gchar *what, const GByteArray *bytes,
		    GroupTaker take, gpointer data);

#endif
