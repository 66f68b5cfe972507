/* guest_steps: what came of putting other jobs beside this one (edit/what_if_jobs.c). */
#include <math.h>

#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/quantile.h"
#include "predict/prediction.h"

/* Times as many rounds, at once.
 * Source: a rule: nodes run out before. If wrong, a job beside a far longer one needs one more round of playing. */
#define MAX_NEED (1u << 30)

/* When each step is over, on the last rank (gint64); and the last step on the first rank that has one, into
 * ret_first_ns. */
static GArray *find_ends_of_steps(const TachoReplay *replay, const struct step_marks *marks,
				  gint64 *ret_first_ns)
{
	GArray *ends = g_array_new(FALSE, TRUE, sizeof(gint64));
	g_autofree struct step_span *spans = g_new(struct step_span, MAX(marks->n_steps, 1u));

	g_array_set_size(ends, marks->n_steps);
	*ret_first_ns = G_MAXINT64;
	for (guint32 rank = 0; rank < marks->n_ranks; rank++) {
		step_marks_spans(marks, replay->end_ns, rank, spans);
		for (guint32 step = 0; step < marks->n_steps; step++) {
			gint64 *end_ns = &g_array_index(ends, gint64, step);

			if (spans[step].node == TACHO_NONE)
				continue;
			*end_ns = MAX(*end_ns, spans[step].end_ns);
			if (step + 1 == marks->n_steps)
				*ret_first_ns = MIN(*ret_first_ns, spans[step].end_ns);
		}
	}
	return ends;
}

static gint64 own_end_ns(const TachoReplay *replay)
{
	struct step_marks marks;
	g_autoptr(GArray) ends = NULL;
	gint64 first_ns;

	step_marks_init(&marks, replay->graph);
	ends = find_ends_of_steps(replay, &marks, &first_ns);
	step_marks_release(&marks);
	return ends->len > 0 ? g_array_index(ends, gint64, ends->len - 1) : 0;
}

guint32 replay_guests_need(const TachoReplay *replay)
{
	gint64 end_ns = own_end_ns(replay);
	guint32 most = 1;

	FOR_EACH(const struct graph_guest, guest, replay->graph->guests) {
		struct step_marks marks;
		g_autoptr(GArray) ends = NULL;
		gint64 first_ns;
		gdouble pace_ns;
		guint32 need = 2;

		step_marks_init_guest(&marks, replay->graph, guest);
		ends = find_ends_of_steps(replay, &marks, &first_ns);
		step_marks_release(&marks);
		if (first_ns >= end_ns)
			continue;
		pace_ns = MAX((gdouble)(first_ns - guest->offset_ns), 1);
		while (need < MAX_NEED &&
		       2 * need * pace_ns <= (gdouble)(end_ns - guest->offset_ns))
			need *= 2;
		most = MAX(most, need);
	}
	return most;
}

/* The times of its steps that all its ranks have behind them by `until_ns`, beside this job and alone. */
static void collect_steps(const TachoReplay *replay, const struct graph_guest *guest,
			  gint64 until_ns, GArray *beside, GArray *alone)
{
	struct step_marks marks;
	g_autoptr(GArray) ends = NULL;
	g_autofree gint64 *mean_ns = NULL;
	gint64 first_ns;

	step_marks_init_guest(&marks, replay->graph, guest);
	ends = find_ends_of_steps(replay, &marks, &first_ns);
	mean_ns = g_new(gint64, MAX(marks.n_steps, 1u));
	step_marks_mean_ns(&marks, replay->end_ns, mean_ns);
	for (guint32 step = 0; step < marks.n_steps; step++) {
		if (g_array_index(ends, gint64, step) > until_ns)
			continue;
		g_array_append_val(beside, mean_ns[step]);
		g_array_append_val(alone, g_array_index(replay->graph->guest_steps, gint64,
							guest->first_alone_step +
								step % guest->n_alone_steps));
	}
	step_marks_release(&marks);
}

static void add_guest_row(TachoTable *table, const TachoReplay *replay,
			  const struct graph_guest *guest, gint64 end_ns)
{
	g_autoptr(GArray) beside = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) alone = g_array_new(FALSE, FALSE, sizeof(gint64));

	collect_steps(replay, guest, end_ns, beside, alone);
	if (alone->len == 0)
		g_array_append_vals(
			alone,
			&g_array_index(replay->graph->guest_steps, gint64, guest->first_alone_step),
			guest->n_alone_steps);
	tacho_table_row(table);
	tacho_table_text(table, tacho_timeline_string(replay->graph->timeline, guest->name));
	tacho_table_integer(table, guest->n_ranks);
	tacho_table_number(table, (gdouble)guest->offset_ns * 1e-6);
	tacho_table_number(table, quantile(alone, 0.5) * 1e-6);
	tacho_table_number(table, beside->len > 0 ? quantile(beside, 0.5) * 1e-6 : NAN);
	tacho_table_integer(table, beside->len);
}

TachoTable *replay_guest_steps(const TachoReplay *replay)
{
	static const TachoColumn columns[] = {
		TEXT_COLUMN("run", "other job", .is_flexible = TRUE),
		INTEGER_COLUMN("ranks", "ranks"),
		NUMBER_COLUMN("offset_ms", "offset ms", 3),
		NUMBER_COLUMN("alone_step_ms", "alone ms", 3),
		NUMBER_COLUMN("predicted_step_ms", "beside ms", 3),
		INTEGER_COLUMN("steps", "steps"),
	};
	const TachoGraph *graph = replay->graph;
	gint64 end_ns = own_end_ns(replay);
	TachoTable *table;

	if (graph->guests->len == 0)
		return NULL;
	table = tacho_table_new("jobs", columns, G_N_ELEMENTS(columns));
	for (guint i = 0; i < graph->guests->len; i++)
		add_guest_row(table, replay, &g_array_index(graph->guests, struct graph_guest, i),
			      end_ns);
	return table;
}
