/* replay_timeline: a replay as a timeline, beside what was measured, for viewers.
 *
 * Steps are those of the measured processes. A measured slice is where the pieces it was cut into are: it begins with the first and ends with
 * the last of them or of its children's. Times of both begin with the first step replayed. Ranks that were not
 * measured, but are played by themselves, are there as replayed only. */
#include "analyze/memory_blocks.h"
#include "base/for_each.h"
#include "graph/rank_copies.h"
#include "replay/replay_internal.h"
#include "predict/held_memory.h"
#include "trace/clock_map.h"
#include "trace/told_meaning.h"

struct picture {
	const TachoReplay *replay;
	const TachoGraph *graph;
	const TachoTimeline *timeline;
	TachoTimeline *out;
	gint64 *begin_ns, *end_ns; /* of each measured slice in the replay, of the ranks of one set
				    * (rank_copies.h); begin > end: not in it */
};

static guint32 copy_string(struct picture *picture, guint32 id)
{
	guint32 copy = tacho_timeline_intern(picture->out,
					     tacho_timeline_string(picture->timeline, id), -1);

	told_meaning_copy(picture->out, copy, picture->timeline, id);
	return copy;
}

static void find_slices(struct picture *picture, guint32 set)
{
	const TachoGraph *graph = picture->graph;
	guint32 n = picture->timeline->slices.n;

	for (guint32 i = 0; i < n; i++) {
		picture->begin_ns[i] = G_MAXINT64;
		picture->end_ns[i] = G_MININT64;
	}
	for (guint32 i = 0; i < picture->replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		if (node->kind == TACHO_NODE_REMOVED || node->kind == TACHO_NODE_LAUNCH ||
		    node->kind == TACHO_NODE_GAP ||
		    graph_lane_at(graph, node->lane)->track == TACHO_NONE ||
		    graph_lane_at(graph, node->lane)->set != set)
			continue;
		for (guint32 slice = node->slice; slice != TACHO_NONE;
		     slice = picture->timeline->slices.parent[slice]) {
			picture->begin_ns[slice] =
				MIN(picture->begin_ns[slice], picture->replay->begin_ns[i]);
			picture->end_ns[slice] =
				MAX(picture->end_ns[slice], picture->replay->end_ns[i]);
		}
	}
}

/* The rank itself, or the one that it is a copy of. */
static const TachoRank *recorded_rank(const struct picture *picture, guint32 rank_index)
{
	const GArray *ranks = picture->timeline->ranks;

	return &g_array_index(ranks, TachoRank, rank_index % ranks->len);
}

/* The process of a rank, as measured or replayed; returns its row. */
static guint32 add_process(struct picture *picture, guint32 rank_index, gboolean is_replayed)
{
	const TachoRank *rank = recorded_rank(picture, rank_index);
	gboolean is_copy = rank_index >= picture->timeline->ranks->len;
	TachoProcess process =
		g_array_index(picture->timeline->processes, TachoProcess, rank->main_process);

	process.host = copy_string(picture, process.host);
	process.job = copy_string(picture, process.job);
	process.command =
		tacho_timeline_intern(picture->out, is_replayed ? "replayed" : "measured", -1);
	process.is_main = !is_replayed || is_copy;
	process.pid = rank_index * 2 + 1 + is_replayed; /* two of one pid would be drawn as one */
	if (is_copy)
		process.rank = rank_copies_number(picture->graph, rank_index);
	process.rank_index = picture->out->ranks->len;
	process.start_ns = process.end_ns = 0;
	process.n_events = process.n_dropped = process.cost_ns = 0;
	process.path = g_strdup("");
	g_array_append_val(picture->out->processes, process);
	return picture->out->processes->len - 1;
}

static guint32 add_track(struct picture *picture, const struct graph_lane *lane, guint32 process)
{
	TachoTrack track = { .kind = TACHO_TRACK_ASYNC };

	if (lane->track != TACHO_NONE) {
		track = *tacho_timeline_track(picture->timeline, lane->track);
		track.first_slice = track.n_slices = 0;
		track.first_ns = track.last_ns = 0;
	}
	track.process = process;
	track.name = copy_string(picture, lane->name);
	if (lane->is_main) /* viewers tell a process's first thread by this */
		track.tid = tacho_timeline_process(picture->out, process)->pid;
	g_array_append_val(picture->out->tracks, track);
	return picture->out->tracks->len - 1;
}

/* `measured`: TACHO_NONE: the rank was not. */
static void add_slices(struct picture *picture, const struct graph_lane *lane, guint32 measured,
		       guint32 replayed)
{
	const TachoSlices *slices = &picture->timeline->slices;
	const TachoTrack *track = tacho_timeline_track(picture->timeline, lane->track);
	gint64 origin_ns = picture->graph->origin_ns;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		guint32 name;

		if (picture->begin_ns[i] > picture->end_ns[i])
			continue;
		name = copy_string(picture, slices->name[i]);
		if (measured != TACHO_NONE)
			tacho_timeline_add_slice(picture->out, slices->kind[i], measured, name,
						 slices->start_ns[i] - origin_ns,
						 slices->duration_ns[i], slices->flags[i], 0);
		tacho_timeline_add_slice(picture->out, slices->kind[i], replayed, name,
					 picture->begin_ns[i],
					 picture->end_ns[i] - picture->begin_ns[i],
					 slices->flags[i] & ~TACHO_SLICE_OPEN, 0);
	}
}

static gboolean is_on_stream(const TachoTimeline *timeline, guint32 slice)
{
	return tacho_timeline_track(timeline, timeline->slices.track[slice])->kind ==
	       TACHO_TRACK_STREAM;
}

/* A rank's part in each collective, from being taken up to complete; those that are kernels are on their
 * streams. */
static void add_collectives(struct picture *picture, guint32 lane, guint32 measured,
			    guint32 replayed)
{
	const TachoGraph *graph = picture->graph;
	g_autofree gint64 *begin_ns = g_new0(gint64, MAX(graph->transfers->len, 1u));

	for (guint32 i = 0; i < picture->replay->n_nodes; i++) {
		const struct graph_node *node = graph_node_at(graph, i);
		guint32 name;

		if (node->lane != lane)
			continue;
		if (node->kind == TACHO_NODE_QUEUE)
			begin_ns[node->transfer] = picture->replay->begin_ns[i];
		if (node->kind != TACHO_NODE_COMPLETE)
			continue;
		name = copy_string(picture, node->name);
		tacho_timeline_add_slice(picture->out, TACHO_SLICE_COLLECTIVE, replayed, name,
					 begin_ns[node->transfer],
					 picture->replay->end_ns[i] - begin_ns[node->transfer], 0,
					 0);
	}
	for (guint32 i = 0; measured != TACHO_NONE && i < picture->timeline->members->len; i++) {
		guint32 slice = g_array_index(picture->timeline->members, guint32, i);
		gint64 start_ns = picture->timeline->slices.start_ns[slice] - graph->origin_ns;

		if (tacho_slice_process(picture->timeline, slice)->rank_index !=
			    graph_lane_at(graph, lane)->rank_index ||
		    start_ns < 0 || is_on_stream(picture->timeline, slice))
			continue;
		tacho_timeline_add_slice(
			picture->out, TACHO_SLICE_COLLECTIVE, measured,
			copy_string(picture, picture->timeline->slices.name[slice]), start_ns,
			picture->timeline->slices.duration_ns[slice], 0, 0);
	}
}

/* --- memory ----------------------------------------------------------------------------------- */

static guint32 add_counter(struct picture *picture, guint32 process, guint32 device)
{
	g_autofree gchar *memory = memory_label(device);
	g_autofree gchar *name = g_strdup_printf("bytes held, %s", memory);
	TachoTrack track = { .kind = TACHO_TRACK_COUNTER, .process = process };

	track.name = tacho_timeline_intern(picture->out, name, -1);
	g_array_append_val(picture->out->tracks, track);
	return picture->out->tracks->len - 1;
}

/* From then on; what changes at the same moment later counts. */
static void add_sample(struct picture *picture, guint32 track, gint64 time_ns, gdouble value)
{
	GArray *samples = picture->out->samples;
	TachoSample sample = { MAX(time_ns, 0), value, track };
	TachoSample *last =
		samples->len ? &g_array_index(samples, TachoSample, samples->len - 1) : NULL;

	if (last && last->track == track && last->time_ns == sample.time_ns)
		last->value = value;
	else
		g_array_append_val(samples, sample);
}

/* What the rank's memories hold in the replay. */
static void add_held(struct picture *picture, guint32 rank_index, guint32 process)
{
	g_autoptr(GArray) changes = held_memory_of_rank(picture->replay, rank_index);
	guint32 track = TACHO_NONE;

	FOR_EACH_AT(const struct held_change, change, i, changes) {
		if (i == 0 || change[-1].device != change->device)
			track = add_counter(picture, process, change->device);
		if (change->time_ns < G_MAXINT64)
			add_sample(picture, track, change->time_ns, change->held_bytes);
	}
}

/* When the last step replayed was over on the rank. */
static gint64 measured_end_ns(const struct picture *picture, guint32 rank_index)
{
	const GArray *rows = picture->timeline->steps;
	gint64 end_ns = G_MININT64;

	FOR_EACH(const TachoStep, step, rows)
		if (step->rank_index == rank_index && step->is_complete &&
		    graph_step_index(picture->graph, step->number) != TACHO_NONE)
			end_ns = MAX(end_ns, step->end_ns);
	return end_ns == G_MININT64 ? G_MAXINT64 : end_ns;
}

static void add_measured_memory(struct picture *picture, const GArray *blocks, guint32 device,
				guint32 rank_index, guint32 process)
{
	g_autoptr(GArray) changes = memory_changes(blocks, device);
	guint32 track = add_counter(picture, process, device);
	gint64 end_ns = measured_end_ns(picture, rank_index);
	gdouble held = 0;

	FOR_EACH(const struct memory_change, change, changes) {
		if (change->time_ns > end_ns)
			break;
		held += (gdouble)change->bytes;
		add_sample(picture, track, change->time_ns - picture->graph->origin_ns, held);
	}
}

/* What they held when they were recorded, in the steps that are replayed. */
static void add_measured(struct picture *picture, guint32 rank_index, guint32 process)
{
	g_autoptr(GArray) blocks = memory_blocks_of_process(
		picture->timeline, recorded_rank(picture, rank_index)->main_process);
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < blocks->len; i++) {
		guint32 device = g_array_index(blocks, struct memory_block, i).device;

		if (g_hash_table_add(seen, GUINT_TO_POINTER(device)))
			add_measured_memory(picture, blocks, device, rank_index, process);
	}
}

/* --- steps ------------------------------------------------------------------------------------ */

static void add_step(struct picture *picture, guint32 number, gint64 start_ns, gint64 end_ns)
{
	TachoStep step = { .rank_index = picture->out->ranks->len,
			   .number = number,
			   .start_ns = start_ns,
			   .end_ns = end_ns,
			   .is_complete = TRUE };

	g_array_append_val(picture->out->steps, step);
}

/* Add the steps of the rank that comes next: those of its main process, so as measured if it was. */
static void add_measured_steps(struct picture *picture, guint32 rank_index)
{
	gint64 origin_ns = picture->graph->origin_ns;

	FOR_EACH(const TachoStep, step, picture->timeline->steps)
		if (step->rank_index == rank_index && step->is_complete &&
		    graph_step_index(picture->graph, step->number) != TACHO_NONE)
			add_step(picture, step->number, step->start_ns - origin_ns,
				 step->end_ns - origin_ns);
}

static void add_replayed_steps(struct picture *picture, guint32 rank_index)
{
	const GArray *numbers = picture->graph->steps;
	g_autofree struct step_span *spans = g_new(struct step_span, MAX(numbers->len, 1u));
	struct step_marks marks;

	step_marks_init(&marks, picture->graph);
	step_marks_spans(&marks, picture->replay->end_ns, rank_index, spans);
	for (guint i = 0; i < numbers->len; i++)
		if (spans[i].node != TACHO_NONE)
			add_step(picture, g_array_index(numbers, guint32, i), spans[i].begin_ns,
				 spans[i].end_ns);
	step_marks_release(&marks);
}

/* --- all -------------------------------------------------------------------------------------- */

static void add_rank(struct picture *picture, guint32 rank_index)
{
	const TachoGraph *graph = picture->graph;
	TachoRank rank = *recorded_rank(picture, rank_index);
	gboolean is_recorded = rank_index < picture->timeline->ranks->len;
	guint32 measured = is_recorded ? add_process(picture, rank_index, FALSE) : TACHO_NONE;
	guint32 replayed = add_process(picture, rank_index, TRUE);

	if (!is_recorded)
		rank.rank = rank_copies_number(graph, rank_index);
	rank.main_process = is_recorded ? measured : replayed;
	rank.host = copy_string(picture, rank.host);
	if (is_recorded)
		add_measured_steps(picture, rank_index);
	else
		add_replayed_steps(picture, rank_index);
	g_array_append_val(picture->out->ranks, rank);
	FOR_EACH_AT(const struct graph_lane, lane, i, graph->lanes) {
		guint32 before, after;

		if (lane->rank_index != rank_index)
			continue;
		before = is_recorded ? add_track(picture, lane, measured) : TACHO_NONE;
		after = add_track(picture, lane, replayed);
		if (lane->track != TACHO_NONE)
			add_slices(picture, lane, before, after);
		else
			add_collectives(picture, i, before, after);
	}
	if (is_recorded)
		add_measured(picture, rank_index, measured);
	add_held(picture, rank_index, replayed);
}

TachoTimeline *tacho_replay_timeline(const TachoReplay *replay)
{
	struct picture picture = { .replay = replay, .graph = replay->graph };
	g_autofree guint32 *weights = NULL;

	picture.timeline = replay->graph->timeline;
	picture.out = tacho_timeline_new();
	picture.out->step_source = picture.timeline->step_source;
	picture.out->origin_unix_ns =
		clock_map_add(picture.timeline->origin_unix_ns, replay->graph->origin_ns);
	picture.begin_ns = g_new(gint64, MAX(picture.timeline->slices.n, 1u));
	picture.end_ns = g_new(gint64, MAX(picture.timeline->slices.n, 1u));
	weights = rank_copies_weights(replay->graph);
	for (guint32 i = 0; i < graph_n_own_ranks(replay->graph); i++) {
		if (i % picture.timeline->ranks->len == 0)
			find_slices(&picture, i / picture.timeline->ranks->len);
		if (weights[i] > 0)
			add_rank(&picture, i);
	}
	g_free(picture.begin_ns);
	g_free(picture.end_ns);
	g_free(tacho_timeline_finish(picture.out));
	return picture.out;
}
