/* hang_view: collectives that ranks were in when the recording ended, and which ranks had not come to them.
 *
 * A group's ranks call its collectives in one order, so each has a position: the number that the trace tells, else how many of the group's the
 * rank had called. The group is held up at the lowest position at which a rank's collective is open; there, a rank
 *
 *     waits            is in it
 *     has not come     has called fewer
 *     is in another    is in one of another name or size
 *     is through       has ended it
 *
 * (1) Groups in which nothing is open have no rows. */
#include <tacho/analyze.h>

#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "correlate/process_groups.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("group", "group"),
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("state", "state"),
	TEXT_COLUMN("name", "collective", .is_flexible = TRUE),
	INTEGER_COLUMN("sequence", "sequence"),
	INTEGER_COLUMN("bytes", "bytes"),
	NUMBER_COLUMN("waited_ms", "for ms", 1),
	TEXT_COLUMN("where", "where", .is_flexible = TRUE),
};

/* A rank's collectives in the group at work. */
struct member {
	guint32 rank_index;
	guint64 last;	    /* position of its newest; 0: it has none */
	guint32 newest;	    /* slice, or TACHO_NONE */
	guint64 open;	    /* position of the first that is open; 0: none is */
	guint32 open_slice; /* or TACHO_NONE */
	guint32 at;	    /* its slice where the group is held up, or TACHO_NONE */
};

static guint64 position_of(const TachoTimeline *timeline, guint32 slice, guint index)
{
	guint64 told = tacho_slice_id(timeline, slice);

	return told ? told : index + 1;
}

static struct member look_at(const TachoTimeline *timeline, const GroupRank *rank)
{
	struct member member = { .rank_index = rank->rank_index,
				 .newest = TACHO_NONE,
				 .open_slice = TACHO_NONE,
				 .at = TACHO_NONE };

	for (guint i = 0; i < rank->slices->len; i++) {
		guint32 slice = g_array_index(rank->slices, guint32, i);
		guint64 position = position_of(timeline, slice, i);

		if (position >= member.last) {
			member.last = position;
			member.newest = slice;
		}
		if ((timeline->slices.flags[slice] & TACHO_SLICE_OPEN) &&
		    (!member.open || position < member.open)) {
			member.open = position;
			member.open_slice = slice;
		}
	}
	return member;
}

static void find_at(const TachoTimeline *timeline, const GroupRank *rank, guint64 position,
		    struct member *member)
{
	for (guint i = 0; i < rank->slices->len; i++) {
		guint32 slice = g_array_index(rank->slices, guint32, i);

		if (position_of(timeline, slice, i) == position)
			member->at = slice;
	}
}

static guint64 bytes_of(const TachoTimeline *timeline, guint32 slice)
{
	TachoCollectiveArgs args = { 0 };

	tacho_slice_collective(timeline, slice, &args);
	return args.bytes;
}

static const gchar *state_of(const TachoTimeline *timeline, const struct member *member,
			     guint32 first)
{
	if (member->at == TACHO_NONE)
		return "has not come";
	if (!(timeline->slices.flags[member->at] & TACHO_SLICE_OPEN))
		return "is through";
	return timeline->slices.name[member->at] == timeline->slices.name[first] &&
			       bytes_of(timeline, member->at) == bytes_of(timeline, first)
		       ? "waits"
		       : "is in another";
}

/* What the trace says of where the collective was called. */
static const gchar *where_of(const TachoTimeline *timeline, guint32 slice)
{
	guint64 id = tacho_slice_id(timeline, slice);

	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (id && mark->track == timeline->slices.track[slice] &&
		    mark->first == (gint64)id && mark->time_ns == timeline->slices.start_ns[slice])
			return tacho_timeline_string(timeline, mark->text);
	return NULL;
}

static void add_row(TachoTable *table, const TachoTimeline *timeline, guint group,
		    const struct member *member, guint32 first)
{
	guint32 slice = member->at != TACHO_NONE ? member->at : member->newest;
	gboolean is_open =
		slice != TACHO_NONE && (timeline->slices.flags[slice] & TACHO_SLICE_OPEN);

	tacho_table_row(table);
	tacho_table_integer(table, group);
	table_rank(table, timeline, member->rank_index);
	tacho_table_text(table, state_of(timeline, member, first));
	if (slice == TACHO_NONE)
		return;
	tacho_table_text(table, tacho_slice_name(timeline, slice));
	tacho_table_integer(table, (gint64)(member->at != TACHO_NONE
						    ? MAX(member->open, member->last ? 1 : 0)
						    : member->last));
	tacho_table_integer(table, (gint64)bytes_of(timeline, slice));
	table_number_if(table, is_open,
			MS(timeline->duration_ns - timeline->slices.start_ns[slice]));
	tacho_table_text(table, where_of(timeline, slice));
}

/* A sentence on who is missing. */
static void note_group(TachoTable *table, const TachoTimeline *timeline, guint group,
		       const GArray *members, guint32 first, guint64 position)
{
	g_autoptr(GString) missing = g_string_new(NULL), others = g_string_new(NULL);

	FOR_EACH(const struct member, member, members) {
		gint32 rank = tacho_timeline_rank(timeline, member->rank_index)->rank;

		if (member->at == TACHO_NONE)
			g_string_append_printf(missing, "%s%d", missing->len ? ", " : "", rank);
		else if (g_strcmp0(state_of(timeline, member, first), "is in another") == 0)
			g_string_append_printf(others, "%s%d", others->len ? ", " : "", rank);
	}
	if (missing->len)
		tacho_table_note(table,
				 "Group %u is held up at %s, number %" G_GUINT64_FORMAT
				 ": of its ranks, these have not come: %s.",
				 group, tacho_slice_name(timeline, first), position, missing->str);
	else if (others->len)
		tacho_table_note(table,
				 "Group %u is held up at number %" G_GUINT64_FORMAT
				 ", where its ranks call different collectives.",
				 group, position);
	else
		tacho_table_note(table,
				 "Group %u is held up at %s, number %" G_GUINT64_FORMAT
				 ", to which all of its ranks have come.",
				 group, tacho_slice_name(timeline, first), position);
}

/* In a group of all ranks, those that never called any of its collectives. */
static void add_absent(const TachoTimeline *timeline, const ProcessGroup *group, GArray *members)
{
	guint n = members->len;

	if (group->n_expected && group->n_expected != timeline->ranks->len)
		return;
	for (guint32 rank = 0; rank < timeline->ranks->len; rank++) {
		struct member absent = { .rank_index = rank,
					 .newest = TACHO_NONE,
					 .open_slice = TACHO_NONE,
					 .at = TACHO_NONE };
		gboolean is_there = FALSE;

		for (guint i = 0; i < n; i++)
			is_there |= g_array_index(members, struct member, i).rank_index == rank;
		if (!is_there)
			g_array_append_val(members, absent);
	}
}

static void add_group(TachoTable *table, const struct selection *selection, guint number,
		      const ProcessGroup *group)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(struct member));
	guint64 position = 0;
	guint32 first = TACHO_NONE;

	FOR_EACH_POINTER(const GroupRank, rank, group->ranks) {
		struct member member = look_at(timeline, rank);

		if (member.open && (!position || member.open < position)) {
			position = member.open;
			first = member.open_slice;
		}
		g_array_append_val(members, member);
	}
	if (!position)
		return;
	FOR_EACH_AT(struct member, member, i, members) {
		member->open = position;
		find_at(timeline, g_ptr_array_index(group->ranks, i), position, member);
	}
	add_absent(timeline, group, members);
	FOR_EACH(const struct member, member, members)
		if (selection_takes_rank(selection, member->rank_index))
			add_row(table, timeline, number, member, first);
	note_group(table, timeline, number, members, first, position);
}

TachoTable *tacho_view_hang(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("hang", columns, G_N_ELEMENTS(columns));
	g_autoptr(GPtrArray) groups = process_groups_new(timeline);
	struct selection selection;

	selection_init(&selection, timeline, filter);
	FOR_EACH_POINTER_AT(const ProcessGroup, group, i, groups)
		add_group(table, &selection, i, group);
	if (!tacho_table_n_rows(table))
		tacho_table_note(table, "No collective was open when the recording ended.");
	selection_release(&selection);
	return table;
}
