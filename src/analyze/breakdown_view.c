/* breakdown_view: what a step's time goes to, by who is at work.
 *
 * Each moment of a step is one of these, the first that fits:
 *
 *     kernel         a device computes
 *     memcpy         a device copies
 *     memset         a device fills memory
 *     communication  a collective is under way, or queued ("nccl:...", "gloo:..." on the host)
 *     runtime        the host is in a call of a device's runtime or driver
 *     data_loader    the host takes a batch from its data loader
 *     operation      the host runs operations or regions: framework code
 *     other          none of these: the program itself
 *
 * so that all add up to the step. It is the breakdown of the overview of PyTorch's TensorBoard plug-in
 * (pytorch/kineto, tb_plugin, overall_parser.py), whose steps are device_steps', too. */
#include <tacho/analyze.h>

#include "analyze/device_steps.h"
#include "analyze/device_work.h"
#include "analyze/rank_activity.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/data_loading.h"
#include "trace/region_kind.h"

/* PART(enumerator, key, title): in the order in which they claim a moment */
#define PARTS(PART)                                                                                \
	PART(KERNEL, kernel, "kernel")                                                             \
	PART(MEMCPY, memcpy, "copy")                                                               \
	PART(MEMSET, memset, "fill")                                                               \
	PART(COMMUNICATION, communication, "comm")                                                 \
	PART(RUNTIME, runtime, "runtime")                                                          \
	PART(DATA_LOADER, data_loader, "data")                                                     \
	PART(OPERATION, operation, "ops")

enum part {
#define PART_ENUM(enumerator, key, title) PART_##enumerator,
	PARTS(PART_ENUM)
#undef PART_ENUM
		N_PARTS
};

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	INTEGER_COLUMN("steps", "steps"),
	NUMBER_COLUMN("duration_ms", "ms", 2),
#define PART_COLUMN(enumerator, part, part_title) NUMBER_COLUMN(#part "_ms", part_title, 2),
	PARTS(PART_COLUMN)
#undef PART_COLUMN
		NUMBER_COLUMN("other_ms", "other", 2),
};

/* What a rank's moments are; disjoint and normalized once they are found. */
struct parts {
	struct interval_set sets[N_PARTS];
};

static enum part part_of_work(TachoSliceKind kind)
{
	switch (kind) {
	case TACHO_SLICE_KERNEL:
		return PART_KERNEL;
	case TACHO_SLICE_MEMCPY:
		return PART_MEMCPY;
	case TACHO_SLICE_MEMSET:
		return PART_MEMSET;
	case TACHO_SLICE_COLLECTIVE:
		return PART_COMMUNICATION;
	default:
		return N_PARTS;
	}
}

static enum part part_of_call(const TachoTimeline *timeline, guint32 slice)
{
	enum region_kind kind;

	switch (timeline->slices.kind[slice]) {
	case TACHO_SLICE_COLLECTIVE:
		return PART_COMMUNICATION;
	case TACHO_SLICE_RUNTIME:
		return PART_RUNTIME;
	case TACHO_SLICE_WAIT:
	case TACHO_SLICE_ANNOTATION:
		if (data_loading_of(timeline, slice) != DATA_LOADING_NONE)
			return PART_DATA_LOADER;
		kind = region_kind_of(timeline, slice);
		if (timeline->slices.kind[slice] == TACHO_SLICE_WAIT || kind == REGION_STEP)
			return N_PARTS;
		return kind == REGION_COLLECTIVE ? PART_COMMUNICATION : PART_OPERATION;
	case TACHO_SLICE_OP:
		kind = region_kind_of(timeline, slice);
		return kind == REGION_COLLECTIVE ? PART_COMMUNICATION : PART_OPERATION;
	case TACHO_SLICE_KERNEL: /* of a library on the host */
		return PART_OPERATION;
	default:
		return N_PARTS;
	}
}

static void add_track(struct parts *parts, const TachoTimeline *timeline, const TachoTrack *track)
{
	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		enum part part = track->kind == TACHO_TRACK_STREAM
					 ? part_of_work(timeline->slices.kind[i])
					 : part_of_call(timeline, i);

		if (part != N_PARTS)
			interval_set_add(&parts->sets[part], timeline->slices.start_ns[i],
					 tacho_slice_end_ns(timeline, i));
	}
}

static void parts_init(struct parts *parts, const struct selection *selection, guint rank_index)
{
	const TachoTimeline *timeline = selection->timeline;
	struct interval_set claimed;

	interval_set_init(&claimed);
	for (guint i = 0; i < N_PARTS; i++)
		interval_set_init(&parts->sets[i]);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (selection_takes_track(selection, track) &&
		    tacho_track_process(timeline, track)->rank_index == rank_index)
			add_track(parts, timeline, track);
	for (guint i = 0; i < N_PARTS; i++) {
		interval_set_normalize(&parts->sets[i]);
		interval_set_subtract(&parts->sets[i], &claimed);
		interval_set_add_all(&claimed, &parts->sets[i]);
		interval_set_normalize(&claimed);
	}
	interval_set_release(&claimed);
}

static void parts_release(struct parts *parts)
{
	for (guint i = 0; i < N_PARTS; i++)
		interval_set_release(&parts->sets[i]);
}

/* The chosen steps as struct interval; of a run without steps all of it. */
static GArray *find_stretches(const struct selection *selection, guint rank_index)
{
	g_autoptr(GArray) steps = NULL;
	GArray *stretches;

	if (selection->is_whole)
		return selection_stretches(selection, rank_index);
	stretches = g_array_new(FALSE, FALSE, sizeof(struct interval));
	steps = device_steps(selection, rank_index);
	FOR_EACH(const TachoStep, step, steps) {
		struct interval stretch = { step->start_ns, step->end_ns };

		g_array_append_val(stretches, stretch);
	}
	return stretches;
}

static void add_rank(TachoTable *table, const struct selection *selection, guint rank_index)
{
	const TachoTimeline *timeline = selection->timeline;
	g_autoptr(GArray) stretches = find_stretches(selection, rank_index);
	gint64 sums_ns[N_PARTS] = { 0 }, duration_ns = 0, rest_ns;
	struct parts parts;

	if (stretches->len == 0)
		return;
	parts_init(&parts, selection, rank_index);
	for (guint i = 0; i < stretches->len; i++) {
		struct interval at = g_array_index(stretches, struct interval, i);

		duration_ns += at.end_ns - at.begin_ns;
		for (guint part = 0; part < N_PARTS; part++)
			sums_ns[part] +=
				interval_set_measure(&parts.sets[part], at.begin_ns, at.end_ns);
	}
	parts_release(&parts);
	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	table_integer_if(table, !selection->is_whole, stretches->len);
	tacho_table_number(table, MS(duration_ns) / stretches->len);
	rest_ns = duration_ns;
	for (guint part = 0; part < N_PARTS; part++) {
		tacho_table_number(table, MS(sums_ns[part]) / stretches->len);
		rest_ns -= sums_ns[part];
	}
	tacho_table_number(table, MS(rest_ns) / stretches->len);
}

TachoTable *tacho_view_breakdown(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("breakdown", columns, G_N_ELEMENTS(columns));
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint rank = 0; rank < timeline->ranks->len; rank++)
		if (selection_takes_rank(&selection, rank))
			add_rank(table, &selection, rank);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
