/* comm_view: collectives, by name, process group and size.
 *
 * A collective is waiting until its last rank has queued it, and transfer from then until its last
 * rank has completed it. Bandwidths are as nccl-tests defines them (doc/PERFORMANCE.md): the
 * algorithm's is size / transfer time; the bus bandwidth scales it by what the algorithm must move,
 * so that it compares with the speed of a link whatever the number of ranks.
 *
 * late_ranks.h says who is late. */
#include <tacho/analyze.h>

#include <math.h>
#include <string.h>

#include "analyze/absence.h"
#include "analyze/keyed_rows.h"
#include "analyze/late_ranks.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/operation.h"

struct comm_group {
	guint32 name, process_group;
	guint size_class; /* bits of the size: 2^(n-1) <= bytes < 2^n */
	guint32 n_ranks;
	guint64 count, bytes;
	guint64 n_timed;     /* whose ranks were all seen: only these have bandwidth, lateness */
	gdouble timed_bytes; /* what nccl-tests calls the size */
	gdouble transfer_ns; /* of the timed ones */
	gdouble total_ns, wait_ns; /* means over the members */
	GArray *rows;		   /* guint32: its collectives */
};

static const TachoColumn columns[] = {
	TEXT_COLUMN("name", "collective", .is_flexible = TRUE),
	INTEGER_COLUMN("group", "grp"),
	TEXT_COLUMN("size_class", "size"),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("transfer_ms", "transfer ms", 2),
	NUMBER_COLUMN("wait_ms", "wait", 2),
	NUMBER_COLUMN("bus_gb_per_s", "bus GB/s", 3),
	INTEGER_COLUMN("late_rank", "late"),
	NUMBER_COLUMN("late_pct", "%", 0),
	NUMBER_COLUMN("late_mean_ms", "by ms", 2),
	NUMBER_COLUMN("algorithm_gb_per_s", "alg GB/s", 3),
	NUMBER_COLUMN("total_ms", "total ms", 2),
	JSON_NUMBER("mean_bytes"),
	JSON_INTEGER("bytes"),
	JSON_INTEGER("ranks"),
	JSON_NUMBER("calls_per_step"),
	JSON_BOOLEAN("late_is_sure"),
};

/* What the members of one collective say together. */
struct timing {
	gint64 last_end_ns;
	gdouble total_ns, wait_ns; /* sums over the members */
	guint32 n_members;	   /* of the chosen ranks */
	gboolean is_whole;	   /* every rank is there, and ended */
};

/* Size as nccl-tests counts it, as a multiple of one rank's input. */
static gdouble size_factor(enum collective_operation operation, gdouble n)
{
	return operation == OPERATION_ALL_GATHER || operation == OPERATION_GATHER ? n : 1;
}

static gdouble bus_factor(enum collective_operation operation, gdouble n)
{
	switch (operation) {
	case OPERATION_ALL_REDUCE:
		return 2 * (n - 1) / n;
	case OPERATION_ALL_GATHER:
	case OPERATION_GATHER:
	case OPERATION_REDUCE_SCATTER:
	case OPERATION_SCATTER:
	case OPERATION_ALL_TO_ALL:
		return (n - 1) / n;
	default:
		return 1;
	}
}

static struct timing measure(const struct selection *selection, const TachoCollective *collective)
{
	const TachoTimeline *timeline = selection->timeline;
	struct timing timing = { .last_end_ns = G_MININT64,
				 .is_whole = collective->n_members > 1 &&
					     collective->n_members == collective->n_expected };

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);
		guint32 rank = tacho_slice_process(timeline, slice)->rank_index;
		gint64 start_ns = timeline->slices.start_ns[slice];
		gint64 end_ns = tacho_slice_end_ns(timeline, slice);

		timing.last_end_ns = MAX(timing.last_end_ns, end_ns);
		if (timeline->slices.flags[slice] & TACHO_SLICE_OPEN)
			timing.is_whole = FALSE;
		if (!selection_takes_rank(selection, rank))
			continue;
		timing.n_members++;
		timing.total_ns += (gdouble)(end_ns - start_ns);
		timing.wait_ns +=
			(gdouble)(CLAMP(collective->last_begin_ns, start_ns, end_ns) - start_ns);
	}
	return timing;
}

/* It belongs to the step in which its first chosen member was queued. */
static gboolean is_chosen(const struct selection *selection, const TachoCollective *collective)
{
	const TachoTimeline *timeline = selection->timeline;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);
		guint32 rank = tacho_slice_process(timeline, slice)->rank_index;
		guint cursor = 0;

		if (selection_takes_rank(selection, rank))
			return selection_takes_time(selection, rank,
						    timeline->slices.start_ns[slice], &cursor);
	}
	return FALSE;
}

static guint bits_of(guint64 bytes)
{
	return bytes ? 64 - (guint)__builtin_clzll(bytes) : 0;
}

static struct comm_group *find_group(struct keyed_rows *groups, const TachoCollective *collective)
{
	struct comm_group first = { .name = collective->name,
				    .process_group = collective->group,
				    .size_class = bits_of(collective->bytes) };
	struct comm_group *group = keyed_rows_find(groups, &first, "%u %u %u", first.name,
						   first.process_group, first.size_class);

	if (!group->rows)
		group->rows = g_array_new(FALSE, FALSE, sizeof(guint32));
	return group;
}

static void count_collective(const struct selection *selection, struct keyed_rows *groups,
			     guint32 row)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoCollective *collective =
		&g_array_index(timeline->collectives, TachoCollective, row);
	enum collective_operation operation = operation_of_name(timeline, collective->name);
	struct timing timing = measure(selection, collective);
	struct comm_group *group = find_group(groups, collective);

	g_array_append_val(group->rows, row);
	group->count++;
	group->bytes += collective->bytes;
	group->n_ranks = MAX(group->n_ranks, MAX(collective->n_expected, collective->n_members));
	group->total_ns += timing.total_ns / timing.n_members;
	group->wait_ns += timing.wait_ns / timing.n_members;
	if (!timing.is_whole)
		return;
	group->n_timed++;
	group->timed_bytes +=
		(gdouble)collective->bytes * size_factor(operation, collective->n_members);
	group->transfer_ns += (gdouble)(timing.last_end_ns - collective->last_begin_ns);
}

static gchar *size_text(guint bits)
{
	static const gchar *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	guint low = bits ? bits - 1 : 0; /* 2^low <= bytes < 2^(low + 1) */

	if (bits == 0) /* not known */
		return NULL;
	return g_strdup_printf("%u-%u %s", 1u << low % 10, 2u << low % 10, units[low / 10]);
}

/* Whoever is chosen: who is late is a question to all ranks. */
static void add_lateness(TachoTable *table, const struct selection *all_ranks,
			 const struct late_ranks *late)
{
	const struct late_rank *rank;

	if (late->late == TACHO_NONE) {
		for (guint i = 0; i < 3; i++)
			tacho_table_null(table);
		return;
	}
	rank = late_ranks_at(late, late->late);
	table_rank(table, all_ranks->timeline, late->late);
	tacho_table_number(table, 100.0 * (gdouble)rank->n_last / (gdouble)rank->n_collectives);
	tacho_table_number(table, MS(rank->last_ns) / (gdouble)rank->n_last);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct selection *all_ranks, const struct comm_group *group)
{
	const gchar *name = tacho_timeline_string(selection->timeline, group->name);
	g_autofree gchar *size = size_text(group->size_class);
	g_autoptr(late_ranks) late = late_ranks_new(all_ranks, group->rows);
	gdouble algorithm =
		group->timed_bytes ? group->timed_bytes / group->transfer_ns : (gdouble)NAN;

	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_integer(table, group->process_group);
	tacho_table_text(table, size);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, group->n_timed ? MS(group->transfer_ns) : (gdouble)NAN);
	tacho_table_number(table, MS(group->wait_ns));
	tacho_table_number(
		table, algorithm * bus_factor(operation_of_name(selection->timeline, group->name),
					      group->n_ranks));
	add_lateness(table, all_ranks, late);
	tacho_table_number(table, algorithm);
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_number(table,
			   size ? (gdouble)group->bytes / (gdouble)group->count : (gdouble)NAN);
	table_integer_if(table, size, (gint64)MIN(group->bytes, G_MAXINT64));
	tacho_table_integer(table, group->n_ranks);
	tacho_table_number(table, (gdouble)group->count * selection->n_ranks /
					  selection_n_steps(selection));
	table_boolean_if(table, late->late != TACHO_NONE, late->is_sure);
}

/* Who is late, over all rows: the answer most come for. */
static void note_lateness(TachoTable *table, const struct selection *all_ranks)
{
	g_autoptr(GArray) rows = late_ranks_rows(all_ranks);
	g_autoptr(late_ranks) late = late_ranks_new(all_ranks, rows);

	late_ranks_note(late, all_ranks, table);
}

static void note_missing(TachoTable *table, const GArray *groups)
{
	guint64 n_untimed = 0;

	FOR_EACH(const struct comm_group, group, groups) {
		if (group->n_ranks > 1) /* alone, there is nobody to move anything to */
			n_untimed += group->count - group->n_timed;
	}
	if (n_untimed)
		tacho_table_note(table,
				 "%" G_GUINT64_FORMAT
				 " collectives were not recorded completely on every rank; they "
				 "have no transfer time, bandwidth or lateness.",
				 n_untimed);
}

static void release_group(gpointer data)
{
	g_array_unref(((struct comm_group *)data)->rows);
}

TachoTable *tacho_view_comm(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("comm", columns, G_N_ELEMENTS(columns));
	TachoFilter all_ranks_filter = TACHO_FILTER_INIT;
	struct selection selection, all_ranks;
	struct keyed_rows groups;

	keyed_rows_init(&groups, sizeof(struct comm_group));
	if (filter)
		all_ranks_filter = *filter;
	all_ranks_filter.rank = -1;
	g_array_set_clear_func(groups.rows, release_group);
	selection_init(&selection, timeline, filter);
	selection_init(&all_ranks, timeline, &all_ranks_filter);
	FOR_EACH_AT(const TachoCollective, collective, i, timeline->collectives) {
		const gchar *name = tacho_timeline_string(timeline, collective->name);

		if (is_chosen(&selection, collective) && selection_takes_name(&selection, name))
			count_collective(&selection, &groups, i);
	}
	for (guint i = 0; i < groups.rows->len; i++)
		add_row(table, &selection, &all_ranks,
			&g_array_index(groups.rows, struct comm_group, i));
	tacho_table_sort(table, "total_ms", TRUE);
	absence_note(&selection, table, ABSENT_COLLECTIVES);
	note_lateness(table, &all_ranks);
	note_missing(table, groups.rows);
	selection_note(&selection, table);
	selection_release(&all_ranks);
	selection_release(&selection);
	keyed_rows_release(&groups);
	return table;
}
