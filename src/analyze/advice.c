/* advice: what the checkers of the advise view share.
 *
 * The times of ranks are those of the step view, also where the run has no steps. */
#include "analyze/advice.h"

#include "analyze/rank_activity.h"

static void measure_stretch(struct rank_time *time, const struct rank_activity *activity,
			    const struct interval *stretch)
{
	gint64 begin_ns = stretch->begin_ns, end_ns = stretch->end_ns;
	gdouble n = time->n_stretches;

#define MEASURE(set) ((gdouble)interval_set_measure(&activity->set, begin_ns, end_ns) / n)
	time->duration_ns += (gdouble)MAX(end_ns - begin_ns, 0) / n;
	time->compute_ns += MEASURE(compute);
	time->transfer_ns += MEASURE(transfer);
	time->exposed_ns += MEASURE(exposed);
	time->wait_ns += MEASURE(wait);
	time->data_wait_ns += MEASURE(data_wait);
#undef MEASURE
}

static void measure_rank(struct advice_input *input, guint rank_index, GHashTable *collectives)
{
	g_autoptr(GArray) stretches = selection_stretches(&input->selection, rank_index);
	struct rank_time *time = &input->times[rank_index];
	struct rank_activity activity;

	time->n_stretches = stretches->len;
	if (stretches->len == 0)
		return;
	rank_activity_init(&activity, input->timeline, rank_index, collectives);
	for (guint i = 0; i < stretches->len; i++)
		measure_stretch(time, &activity, &g_array_index(stretches, struct interval, i));
	rank_activity_release(&activity);
	time->idle_ns = MAX(time->duration_ns - time->compute_ns - time->exposed_ns -
				    time->wait_ns - time->data_wait_ns,
			    0);
}

static gdouble mean_step(const struct advice_input *input)
{
	gdouble sum_ns = 0, n = 0;

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		if (!advice_takes_rank(input, i))
			continue;
		sum_ns += input->times[i].duration_ns * input->times[i].n_stretches;
		n += input->times[i].n_stretches;
	}
	return n > 0 ? sum_ns / n : 0;
}

void advice_input_init(struct advice_input *input, const TachoTimeline *timeline,
		       const TachoFilter *filter)
{
	g_autoptr(GHashTable) collectives = index_collectives(timeline);

	*input = (struct advice_input){ .timeline = timeline, .filter = TACHO_FILTER_INIT };
	if (filter)
		input->filter = *filter;
	input->filter.name = NULL;
	input->all_ranks = input->filter;
	input->all_ranks.rank = -1;
	selection_init(&input->selection, timeline, &input->all_ranks);
	input->times = g_new0(struct rank_time, MAX(timeline->ranks->len, 1u));
	for (guint i = 0; i < timeline->ranks->len; i++)
		measure_rank(input, i, collectives);
	input->step_ns = mean_step(input);
	input->each = input->selection.is_whole ? "in all" : "a step";
}

void advice_input_release(struct advice_input *input)
{
	selection_release(&input->selection);
	g_clear_pointer(&input->times, g_free);
}

gboolean advice_takes_rank(const struct advice_input *input, guint rank_index)
{
	return input->times[rank_index].n_stretches &&
	       (input->filter.rank < 0 || advice_rank(input, rank_index) == input->filter.rank);
}

gint32 advice_rank(const struct advice_input *input, guint rank_index)
{
	return tacho_timeline_rank(input->timeline, rank_index)->rank;
}

guint advice_rank_index(const struct advice_input *input, gint32 rank)
{
	for (guint i = 0; i < input->timeline->ranks->len; i++)
		if (advice_rank(input, i) == rank)
			return i;
	return TACHO_NONE;
}

gdouble advice_share(const struct advice_input *input, gdouble ns)
{
	return input->step_ns > 0 ? 100.0 * ns / input->step_ns : 0;
}

static void release_advice(gpointer data)
{
	struct advice *advice = data;

	g_free(advice->where);
	g_free(advice->file);
	g_free(advice->evidence);
	g_free(advice->action);
}

GArray *advice_list_new(void)
{
	GArray *advices = g_array_new(FALSE, FALSE, sizeof(struct advice));

	g_array_set_clear_func(advices, release_advice);
	return advices;
}
