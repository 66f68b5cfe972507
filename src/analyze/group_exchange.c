#include "analyze/group_exchange.h"

#include <string.h>

#include "trace/string_table.h"

/* A figure, whatever it is: GROUP_ANY is sent as 0 or 1. */
union figure {
	guint64 count;
	gdouble sum;
	gint64 moment;
};

static gsize value_bytes(enum group_merge merge)
{
	return merge == GROUP_ANY ? sizeof(gboolean) : sizeof(union figure);
}

static union figure read_figure(const guint8 *at, enum group_merge merge)
{
	union figure figure = { 0 };
	gboolean is_so;

	if (merge == GROUP_ANY) {
		memcpy(&is_so, at, sizeof(is_so));
		figure.count = is_so != 0;
	} else {
		memcpy(&figure, at, sizeof(figure));
	}
	return figure;
}

static void write_figure(guint8 *at, enum group_merge merge, union figure figure)
{
	gboolean is_so = figure.count != 0;

	if (merge == GROUP_ANY)
		memcpy(at, &is_so, sizeof(is_so));
	else
		memcpy(at, &figure, sizeof(figure));
}

static union figure merge_figures(enum group_merge merge, union figure one, union figure other)
{
	switch (merge) {
	case GROUP_COUNT:
		return (union figure){ .count = one.count + other.count };
	case GROUP_SUM:
		return (union figure){ .sum = one.sum + other.sum };
	case GROUP_LEAST:
		return (union figure){ .moment = MIN(one.moment, other.moment) };
	case GROUP_LARGEST:
		return (union figure){ .moment = MAX(one.moment, other.moment) };
	default:
		return (union figure){ .count = one.count | other.count };
	}
}

static void refuse(const TachoTimeline *timeline, const struct group_kind *kind)
{
	g_autofree gchar *message = g_strdup_printf(
		"the %s view has sums that several processes cannot make exactly; run it as one "
		"process, without the launcher",
		kind->view);

	tacho_peers_fail(timeline->share->peers, message);
}

void group_pack(GByteArray *bytes, const TachoTimeline *timeline, const struct group_kind *kind,
		gconstpointer group)
{
	for (guint i = 0; i < kind->n_fields; i++) {
		const struct group_field *field = &kind->fields[i];
		const guint8 *at = (const guint8 *)group + field->offset;
		gsize step = value_bytes(field->merge);

		for (gsize k = 0; k < field->n_bytes; k += step) {
			union figure figure = read_figure(at + k, field->merge);

			if (field->merge == GROUP_SUM && !run_share_adds_up(timeline, figure.sum))
				refuse(timeline, kind);
			pack_bytes(bytes, &figure, sizeof(figure));
		}
	}
}

gboolean group_unpack(struct packed_bytes *packed, const struct group_kind *kind, gpointer group)
{
	for (guint i = 0; i < kind->n_fields; i++) {
		const struct group_field *field = &kind->fields[i];
		guint8 *at = (guint8 *)group + field->offset;
		gsize step = value_bytes(field->merge);

		for (gsize k = 0; k < field->n_bytes; k += step) {
			union figure told, own = read_figure(at + k, field->merge);

			if (!unpack_bytes(packed, &told, sizeof(told)))
				return FALSE;
			write_figure(at + k, field->merge, merge_figures(field->merge, own, told));
		}
	}
	return TRUE;
}

void group_pack_string(GByteArray *bytes, const TachoTimeline *timeline, guint32 id)
{
	pack_text(bytes, tacho_timeline_string(timeline, id));
}

gboolean group_unpack_string(struct packed_bytes *packed, const TachoTimeline *timeline,
			     guint32 *ret_id)
{
	g_autofree gchar *text = unpack_text(packed);

	return text && string_table_find(timeline->strings, text, -1, ret_id);
}

struct taking {
	GroupTaker take;
	gpointer data;
};

static gboolean take_all(guint from, const guint8 *bytes, gsize n_bytes, gpointer taking_pointer)
{
	const struct taking *taking = taking_pointer;
	struct packed_bytes packed = { bytes, n_bytes };

	while (packed.n_left)
		if (!taking->take(from, &packed, taking->data))
			return FALSE;
	return TRUE;
}

void group_exchange(const TachoTimeline *timeline, const gchar *what, const GByteArray *bytes,
		    GroupTaker take, gpointer data)
{
	struct taking taking = { take, data };

	run_share_exchange(timeline, what, bytes, take_all, &taking);
}
