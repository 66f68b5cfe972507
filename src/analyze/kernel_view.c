/* kernel_view: library and device kernels, by name and shape.
 *
 * A kernel inside a kernel (a BLAS call made by oneDNN) has a row of its own; total counts both.
 * The op of a row is the one that spent most time in it; of what a graph launched, the one that captured it.
 * Rates are over the calls whose flops or bytes are known: of libraries' kernels from their arguments, of devices'
 * from the operations that launched them (kernel_work). */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <math.h>

#include "analyze/absence.h"
#include "analyze/device_work.h"
#include "analyze/group_exchange.h"
#include "analyze/kernel_work.h"
#include "analyze/outside_steps.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "trace/mark_kind.h"
#include "trace/run_share.h"

struct kernel_group {
	guint32 name;
	gchar *shape, *dtype, *text;
	guint64 count, n_replays;
	gint64 min_ns, max_ns;
	gdouble total_ns;
	gdouble flops, bytes;
	gdouble flops_ns, bytes_ns; /* time of the calls whose flops, bytes are known */
	/* For calls on devices with a known peak: what they computed, and what they could have. */
	gdouble compared_flops, peak_flops;
	GHashTable *ops; /* name id -> gdouble * ns */
};

static const TachoColumn columns[] = {
	NAME_COLUMN("name", "kernel"),
	TEXT_COLUMN("shape", "shape", .is_flexible = TRUE),
	TEXT_COLUMN("op", "op", .is_flexible = TRUE),
	SHARE_COLUMN("share_pct", "% step", 1),
	NUMBER_COLUMN("total_ms", "total ms", 2),
	INTEGER_COLUMN("count", "count"),
	INTEGER_COLUMN("replays", "replays"),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	NUMBER_COLUMN("gflop_per_s", "GFLOP/s", 1),
	NUMBER_COLUMN("peak_pct", "% peak", 1),
	NUMBER_COLUMN("gb_per_s", "GB/s", 1),
	JSON_TEXT("dtype"),
	JSON_TEXT("text"),
	JSON_NUMBER("calls_per_step"),
	JSON_NUMBER("min_us"),
	JSON_NUMBER("max_us"),
	JSON_NUMBER("flops"),
	JSON_NUMBER("bytes"),
};

static void kernel_group_free(gpointer data)
{
	struct kernel_group *group = data;

	g_free(group->shape);
	g_free(group->dtype);
	g_free(group->text);
	g_hash_table_unref(group->ops);
	g_free(group);
}

static gchar *shape_text(const TachoKernelArgs *args)
{
	GString *text = g_string_new(NULL);

	for (guint32 i = 0; i < args->n_dims; i++)
		g_string_append_printf(text, "%s%" G_GINT64_FORMAT, i ? "x" : "", args->dims[i]);
	return g_string_free(text, FALSE);
}

/* Texts are "" where they are not known. */
static struct kernel_group *find_group_of(GHashTable *groups, guint32 name, const gchar *shape,
					  const gchar *dtype, const gchar *text)
{
	g_autofree gchar *key = g_strdup_printf("%u|%s|%s|%s", name, shape, dtype, text);
	struct kernel_group *group = g_hash_table_lookup(groups, key);

	if (group)
		return group;
	group = g_new0(struct kernel_group, 1);
	group->name = name;
	group->shape = *shape ? g_strdup(shape) : NULL;
	group->dtype = *dtype ? g_strdup(dtype) : NULL;
	group->text = *text ? g_strdup(text) : NULL;
	group->min_ns = G_MAXINT64;
	group->ops = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	g_hash_table_insert(groups, g_steal_pointer(&key), group);
	return group;
}

static struct kernel_group *find_group(GHashTable *groups, guint32 name,
				       const TachoKernelArgs *args)
{
	g_autofree gchar *shape = shape_text(args);

	return find_group_of(groups, name, shape, args->dtype, args->text);
}

/* The time that ops of that name spent in kernels of the group. */
static gdouble *spent_on(struct kernel_group *group, guint32 name)
{
	gdouble *spent_ns = g_hash_table_lookup(group->ops, GUINT_TO_POINTER(name));

	if (!spent_ns) {
		spent_ns = g_new0(gdouble, 1);
		g_hash_table_insert(group->ops, GUINT_TO_POINTER(name), spent_ns);
	}
	return spent_ns;
}

static void count_op(const TachoTimeline *timeline, struct kernel_group *group, guint32 slice)
{
	guint32 op = tacho_kernel_op(timeline, slice);

	if (op != TACHO_NONE)
		*spent_on(group, timeline->slices.name[op]) +=
			(gdouble)timeline->slices.duration_ns[slice];
}

/* `group` has counted the call. */
static void count_work(struct kernel_works *works, struct kernel_group *group, guint32 slice)
{
	struct kernel_work work;
	gdouble duration_ns = (gdouble)works->timeline->slices.duration_ns[slice];

	if (!kernel_works_want_next(works, group->count) || !kernel_works_find(works, slice, &work))
		return;
	group->flops += work.flops;
	group->flops_ns += duration_ns;
	if (work.peak_flops <= 0)
		return;
	group->compared_flops += work.flops;
	group->peak_flops += work.peak_flops;
}

static void count_kernel(const TachoTimeline *timeline, GHashTable *groups,
			 struct kernel_works *works, guint32 slice)
{
	TachoKernelArgs args = { .dtype = "", .text = "" };
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	struct kernel_group *group;

	tacho_slice_kernel(timeline, slice, &args);
	group = find_group(groups, timeline->slices.name[slice], &args);
	group->count++;
	group->n_replays += tacho_slice_borrow_graph_work(timeline, slice) != NULL;
	group->total_ns += (gdouble)duration_ns;
	group->min_ns = MIN(group->min_ns, duration_ns);
	group->max_ns = MAX(group->max_ns, duration_ns);
	group->flops += (gdouble)args.flops;
	group->bytes += (gdouble)args.bytes;
	if (args.flops)
		group->flops_ns += (gdouble)duration_ns;
	else
		count_work(works, group, slice);
	if (args.bytes)
		group->bytes_ns += (gdouble)duration_ns;
	count_op(timeline, group, slice);
}

static void count_track(const struct selection *selection, GHashTable *groups,
			struct kernel_works *works, const TachoTrack *track)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	guint cursor = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_KERNEL &&
		    selection_takes_time(selection, rank_index, timeline->slices.start_ns[i],
					 &cursor))
			count_kernel(timeline, groups, works, i);
}

/* --- groups of several processes ---------------------------------------------------------------- */

static const struct group_field group_fields[] = {
	GROUP_FIELD(struct kernel_group, count, GROUP_COUNT),
	GROUP_FIELD(struct kernel_group, n_replays, GROUP_COUNT),
	GROUP_FIELD(struct kernel_group, min_ns, GROUP_LEAST),
	GROUP_FIELD(struct kernel_group, max_ns, GROUP_LARGEST),
	GROUP_FIELD(struct kernel_group, total_ns, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, flops, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, bytes, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, flops_ns, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, bytes_ns, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, compared_flops, GROUP_SUM),
	GROUP_FIELD(struct kernel_group, peak_flops, GROUP_SUM),
};

static const struct group_kind group_kind = { "kernel", "kernels", group_fields,
					      G_N_ELEMENTS(group_fields) };

static void pack_kernel_group(GByteArray *bytes, const TachoTimeline *timeline,
			      const struct kernel_group *group)
{
	group_pack_string(bytes, timeline, group->name);
	pack_text(bytes, group->shape ? group->shape : "");
	pack_text(bytes, group->dtype ? group->dtype : "");
	pack_text(bytes, group->text ? group->text : "");
	group_pack(bytes, timeline, &group_kind, group);
	pack_uint32(bytes, g_hash_table_size(group->ops));
	FOR_EACH_ENTRY(entry, group->ops) {
		group_pack_string(bytes, timeline, GPOINTER_TO_UINT(entry.key));
		pack_bytes(bytes, entry.value, sizeof(gdouble));
	}
}

struct merge {
	const TachoTimeline *timeline;
	GHashTable *groups;
};

static gboolean take_ops(struct packed_bytes *packed, const TachoTimeline *timeline,
			 struct kernel_group *group)
{
	guint32 n;

	if (!unpack_count(packed, &n, sizeof(guint32) + sizeof(gdouble)))
		return FALSE;
	while (n--) {
		gdouble spent_ns;
		guint32 id;

		if (!group_unpack_string(packed, timeline, &id) ||
		    !unpack_bytes(packed, &spent_ns, sizeof(spent_ns)))
			return FALSE;
		*spent_on(group, id) += spent_ns;
	}
	return TRUE;
}

static gboolean take_kernel_group(guint from, struct packed_bytes *packed, gpointer merge_pointer)
{
	const struct merge *merge = merge_pointer;
	g_autofree gchar *shape = NULL, *dtype = NULL, *text = NULL;
	struct kernel_group *group;
	guint32 name;

	(void)from;
	if (!group_unpack_string(packed, merge->timeline, &name))
		return FALSE;
	shape = unpack_text(packed);
	dtype = shape ? unpack_text(packed) : NULL;
	text = dtype ? unpack_text(packed) : NULL;
	if (!text)
		return FALSE;
	group = find_group_of(merge->groups, name, shape, dtype, text);
	return group_unpack(packed, &group_kind, group) && take_ops(packed, merge->timeline, group);
}

/* Groups of all owners of ranks. */
static void share_groups(const TachoTimeline *timeline, GHashTable *groups)
{
	struct merge merge = { timeline, groups };
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	FOR_EACH_ENTRY(entry, groups)
		pack_kernel_group(bytes, timeline, entry.value);
	g_hash_table_remove_all(groups);
	group_exchange(timeline, group_kind.what, bytes, take_kernel_group, &merge);
}

/* The op that spent most; of equals the one with the smaller name id, so that output is stable. */
static const gchar *main_op(const TachoTimeline *timeline, const struct kernel_group *group)
{
	gdouble most_ns = -1;
	guint32 best = 0;

	FOR_EACH_ENTRY(entry, group->ops) {
		gdouble spent_ns = *(const gdouble *)entry.value;
		guint32 id = GPOINTER_TO_UINT(entry.key);

		if (spent_ns > most_ns || (spent_ns == most_ns && id < best)) {
			most_ns = spent_ns;
			best = id;
		}
	}
	return most_ns < 0 ? NULL : tacho_timeline_string(timeline, best);
}

/* More than all means that formula and kernel, or device and peak, do not fit. */
static gdouble peak_pct(const struct kernel_group *group)
{
	gdouble pct = group->peak_flops > 0 ? 100 * group->compared_flops / group->peak_flops
					    : (gdouble)NAN;

	return pct <= 100 ? pct : (gdouble)NAN;
}

/* Null where no call told, or not all of them were asked. */
static void add_sum(TachoTable *table, gdouble amount, gdouble over_ns, guint stride)
{
	table_number_if(table, over_ns > 0 && stride == 1, amount);
}

static void add_row(TachoTable *table, const struct selection *selection,
		    const struct kernel_group *group, guint stride)
{
	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(selection->timeline, group->name));
	tacho_table_text(table, group->shape);
	tacho_table_text(table, main_op(selection->timeline, group));
	tacho_table_number(table, 100.0 * group->total_ns / selection->total_ns);
	tacho_table_number(table, MS(group->total_ns));
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_integer(table, (gint64)group->n_replays);
	tacho_table_number(table, US(group->total_ns) / (gdouble)group->count);
	table_rate(table, group->flops, group->flops_ns);
	tacho_table_number(table, peak_pct(group));
	table_rate(table, group->bytes, group->bytes_ns);
	tacho_table_text(table, group->dtype);
	tacho_table_text(table, group->text);
	tacho_table_number(table, (gdouble)group->count / selection_n_steps(selection));
	tacho_table_number(table, US(group->min_ns));
	tacho_table_number(table, US(group->max_ns));
	add_sum(table, group->flops, group->flops_ns, stride);
	add_sum(table, group->bytes, group->bytes_ns, 1);
}

/* What probes said of kernels they cannot see, each text once; returns how many. */
static guint note_unseen(TachoTable *table, const TachoTimeline *timeline)
{
	g_autoptr(GHashTable) said = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (mark_kind_of(timeline, mark) == MARK_NO_KERNELS &&
		    g_hash_table_add(said, GUINT_TO_POINTER(mark->text)))
			tacho_table_note(table, "%s", tacho_timeline_string(timeline, mark->text));
	return g_hash_table_size(said);
}

static gint compare_groups(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct kernel_group *left = *(struct kernel_group *const *)a;
	const struct kernel_group *right = *(struct kernel_group *const *)b;

	(void)data;
	return ORDER(left->name, right->name) ?: g_strcmp0(left->shape, right->shape) ?:
	       g_strcmp0(left->dtype, right->dtype) ?: g_strcmp0(left->text, right->text);
}

/* In an order that does not hang on the hash. */
static GPtrArray *sorted_groups(GHashTable *groups)
{
	GPtrArray *sorted = g_ptr_array_new();

	FOR_EACH_ENTRY(entry, groups)
		g_ptr_array_add(sorted, entry.value);
	g_ptr_array_sort_with_data(sorted, compare_groups, NULL);
	return sorted;
}

/* With a filter for devices the kernels of their streams only, not those of libraries on threads. */
static gboolean takes_kernels(const struct selection *selection, const TachoTrack *track)
{
	return selection->filter->device ? takes_stream(selection, track)
					 : selection_takes_track(selection, track);
}

/* Whether a row has a share of its device's peak. */
static gboolean has_peak(const GPtrArray *groups)
{
	for (guint i = 0; i < groups->len; i++)
		if (isfinite(peak_pct(g_ptr_array_index(groups, i))))
			return TRUE;
	return FALSE;
}

static void note_work(TachoTable *table, const struct kernel_works *works, const GPtrArray *groups)
{
	const TachoTimeline *timeline = works->timeline;
	g_autoptr(GHashTable) said = g_hash_table_new(NULL, NULL);

	for (guint i = 0; has_peak(groups) && i < timeline->ranks->len; i++) {
		const struct device_peak *device = kernel_works_device(works, i);

		if (device && g_hash_table_add(said, (gpointer)device))
			tacho_table_note(table,
					 "%% peak is the share of the peak that the maker of the "
					 "%s states for this number type.",
					 device->name);
	}
	if (works->stride > 1)
		tacho_table_note(table, "GFLOP/s were measured in one stretch of kernels of %u.",
				 works->stride);
}

TachoTable *tacho_view_kernel(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("kernel", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) groups =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, kernel_group_free);
	g_autoptr(GPtrArray) sorted = NULL;
	struct kernel_works works;
	struct selection selection;

	if (timeline->graph_work->len == 0)
		table_hide_column(table, "replays");
	selection_init(&selection, timeline, filter);
	kernel_works_init(&works, &selection);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (takes_kernels(&selection, track) && run_share_owns(timeline, track->process))
			count_track(&selection, groups, &works, track);
	share_groups(timeline, groups);
	sorted = sorted_groups(groups);
	FOR_EACH_POINTER(const struct kernel_group, group, sorted)
		if (selection_takes_name(&selection, tacho_timeline_string(timeline, group->name)))
			add_row(table, &selection, group, works.stride);
	if (!has_peak(sorted))
		table_hide_column(table, "peak_pct");
	tacho_table_sort(table, "total_ms", TRUE);
	note_work(table, &works, sorted);
	if (tacho_table_n_rows(table) == 0 && selection.filter->device && !selection.filter->name)
		note_no_streams(table, &selection);
	else if (note_unseen(table, timeline) == 0)
		absence_note(&selection, table, ABSENT_KERNELS);
	selection_note(&selection, table);
	outside_steps_note(&selection, table);
	kernel_works_release(&works);
	selection_release(&selection);
	return table;
}
