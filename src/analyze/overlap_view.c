/* overlap_view: how much of a rank's communication is hidden behind its computation.
 *
 * For a rank with recorded devices (GPUs), computation is what their streams do except
 * communication; for another, it is that of the step view: its threads' operations and kernels.
 * Communication is the transfer of collectives, as everywhere: from when the last rank has queued one.
 *
 * Meta's Holistic Trace Analysis (get_comm_comp_overlap: of the time in communication kernels, the part
 * with computation kernels beside it) cannot tell transfer from waiting for a late rank; its figure is
 * overlap_with_wait_pct, but that it leaves copies and fills out of computation. Where no other rank was
 * recorded the two are the same. */
#include <tacho/analyze.h>

#include "analyze/device_work.h"
#include "analyze/rank_activity.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/region_kind.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("where", "where"),
	INTEGER_COLUMN("steps", "steps"),
	NUMBER_COLUMN("duration_ms", "ms", 2),
	NUMBER_COLUMN("compute_ms", "compute", 2),
	NUMBER_COLUMN("communication_ms", "comm", 2),
	NUMBER_COLUMN("hidden_ms", "hidden", 2),
	NUMBER_COLUMN("exposed_ms", "exposed", 2),
	NUMBER_COLUMN("overlap_pct", "overlap %", 1),
	SHARE_COLUMN("exposed_pct", "% step", 1),
	JSON_NUMBER("overlap_with_wait_pct"),
};

/* Moments of one rank; all normalized once they are found. */
struct moments {
	struct interval_set compute;
	struct interval_set transfer, exposed_transfer;
	struct interval_set queued, exposed_queued; /* collectives from queued to complete */
	gboolean has_device;
};

/* Sums over the stretches of a rank, or of all. */
struct overlap {
	guint n_stretches;
	gdouble duration_ns, compute_ns;
	gdouble transfer_ns, exposed_transfer_ns, queued_ns, exposed_queued_ns;
};

static void moments_init(struct moments *moments)
{
	interval_set_init(&moments->compute);
	interval_set_init(&moments->transfer);
	interval_set_init(&moments->exposed_transfer);
	interval_set_init(&moments->queued);
	interval_set_init(&moments->exposed_queued);
	moments->has_device = FALSE;
}

static void moments_release(struct moments *moments)
{
	interval_set_release(&moments->compute);
	interval_set_release(&moments->transfer);
	interval_set_release(&moments->exposed_transfer);
	interval_set_release(&moments->queued);
	interval_set_release(&moments->exposed_queued);
}

static void add_collective(struct moments *moments, const TachoTimeline *timeline, guint32 slice,
			   GHashTable *collectives)
{
	const TachoCollective *collective =
		g_hash_table_lookup(collectives, GUINT_TO_POINTER(slice));
	gint64 start_ns = timeline->slices.start_ns[slice];
	gint64 end_ns = tacho_slice_end_ns(timeline, slice);
	gint64 transfer_ns =
		collective ? CLAMP(collective->last_begin_ns, start_ns, end_ns) : start_ns;

	interval_set_add(&moments->queued, start_ns, end_ns);
	interval_set_add(&moments->transfer, transfer_ns, end_ns);
}

static void add_track(struct moments *moments, const struct selection *selection,
		      const TachoTrack *track, GHashTable *collectives)
{
	const TachoTimeline *timeline = selection->timeline;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gboolean is_work = is_device_work(timeline, i);

		moments->has_device |= is_work;
		if (timeline->slices.kind[i] == TACHO_SLICE_COLLECTIVE) {
			if (selection_takes_name(selection, tacho_slice_name(timeline, i)))
				add_collective(moments, timeline, i, collectives);
		} else if (is_work && !slice_communicates(timeline, i)) {
			interval_set_add(&moments->compute, timeline->slices.start_ns[i],
					 tacho_slice_end_ns(timeline, i));
		}
	}
}

static void add_host_compute(struct moments *moments, const TachoTimeline *timeline,
			     guint rank_index, GHashTable *collectives)
{
	struct rank_activity activity;

	rank_activity_init(&activity, timeline, rank_index, collectives);
	interval_set_add_all(&moments->compute, &activity.compute);
	rank_activity_release(&activity);
}

static void expose(struct interval_set *exposed, const struct interval_set *all,
		   const struct interval_set *compute)
{
	interval_set_add_all(exposed, all);
	interval_set_subtract(exposed, compute);
}

static void find_moments(struct moments *moments, const struct selection *selection,
			 guint rank_index, GHashTable *collectives)
{
	const TachoTimeline *timeline = selection->timeline;

	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (selection_takes_track(selection, track) &&
		    tacho_track_process(timeline, track)->rank_index == rank_index &&
		    (track->kind != TACHO_TRACK_STREAM || takes_stream(selection, track)))
			add_track(moments, selection, track, collectives);
	if (!moments->has_device)
		add_host_compute(moments, timeline, rank_index, collectives);
	interval_set_normalize(&moments->compute);
	interval_set_normalize(&moments->transfer);
	interval_set_normalize(&moments->queued);
	expose(&moments->exposed_transfer, &moments->transfer, &moments->compute);
	expose(&moments->exposed_queued, &moments->queued, &moments->compute);
}

static void add_stretch(struct overlap *overlap, const struct moments *moments,
			const struct interval *stretch)
{
	gint64 begin_ns = stretch->begin_ns, end_ns = stretch->end_ns;

#define MEASURE(set) ((gdouble)interval_set_measure(&moments->set, begin_ns, end_ns))
	overlap->n_stretches++;
	overlap->duration_ns += (gdouble)(end_ns - begin_ns);
	overlap->compute_ns += MEASURE(compute);
	overlap->transfer_ns += MEASURE(transfer);
	overlap->exposed_transfer_ns += MEASURE(exposed_transfer);
	overlap->queued_ns += MEASURE(queued);
	overlap->exposed_queued_ns += MEASURE(exposed_queued);
#undef MEASURE
}

static void add_row(TachoTable *table, const struct selection *selection, guint rank_index,
		    const struct overlap *overlap, gboolean has_device)
{
	const TachoTimeline *timeline = selection->timeline;
	guint n = overlap->n_stretches;

	tacho_table_row(table);
	table_rank(table, timeline, rank_index);
	tacho_table_text(table, has_device ? "device" : "host");
	table_integer_if(table, !selection->is_whole, n);
	tacho_table_number(table, MS(overlap->duration_ns) / n);
	tacho_table_number(table, MS(overlap->compute_ns) / n);
	tacho_table_number(table, MS(overlap->transfer_ns) / n);
	tacho_table_number(table, MS(overlap->transfer_ns - overlap->exposed_transfer_ns) / n);
	tacho_table_number(table, MS(overlap->exposed_transfer_ns) / n);
	table_share(table, overlap->transfer_ns - overlap->exposed_transfer_ns,
		    overlap->transfer_ns);
	table_share(table, overlap->exposed_transfer_ns, overlap->duration_ns);
	table_share(table, overlap->queued_ns - overlap->exposed_queued_ns, overlap->queued_ns);
}

static void accumulate(struct overlap *sum, const struct overlap *one)
{
	sum->n_stretches += one->n_stretches;
	sum->duration_ns += one->duration_ns;
	sum->transfer_ns += one->transfer_ns;
	sum->exposed_transfer_ns += one->exposed_transfer_ns;
}

/* A rank without the devices that were asked for has no row. */
static void add_rank(TachoTable *table, const struct selection *selection, guint rank_index,
		     GHashTable *collectives, struct overlap *sum)
{
	g_autoptr(GArray) stretches = selection_stretches(selection, rank_index);
	struct overlap overlap = { 0 };
	struct moments moments;

	if (stretches->len == 0)
		return;
	moments_init(&moments);
	find_moments(&moments, selection, rank_index, collectives);
	for (guint i = 0; i < stretches->len; i++)
		add_stretch(&overlap, &moments, &g_array_index(stretches, struct interval, i));
	if (overlap.queued_ns > 0 && (moments.has_device || !selection->filter->device)) {
		add_row(table, selection, rank_index, &overlap, moments.has_device);
		accumulate(sum, &overlap);
	}
	moments_release(&moments);
}

static void note_overlap(TachoTable *table, const struct selection *selection,
			 const struct overlap *sum)
{
	if (sum->transfer_ns > 0)
		tacho_table_note(table,
				 "%.0f %% of the communication is hidden. If all of it were "
				 "hidden, %s would be at best %.2f ms (%.1f %%) shorter.",
				 100.0 - 100.0 * sum->exposed_transfer_ns / sum->transfer_ns,
				 selection->is_whole ? "the run" : "a step",
				 MS(sum->exposed_transfer_ns) / sum->n_stretches,
				 100.0 * sum->exposed_transfer_ns / sum->duration_ns);
	if (tacho_table_n_rows(table) == 0 && selection->filter->device)
		note_no_streams(table, selection);
	else
		selection_note_empty(selection, table, "collectives");
}

TachoTable *tacho_view_overlap(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("overlap", columns, G_N_ELEMENTS(columns));
	g_autoptr(GHashTable) collectives = index_collectives(timeline);
	struct overlap sum = { 0 };
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint rank = 0; rank < timeline->ranks->len; rank++)
		add_rank(table, &selection, rank, collectives, &sum);
	note_overlap(table, &selection, &sum);
	selection_note(&selection, table);
	selection_release(&selection);
	return table;
}
