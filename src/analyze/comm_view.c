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
#include "analyze/late_ranks.h"
#include "analyze/selection.h"

#define MS(ns) ((gdouble)(ns) / 1e6)

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
	{ .key = "name", .title = "collective", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "group", .title = "grp", .type = TACHO_COLUMN_INTEGER },
	{ .key = "size_class", .title = "size", .type = TACHO_COLUMN_TEXT },
	{ .key = "count", .title = "count", .type = TACHO_COLUMN_INTEGER },
	{ .key = "transfer_ms",
	  .title = "transfer ms",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 2 },
	{ .key = "wait_ms", .title = "wait", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "bus_gb_per_s", .title = "bus GB/s", .type = TACHO_COLUMN_NUMBER, .decimals = 3 },
	{ .key = "late_rank", .title = "late", .type = TACHO_COLUMN_INTEGER },
	{ .key = "late_pct", .title = "%", .type = TACHO_COLUMN_NUMBER, .decimals = 0 },
	{ .key = "late_mean_ms", .title = "by ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "algorithm_gb_per_s",
	  .title = "alg GB/s",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 3 },
	{ .key = "total_ms", .title = "total ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "mean_bytes", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "bytes", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
	{ .key = "ranks", .type = TACHO_COLUMN_INTEGER, .is_json_only = TRUE },
	{ .key = "calls_per_step", .type = TACHO_COLUMN_NUMBER, .is_json_only = TRUE },
	{ .key = "late_is_sure", .type = TACHO_COLUMN_BOOLEAN, .is_json_only = TRUE },
};

/* What the members of one collective say together. */
struct timing {
	gint64 last_end_ns;
	gdouble total_ns, wait_ns; /* sums over the members */
	guint32 n_members;	   /* of the chosen ranks */
	gboolean is_whole;	   /* every rank is there, and ended */
};

/* "nccl:_all_gather_base" is an all-gather: names come with prefixes and variants. */
static gboolean is_named(const gchar *name, const gchar *what)
{
	g_autofree gchar *plain = g_ascii_strdown(name, -1);
	gsize kept = 0;

	for (gsize i = 0; plain[i]; i++)
		if (g_ascii_isalnum(plain[i]))
			plain[kept++] = plain[i];
	plain[kept] = '\0';
	return strstr(plain, what) != NULL;
}

/* Size as nccl-tests counts it, as a multiple of one rank's input. */
static gdouble size_factor(const gchar *name, gdouble n)
{
	return is_named(name, "allgather") || is_named(name, "gather") ? n : 1;
}

static gdouble bus_factor(const gchar *name, gdouble n)
{
	static const gchar *const scattered[] = { "gather", "reducescatter", "alltoall",
						  "scatter" };

	if (is_named(name, "allreduce"))
		return 2 * (n - 1) / n;
	for (guint i = 0; i < G_N_ELEMENTS(scattered); i++)
		if (is_named(name, scattered[i]))
			return (n - 1) / n;
	return 1;
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

static struct comm_group *find_group(GArray *groups, const TachoCollective *collective)
{
	struct comm_group group = { .name = collective->name,
				    .process_group = collective->group,
				    .size_class = bits_of(collective->bytes) };

	for (guint i = 0; i < groups->len; i++) {
		struct comm_group *known = &g_array_index(groups, struct comm_group, i);

		if (known->name == group.name && known->process_group == group.process_group &&
		    known->size_class == group.size_class)
			return known;
	}
	group.rows = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(groups, group);
	return &g_array_index(groups, struct comm_group, groups->len - 1);
}

static void count_collective(const struct selection *selection, GArray *groups, guint32 row)
{
	const TachoTimeline *timeline = selection->timeline;
	const TachoCollective *collective =
		&g_array_index(timeline->collectives, TachoCollective, row);
	const gchar *name = tacho_timeline_string(timeline, collective->name);
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
	group->timed_bytes += (gdouble)collective->bytes * size_factor(name, collective->n_members);
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
	tacho_table_integer(table,
			    g_array_index(all_ranks->timeline->ranks, TachoRank, late->late).rank);
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
	tacho_table_number(table, algorithm * bus_factor(name, group->n_ranks));
	add_lateness(table, all_ranks, late);
	tacho_table_number(table, algorithm);
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_number(table,
			   size ? (gdouble)group->bytes / (gdouble)group->count : (gdouble)NAN);
	if (size)
		tacho_table_integer(table, (gint64)MIN(group->bytes, G_MAXINT64));
	else
		tacho_table_null(table);
	tacho_table_integer(table, group->n_ranks);
	tacho_table_number(table, (gdouble)group->count * selection->n_ranks /
					  selection_n_steps(selection));
	if (late->late != TACHO_NONE)
		tacho_table_boolean(table, late->is_sure);
	else
		tacho_table_null(table);
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

	for (guint i = 0; i < groups->len; i++) {
		const struct comm_group *group = &g_array_index(groups, struct comm_group, i);

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
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct comm_group));
	TachoFilter all_ranks_filter = TACHO_FILTER_INIT;
	struct selection selection, all_ranks;

	if (filter)
		all_ranks_filter = *filter;
	all_ranks_filter.rank = -1;
	g_array_set_clear_func(groups, release_group);
	selection_init(&selection, timeline, filter);
	selection_init(&all_ranks, timeline, &all_ranks_filter);
	for (guint32 i = 0; i < timeline->collectives->len; i++) {
		const TachoCollective *collective =
			&g_array_index(timeline->collectives, TachoCollective, i);
		const gchar *name = tacho_timeline_string(timeline, collective->name);

		if (is_chosen(&selection, collective) && selection_takes_name(&selection, name))
			count_collective(&selection, groups, i);
	}
	for (guint i = 0; i < groups->len; i++)
		add_row(table, &selection, &all_ranks,
			&g_array_index(groups, struct comm_group, i));
	tacho_table_sort(table, "total_ms", TRUE);
	absence_note(&selection, table, ABSENT_COLLECTIVES);
	note_lateness(table, &all_ranks);
	note_missing(table, groups);
	selection_note(&selection, table);
	selection_release(&all_ranks);
	selection_release(&selection);
	return table;
}
