/* left_out_steps: why a step that was seen is not among those replayed: a rank that had died by then, or whose file was cut
 * off, did not complete it. */
#include "correlate/numbered_steps.h"
#include "graph/graph_builder.h"

/* The first rank that did not complete the step. */
static gint32 find_lacking(const struct graph_builder *builder, guint32 number)
{
	const TachoTimeline *timeline = builder->timeline;
	g_autofree guint8 *has_it = g_new0(guint8, builder->n_ranks);
	guint32 rank = 0;

	for (guint i = 0; i < timeline->steps->len; i++) {
		const TachoStep *step = &g_array_index(timeline->steps, TachoStep, i);

		if (step->number == number && step->is_complete)
			has_it[step->rank_index] = 1;
	}
	while (rank + 1 < builder->n_ranks && has_it[rank])
		rank++;
	return g_array_index(timeline->ranks, TachoRank, rank).rank;
}

void builder_note_left_out(const struct graph_builder *builder, gint64 first, gint64 last)
{
	g_autoptr(GArray) steps = numbered_steps(builder->timeline);
	guint32 n_left_out = 0, number = 0;

	for (guint i = 0; i < steps->len; i++) {
		const struct numbered_step *step = numbered_step_at(steps, i);

		if (step->number < first || (last >= 0 && step->number > last) ||
		    step->n_recorded == 0 || step->n_control > 0 ||
		    step->n_recorded >= builder->n_ranks)
			continue;
		if (n_left_out++ == 0)
			number = step->number;
	}
	if (n_left_out > 0)
		graph_note(builder->graph,
			   "%u steps are left out that only some ranks completed: rank %d did not "
			   "complete step %u",
			   n_left_out, find_lacking(builder, number), number);
}
