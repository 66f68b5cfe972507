/* op_view: framework operations, by name.
 *
 * A row is a name in a phase (op_phase.c); where names are those of instances, a type.
 * (1) total counts time once: an op inside an op of the same row adds nothing to it.
 * (2) self is without the ops inside; over all rows it adds up to the time in any op.
 * (3) Rows stand in the order of one measure, which the share beside the name is of: device time where a device
 *     did something ("% device"), else self time ("% step"), unless another order is asked for.
 * (4) What graphs do again (graph_replay.c) has rows of its own, in the phase "replay": they take no time of a
 *     thread, and count once a launch. */
#include <tacho/analyze.h>
#include <tacho/correlate.h>

#include <string.h>

#include "analyze/absence.h"
#include "analyze/device_work.h"
#include "analyze/graph_replay.h"
#include "analyze/group_exchange.h"
#include "analyze/op_cost.h"
#include "analyze/op_devices.h"
#include "analyze/op_facts.h"
#include "analyze/op_flops.h"
#include "analyze/op_phase.h"
#include "analyze/profile_tree.h"
#include "analyze/outside_steps.h"
#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/own_time.h"
#include "trace/run_share.h"

struct op_group {
	gint64 key; /* its place in the hash table */
	guint32 name;
	OpPhase phase;
	const gchar *shape; /* in `shapes`, NULL: rows are not by shape */
	guint64 count;
	gdouble sum_ns; /* of all calls, those inside others too */
	gdouble total_ns, self_ns;
	gint64 min_ns, max_ns;
	gdouble metrics[TACHO_N_METRICS]; /* of the row alone; those that were asked for */
	gboolean is_unknown;		  /* some call has no formula for its flops */
	gboolean is_typed;    /* counts by the further types or the device of its calls */
	const gchar *devices; /* interned; NULL: not asked for */
};

#define DEFAULT_SELECT (1u << TACHO_METRIC_TIME)

struct op_groups {
	const struct selection *selection;
	GArray *groups;	    /* struct op_group */
	GHashTable *by_key; /* gint64 key -> index + 1 */
	GHashTable *shapes; /* text -> number; owns the texts */
	const TachoProfileOptions *options;
	guint32 select;	     /* metrics that are shown */
	gdouble device_ns;   /* of all groups */
	guint order;	     /* TachoMetric or TACHO_ORDER_ */
	TachoMetric measure; /* of the times, that which shares are of */
	struct op_facts facts;
	gboolean with_facts, with_flops, with_outputs, with_params, with_devices;
	GStringChunk *texts; /* of devices */
	guint64 n_ops;	     /* calls, shown or not */
};

static const TachoColumn columns[] = {
	TEXT_COLUMN("name", "op", .is_flexible = TRUE),
	TEXT_COLUMN("phase", "phase"),
	TEXT_COLUMN("device", "device", .is_flexible = TRUE),
	TEXT_COLUMN("shapes", "shapes", .is_flexible = TRUE),
	SHARE_COLUMN("share_pct", "% step", 1),
	SHARE_COLUMN("device_pct", "% device", 1),
	NUMBER_COLUMN("self_ms", "self ms", 2),
	NUMBER_COLUMN("total_ms", "total ms", 2),
	NUMBER_COLUMN("device_ms", "device ms", 2),
	INTEGER_COLUMN("count", "count"),
	NUMBER_COLUMN("calls_per_step", "/step", 1),
	NUMBER_COLUMN("mean_us", "mean us", 1),
	NUMBER_COLUMN("min_us", "min us", 1),
	NUMBER_COLUMN("max_us", "max us", 1),
	JSON_NUMBER("cumulative_pct"),
	NUMBER_COLUMN("flops", "flops", 0),
	NUMBER_COLUMN("gflop_per_s", "GFLOP/s", 1),
	NUMBER_COLUMN("params", "params", 0),
	NUMBER_COLUMN("allocated_bytes", "requested B", 0),
	NUMBER_COLUMN("peak_bytes", "peak B", 0),
	NUMBER_COLUMN("residual_bytes", "residual B", 0),
	NUMBER_COLUMN("output_bytes", "output B", 0),
};

/* What must be selected for a column to be known, and to stand in the text. */
static const struct {
	const gchar *key;
	TachoMetric metric;
} metric_columns[] = {
	{ "device_ms", TACHO_METRIC_DEVICE },	       { "flops", TACHO_METRIC_FLOPS },
	{ "gflop_per_s", TACHO_METRIC_FLOPS },	       { "params", TACHO_METRIC_PARAMS },
	{ "allocated_bytes", TACHO_METRIC_ALLOCATED }, { "peak_bytes", TACHO_METRIC_PEAK },
	{ "residual_bytes", TACHO_METRIC_RESIDUAL },   { "output_bytes", TACHO_METRIC_OUTPUT },
};

/* The number of a shape, from 1; its text, which is taken over, is then the table's. */
static gint64 shape_number(struct op_groups *groups, gchar *shape, const gchar **ret_text)
{
	g_autofree gchar *text = shape;
	gpointer known, number;

	if (!g_hash_table_lookup_extended(groups->shapes, text, &known, &number)) {
		known = g_steal_pointer(&text);
		number = GUINT_TO_POINTER(g_hash_table_size(groups->shapes) + 1);
		g_hash_table_insert(groups->shapes, known, number);
	}
	*ret_text = known;
	return GPOINTER_TO_UINT(number);
}

/* `shape`, which is taken over, NULL: of no shape. */
static guint find_group(struct op_groups *groups, guint32 name, gchar *shape, OpPhase phase,
			gboolean is_typed)
{
	struct op_group group = { .name = name, .phase = phase, .is_typed = is_typed };
	gint64 number = shape ? shape_number(groups, shape, &group.shape) : 0;
	guint index;

	group.key = number << 36 | (gint64)is_typed << 35 | (gint64)group.name << 3 | phase;
	index = GPOINTER_TO_UINT(g_hash_table_lookup(groups->by_key, &group.key));
	if (index)
		return index - 1;
	group.min_ns = G_MAXINT64;
	g_array_append_val(groups->groups, group);
	g_hash_table_insert(groups->by_key, g_memdup2(&group.key, sizeof(group.key)),
			    GUINT_TO_POINTER(groups->groups->len));
	return groups->groups->len - 1;
}

/* The caller's; NULL: rows are not by shape, or the slice, TACHO_NONE, has none. */
static gchar *shape_of(const struct op_groups *groups, guint32 slice)
{
	return groups->selection->filter->by_shape && slice != TACHO_NONE
		       ? op_shapes_text(groups->selection->timeline, slice)
		       : NULL;
}

/* What was found out about the slices of one track, by their place on it. */
struct op_track {
	const TachoTrack *track;
	const guint8 *phases; /* OpPhase */
	guint32 *groups;      /* of selected ops; TACHO_NONE */
};

/* The place of the innermost selected op around `slice`, or TACHO_NONE. */
static guint32 op_around(const TachoTimeline *timeline, const struct op_track *on, guint32 slice)
{
	guint32 parent = timeline->slices.parent[slice];

	while (parent != TACHO_NONE && on->groups[parent - on->track->first_slice] == TACHO_NONE)
		parent = timeline->slices.parent[parent];
	return parent == TACHO_NONE ? TACHO_NONE : parent - on->track->first_slice;
}

static gboolean is_inside_group(const TachoTimeline *timeline, const struct op_track *on,
				guint32 around, guint32 group)
{
	while (around != TACHO_NONE && on->groups[around] != group)
		around = op_around(timeline, on, on->track->first_slice + around);
	return around != TACHO_NONE;
}

static void count_metrics(const struct op_groups *groups, struct op_group *group, guint32 slice,
			  gdouble flops)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	struct op_fact fact = { 0 };

	if (groups->with_facts)
		fact = op_facts_find(&groups->facts, slice);
	group->metrics[TACHO_METRIC_DEVICE] += fact.device_ns;
	group->metrics[TACHO_METRIC_ALLOCATED] += fact.allocated_bytes;
	group->metrics[TACHO_METRIC_PEAK] += fact.peak_bytes;
	group->metrics[TACHO_METRIC_RESIDUAL] += fact.residual_bytes;
	group->metrics[TACHO_METRIC_FLOPS] += MAX(flops, 0);
	group->metrics[TACHO_METRIC_RUNS]++;
	group->is_unknown |= flops < 0;
	if (groups->with_outputs)
		group->metrics[TACHO_METRIC_OUTPUT] += op_output_bytes(timeline, slice);
	if (groups->with_params)
		group->metrics[TACHO_METRIC_PARAMS] += op_parameters(timeline, slice);
}

/* The devices of a call, for as long as the table is made; NULL: nobody asks. */
static const gchar *devices_of(struct op_groups *groups, guint32 slice)
{
	g_autoptr(GString) devices = NULL;
	struct op_fact fact;

	if (!groups->with_devices)
		return NULL;
	devices = g_string_new(NULL);
	fact = op_facts_find(&groups->facts, slice);
	op_devices_add(devices, groups->selection->timeline, slice, &fact);
	return g_string_chunk_insert_const(groups->texts, devices->str);
}

/* Whether a call is accounted by what only calls have: the further types that the trace tells, and devices. Rows that are
 * accounted by their names or phases need not be divided by that. */
static gboolean is_typed(const struct op_groups *groups, guint32 slice, OpPhase phase,
			 const gchar *devices)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	const GPtrArray *regexes = groups->options->account;
	TachoToldOp told;

	if (!regexes ||
	    profile_matches(regexes,
			    tacho_timeline_string(timeline, tacho_slice_type(timeline, slice))) ||
	    profile_matches(regexes, op_phase_name(phase)))
		return FALSE;
	if (devices && op_devices_match(regexes, devices))
		return TRUE;
	if (tacho_slice_told(timeline, slice, &told) && told.tags) {
		g_auto(GStrv) tags =
			g_strsplit(tacho_timeline_string(timeline, told.tags), "\n", -1);

		for (guint i = 0; tags[i]; i++)
			if (profile_matches(regexes, tags[i]))
				return TRUE;
	}
	return FALSE;
}

/* A row's devices are those of all its calls. */
static void add_devices(struct op_groups *groups, struct op_group *group, const gchar *devices)
{
	g_autoptr(GString) all = NULL;
	g_auto(GStrv) names = NULL;

	if (!devices || devices == group->devices)
		return;
	if (!group->devices) {
		group->devices = devices;
		return;
	}
	all = g_string_new(group->devices);
	names = g_strsplit(devices, ",", -1);
	for (guint i = 0; names[i]; i++)
		op_devices_add_name(all, names[i]);
	group->devices = g_string_chunk_insert_const(groups->texts, all->str);
}

static void count_op(struct op_groups *groups, struct op_track *on, guint32 place, gint64 own_ns,
		     gdouble flops)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	guint32 slice = on->track->first_slice + place;
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	guint32 around = op_around(timeline, on, slice);
	const gchar *devices = devices_of(groups, slice);
	guint32 index =
		find_group(groups, tacho_slice_type(timeline, slice), shape_of(groups, slice),
			   on->phases[place], is_typed(groups, slice, on->phases[place], devices));
	struct op_group *group = &g_array_index(groups->groups, struct op_group, index);

	groups->n_ops++;
	add_devices(groups, group, devices);

	group->count++;
	group->sum_ns += (gdouble)duration_ns;
	group->self_ns += (gdouble)own_ns;
	group->min_ns = MIN(group->min_ns, duration_ns);
	group->max_ns = MAX(group->max_ns, duration_ns);
	if (!is_inside_group(timeline, on, around, index))
		group->total_ns += (gdouble)duration_ns;
	count_metrics(groups, group, slice, flops);
	on->groups[place] = index;
}

static void count_track(struct op_groups *groups, const TachoTrack *track)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autofree guint8 *phases = op_phases_of_track(timeline, track);
	g_autofree guint32 *indices = g_new(guint32, track->n_slices);
	g_autofree struct op_cost *costs =
		groups->with_flops ? op_costs_of_track(timeline, track, TRUE) : NULL;
	g_autofree guint8 *is_chosen = g_new0(guint8, MAX(track->n_slices, 1u));
	g_autofree gint64 *own_ns = NULL;
	struct op_track on = { track, phases, indices };
	guint cursor = 0;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;

		indices[i] = TACHO_NONE;
		is_chosen[i] = timeline->slices.kind[slice] == TACHO_SLICE_OP &&
			       selection_takes_time(groups->selection, rank_index,
						    timeline->slices.start_ns[slice], &cursor);
	}
	own_ns = own_times(&timeline->slices, track->first_slice, track->n_slices, is_chosen);
	for (guint32 i = 0; i < track->n_slices; i++)
		if (is_chosen[i])
			count_op(groups, &on, i, own_ns[i], costs ? costs[i].flops : 0);
}

static void count_replay(const struct graph_replay *replay, gpointer data)
{
	struct op_groups *groups = data;
	const TachoTimeline *timeline = groups->selection->timeline;
	guint index = find_group(groups, graph_replay_name(timeline, replay),
				 shape_of(groups, replay->op), PHASE_REPLAY, FALSE);
	struct op_group *group = &g_array_index(groups->groups, struct op_group, index);
	gdouble flops = groups->with_flops ? graph_replay_flops(timeline, replay) : 0;

	group->count++;
	group->min_ns = 0;
	if (groups->with_facts)
		group->metrics[TACHO_METRIC_DEVICE] += replay->device_ns;
	group->metrics[TACHO_METRIC_FLOPS] += MAX(flops, 0);
	group->metrics[TACHO_METRIC_RUNS]++;
	group->is_unknown |= flops < 0;
}

/* --- groups of several processes ---------------------------------------------------------------- */

static const struct group_field group_fields[] = {
	GROUP_FIELD(struct op_group, count, GROUP_COUNT),
	GROUP_FIELD(struct op_group, min_ns, GROUP_LEAST),
	GROUP_FIELD(struct op_group, max_ns, GROUP_LARGEST),
	GROUP_FIELD(struct op_group, sum_ns, GROUP_SUM),
	GROUP_FIELD(struct op_group, total_ns, GROUP_SUM),
	GROUP_FIELD(struct op_group, self_ns, GROUP_SUM),
	GROUP_FIELD(struct op_group, metrics, GROUP_SUM),
	GROUP_FIELD(struct op_group, is_unknown, GROUP_ANY),
};

static const struct group_kind group_kind = { "op", "operations", group_fields,
					      G_N_ELEMENTS(group_fields) };

static void pack_op_group(GByteArray *bytes, const TachoTimeline *timeline,
			  const struct op_group *group)
{
	group_pack_string(bytes, timeline, group->name);
	pack_uint32(bytes, group->phase);
	pack_uint32(bytes, group->is_typed != 0);
	pack_optional_text(bytes, group->shape);
	group_pack(bytes, timeline, &group_kind, group);
	pack_optional_text(bytes, group->devices);
}

static gboolean take_op_group(guint from, struct packed_bytes *packed, gpointer groups_pointer)
{
	struct op_groups *groups = groups_pointer;
	g_autofree gchar *shape = NULL, *devices = NULL;
	guint32 name, phase, is_typed;
	struct op_group *group;
	guint index;

	(void)from;
	if (!group_unpack_string(packed, groups->selection->timeline, &name) ||
	    !unpack_bytes(packed, &phase, sizeof(phase)) || phase > PHASE_REPLAY ||
	    !unpack_bytes(packed, &is_typed, sizeof(is_typed)) ||
	    !unpack_optional_text(packed, &shape))
		return FALSE;
	index = find_group(groups, name, g_steal_pointer(&shape), (OpPhase)phase, is_typed != 0);
	group = &g_array_index(groups->groups, struct op_group, index);
	if (!group_unpack(packed, &group_kind, group) || !unpack_optional_text(packed, &devices))
		return FALSE;
	if (devices)
		add_devices(groups, group, g_string_chunk_insert_const(groups->texts, devices));
	return TRUE;
}

/* Groups of all owners, in the order of their ranks: so they stand as one process finds them. */
static void share_groups(struct op_groups *groups)
{
	const TachoTimeline *timeline = groups->selection->timeline;
	g_autoptr(GByteArray) bytes = NULL;

	if (!timeline->share)
		return;
	bytes = g_byte_array_new();
	FOR_EACH(const struct op_group, group, groups->groups)
		pack_op_group(bytes, timeline, group);
	g_array_set_size(groups->groups, 0);
	g_hash_table_remove_all(groups->by_key);
	group_exchange(timeline, group_kind.what, bytes, take_op_group, groups);
	run_share_sum(timeline, "calls of operations", &groups->n_ops, 1);
}

/* --- what is shown ---------------------------------------------------------------------------- */

static void add_metric(TachoTable *table, const struct op_groups *groups,
		       const struct op_group *group, TachoMetric metric, gdouble scale)
{
	table_number_if(table, groups->select >> metric & 1, group->metrics[metric] / scale);
}

static void add_row(TachoTable *table, const struct op_groups *groups, const struct op_group *group,
		    gdouble cumulative_share)
{
	const struct selection *selection = groups->selection;
	guint n_steps = selection_n_steps(selection);

	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(selection->timeline, group->name));
	tacho_table_text(table, op_phase_name(group->phase));
	tacho_table_text(table, group->devices && *group->devices ? group->devices : NULL);
	tacho_table_text(table, group->shape);
	tacho_table_number(table, 100.0 * group->self_ns / selection->total_ns);
	table_share(table, group->metrics[TACHO_METRIC_DEVICE], groups->device_ns);
	tacho_table_number(table, MS(group->self_ns));
	tacho_table_number(table, MS(group->total_ns));
	add_metric(table, groups, group, TACHO_METRIC_DEVICE, 1e6);
	tacho_table_integer(table, (gint64)group->count);
	tacho_table_number(table, (gdouble)group->count / n_steps);
	tacho_table_number(table, US(group->sum_ns) / (gdouble)group->count);
	tacho_table_number(table, US(group->min_ns));
	tacho_table_number(table, US(group->max_ns));
	tacho_table_number(table, 100.0 * cumulative_share);
	add_metric(table, groups, group, TACHO_METRIC_FLOPS, 1);
	table_flop_rate(table, group->metrics);
	add_metric(table, groups, group, TACHO_METRIC_PARAMS, 1);
	add_metric(table, groups, group, TACHO_METRIC_ALLOCATED, 1);
	add_metric(table, groups, group, TACHO_METRIC_PEAK, 1);
	add_metric(table, groups, group, TACHO_METRIC_RESIDUAL, 1);
	add_metric(table, groups, group, TACHO_METRIC_OUTPUT, 1);
}

static gboolean is_accounted(const struct op_groups *groups, const struct op_group *group)
{
	const GPtrArray *regexes = groups->options->account;
	const gchar *name = tacho_timeline_string(groups->selection->timeline, group->name);

	return !regexes || group->is_typed || profile_matches(regexes, name) ||
	       profile_matches(regexes, op_phase_name(group->phase)) ||
	       (group->metrics[TACHO_METRIC_PARAMS] > 0 &&
		profile_matches(regexes, "_trainable_variables")) ||
	       (group->metrics[TACHO_METRIC_DEVICE] > 0 && profile_matches(regexes, "device"));
}

/* Minimums of either kind are of the row alone: the rows of this view hold no others. */
static gboolean passes(const struct op_groups *groups, const struct op_group *group)
{
	const TachoProfileOptions *options = groups->options;
	const gchar *name = tacho_timeline_string(groups->selection->timeline, group->name);

	for (guint metric = 0; metric < TACHO_N_METRICS; metric++)
		if (group->metrics[metric] < options->min_total[metric] ||
		    group->metrics[metric] < options->min_self[metric])
			return FALSE;
	return selection_takes_name(groups->selection, name) &&
	       (!options->show || profile_matches(options->show, name)) &&
	       !(options->hide && profile_matches(options->hide, name));
}

static gint compare_groups(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct op_groups *groups = data;
	const struct op_group *x = *(struct op_group *const *)a, *y = *(struct op_group *const *)b;
	const TachoTimeline *timeline = groups->selection->timeline;
	guint order = groups->order;

	if (order < TACHO_N_METRICS && x->metrics[order] != y->metrics[order])
		return x->metrics[order] > y->metrics[order] ? -1 : 1;
	if (order == TACHO_ORDER_NAME && x->name != y->name)
		return strcmp(tacho_timeline_string(timeline, x->name),
			      tacho_timeline_string(timeline, y->name));
	if (order == TACHO_METRIC_DEVICE && x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	return 0;
}

/* The accounted groups in order. Borrowed. */
static GPtrArray *ordered_groups(struct op_groups *groups)
{
	GPtrArray *ordered = g_ptr_array_new();

	FOR_EACH(struct op_group, group, groups->groups) {
		group->metrics[TACHO_METRIC_HOST] = group->self_ns;
		group->metrics[TACHO_METRIC_TIME] =
			group->self_ns + group->metrics[TACHO_METRIC_DEVICE];
		if (is_accounted(groups, group))
			g_ptr_array_add(ordered, group);
	}
	g_ptr_array_sort_with_data(ordered, compare_groups, groups);
	return ordered;
}

/* From the first that matches `start` to before the first that matches `trim`. */
static GPtrArray *shown_groups(const struct op_groups *groups, const GPtrArray *ordered)
{
	const TachoProfileOptions *options = groups->options;
	GPtrArray *shown = g_ptr_array_new();
	gboolean is_started = !options->start;

	FOR_EACH_POINTER(struct op_group, group, ordered) {
		const gchar *name = tacho_timeline_string(groups->selection->timeline, group->name);

		is_started = is_started || profile_matches(options->start, name);
		if (!is_started)
			continue;
		if ((options->trim && profile_matches(options->trim, name)) ||
		    (options->max_depth && shown->len >= options->max_depth))
			break;
		if (passes(groups, group))
			g_ptr_array_add(shown, group);
	}
	return shown;
}

static gdouble sum_time(const GPtrArray *list, TachoMetric measure)
{
	gdouble time_ns = 0;

	for (guint i = 0; i < list->len; i++)
		time_ns += ((const struct op_group *)g_ptr_array_index(list, i))->metrics[measure];
	return time_ns;
}

/* The cumulative share is that of a row and all that come after it, shown or not; with
 * displayed_only, of the rows shown. */
static void add_rows(TachoTable *table, struct op_groups *groups)
{
	g_autoptr(GPtrArray) ordered = ordered_groups(groups);
	g_autoptr(GPtrArray) shown = shown_groups(groups, ordered);
	const GPtrArray *counted = groups->options->is_displayed_only ? shown : ordered;
	gdouble whole_ns = sum_time(counted, groups->measure), left_ns = whole_ns;
	guint next = 0;

	FOR_EACH_POINTER(const struct op_group, group, shown) {
		for (; g_ptr_array_index(counted, next) != group; next++)
			left_ns -= ((const struct op_group *)g_ptr_array_index(counted, next))
					   ->metrics[groups->measure];
		add_row(table, groups, group, whole_ns > 0 ? left_ns / whole_ns : 0);
	}
}

static void note_unknown(TachoTable *table, const struct op_groups *groups)
{
	gdouble all_ns = 0, unknown_ns = 0;

	FOR_EACH(const struct op_group, group, groups->groups) {
		all_ns += group->metrics[TACHO_METRIC_TIME];
		if (group->is_unknown)
			unknown_ns += group->metrics[TACHO_METRIC_TIME];
	}
	if (groups->with_flops && all_ns > 0)
		tacho_table_note(table,
				 "%.0f %% of the time is in operations without a formula for their "
				 "floating-point operations.",
				 100.0 * unknown_ns / all_ns);
}

/* What the program launched by itself, and what graphs did whose capture nobody saw, is in no operation's row. */
static void note_without_op(TachoTable *table, const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	guint64 counts[2] = { 0 };   /* launched by itself, and by graphs */
	gdouble times_ns[2] = { 0 }; /* all, and of what was launched by itself */

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		guint rank_index = tacho_track_process(timeline, track)->rank_index;
		guint cursor = 0;

		if (track->kind != TACHO_TRACK_STREAM || !takes_stream(selection, track))
			continue;
		for (guint32 k = track->first_slice; k < track->first_slice + track->n_slices;
		     k++) {
			const TachoGraphWork *work;

			if (!is_device_work(timeline, k) ||
			    !selection_takes_time(selection, rank_index,
						  timeline->slices.start_ns[k], &cursor))
				continue;
			times_ns[0] += (gdouble)timeline->slices.duration_ns[k];
			if (tacho_kernel_op(timeline, k) != TACHO_NONE)
				continue;
			work = tacho_slice_borrow_graph_work(timeline, k);
			if (work) {
				counts[1] += work->capture == TACHO_NONE;
				continue;
			}
			counts[0]++;
			times_ns[1] += (gdouble)timeline->slices.duration_ns[k];
		}
	}
	run_share_sum(timeline, "work without operations", counts, G_N_ELEMENTS(counts));
	run_share_sum_reals(timeline, "its time", times_ns, G_N_ELEMENTS(times_ns));
	if (counts[0])
		tacho_table_note(table,
				 "No operation launched %" G_GUINT64_FORMAT
				 " of the kernels, copies and fills. They took %.2f ms or %.1f %% "
				 "of the time of all, and no row includes it.",
				 counts[0], times_ns[1] / 1e6,
				 times_ns[0] > 0 ? 100 * times_ns[1] / times_ns[0] : 0);
	if (counts[1])
		tacho_table_note(table,
				 "Graph launches ran %" G_GUINT64_FORMAT
				 " of the kernels, copies and fills, and the recording does not "
				 "have their capture. Rows of the phase replay are therefore named "
				 "after the kernels, not after operations.",
				 counts[1]);
}

/* Where devices did something, and nobody has said what to show, the text has their time, and rows are in its order
 * unless another was asked for. */
static void choose_order(struct op_groups *groups)
{
	for (guint i = 0; i < groups->groups->len; i++)
		groups->device_ns += g_array_index(groups->groups, struct op_group, i)
					     .metrics[TACHO_METRIC_DEVICE];
	groups->order = groups->options->order;
	if (!groups->options->has_order)
		groups->order = groups->device_ns > 0 ? TACHO_METRIC_DEVICE : TACHO_METRIC_HOST;
	groups->measure = groups->order == TACHO_METRIC_DEVICE || groups->order == TACHO_METRIC_HOST
				  ? (TachoMetric)groups->order
				  : TACHO_METRIC_TIME;
	groups->select = groups->options->select;
	if (groups->select == DEFAULT_SELECT && groups->device_ns > 0)
		groups->select |= 1u << TACHO_METRIC_DEVICE;
}

static TachoTable *new_table(const struct op_groups *groups)
{
	TachoTable *table = tacho_table_new("op", columns, G_N_ELEMENTS(columns));

	if (!groups->selection->filter->by_shape)
		table_hide_column(table, "shapes");
	if (groups->measure == TACHO_METRIC_DEVICE)
		table_hide_column(table, "share_pct");
	if (groups->measure == TACHO_METRIC_HOST || groups->device_ns <= 0)
		table_hide_column(table, "device_pct");
	if (!(groups->options->select >> TACHO_SELECT_DEVICE & 1))
		table_hide_column(table, "device");
	for (guint i = 0; i < G_N_ELEMENTS(metric_columns); i++)
		if (!(groups->select >> metric_columns[i].metric & 1))
			table_hide_column(table, metric_columns[i].key);
	return table;
}

static gboolean wants(const TachoProfileOptions *options, TachoMetric metric)
{
	return (options->select >> metric & 1) || options->order == metric ||
	       options->min_self[metric] > 0 || options->min_total[metric] > 0;
}

/* Memory and tensors are looked up only where somebody asks. */
static void choose_metrics(struct op_groups *groups)
{
	static const TachoProfileOptions defaults = { .order = TACHO_METRIC_TIME,
						      .select = DEFAULT_SELECT };
	const TachoFilter *filter = groups->selection->filter;
	const TachoProfileOptions *options = filter->profile ? filter->profile : &defaults;

	groups->options = options;
	groups->with_facts =
		wants(options, TACHO_METRIC_TIME) || wants(options, TACHO_METRIC_DEVICE) ||
		wants(options, TACHO_METRIC_ALLOCATED) || wants(options, TACHO_METRIC_PEAK) ||
		wants(options, TACHO_METRIC_RESIDUAL);
	groups->with_devices = options->account || options->select >> TACHO_SELECT_DEVICE & 1;
	groups->with_facts |= groups->with_devices;
	groups->with_flops = wants(options, TACHO_METRIC_FLOPS);
	groups->with_outputs = wants(options, TACHO_METRIC_OUTPUT);
	groups->with_params = wants(options, TACHO_METRIC_PARAMS) || options->account;
	if (groups->with_facts)
		op_facts_init(&groups->facts, groups->selection->timeline,
			      wants(options, TACHO_METRIC_ALLOCATED) ||
				      wants(options, TACHO_METRIC_PEAK) ||
				      wants(options, TACHO_METRIC_RESIDUAL));
}

/* Nothing recorded is not the same as nothing shown of it. */
static void note_empty(TachoTable *table, const struct op_groups *groups)
{
	g_autofree gchar *hiding = profile_hiding_options(groups->options);

	if (tacho_table_n_rows(table))
		return;
	if (groups->n_ops && *hiding)
		tacho_table_note(table,
				 "%" G_GUINT64_FORMAT " calls of operations were recorded in the "
				 "chosen ranks and steps; %s hides them all.",
				 groups->n_ops, hiding);
	else
		absence_note(groups->selection, table, ABSENT_OPERATIONS);
}

TachoTable *tacho_view_op(const TachoTimeline *timeline, const TachoFilter *filter)
{
	struct op_groups groups = {
		.groups = g_array_new(FALSE, FALSE, sizeof(struct op_group)),
		.by_key = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
		.shapes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
	};
	struct selection selection;
	TachoTable *table;

	selection_init(&selection, timeline, filter);
	groups.selection = &selection;
	groups.texts = g_string_chunk_new(1024);
	choose_metrics(&groups);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (selection_takes_track(&selection, track) &&
		    run_share_owns(timeline, track->process))
			count_track(&groups, track);
	visit_replays(&selection, count_replay, &groups);
	share_groups(&groups);
	choose_order(&groups);
	table = new_table(&groups);
	add_rows(table, &groups);
	note_unknown(table, &groups);
	note_empty(table, &groups);
	if (groups.groups->len)
		note_without_op(table, &selection);
	selection_note(&selection, table);
	outside_steps_note(&selection, table);
	selection_release(&selection);
	op_facts_release(&groups.facts);
	g_string_chunk_free(groups.texts);
	g_array_unref(groups.groups);
	g_hash_table_unref(groups.by_key);
	g_hash_table_unref(groups.shapes);
	return table;
}
