/* advice_straggler: a rank that the others wait for.
 *
 * late_ranks.h says who that is: the rank that stands out by how much longer the others wait than it does itself. Of
 * that no more counts than the others wait without computing meanwhile. The figures are those of the straggler view. */
#include <math.h>

#include "analyze/advice.h"
#include "base/time_units.h"

/* The row of the rank that stands out, where it was asked for; else TACHO_NONE. */
static guint find_straggler(const struct advice_input *input, const TachoTable *ranks)
{
	for (guint row = 0; row < tacho_table_n_rows(ranks); row++) {
		gint32 rank = (gint32)tacho_table_cell_number(ranks, row, "rank");

		if (tacho_table_cell_number(ranks, row, "is_sure") > 0)
			return input->filter.rank < 0 || rank == input->filter.rank ? row
										    : TACHO_NONE;
	}
	return TACHO_NONE;
}

/* What the other ranks wait without computing, the mean. */
static gdouble others_wait_ns(const struct advice_input *input, gint32 rank)
{
	gdouble sum_ns = 0;
	guint n = 0;

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		if (input->times[i].n_stretches == 0 || advice_rank(input, i) == rank)
			continue;
		sum_ns += input->times[i].wait_ns;
		n++;
	}
	return n ? sum_ns / n : 0;
}

static gboolean has_clock_apart(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->clocks->len; i++)
		if (g_array_index(timeline->clocks, TachoClock, i).state == TACHO_CLOCK_APART)
			return TRUE;
	return FALSE;
}

static gchar *straggler_evidence(const struct advice_input *input, const TachoTable *ranks,
				 guint row, gdouble net_ns)
{
	GString *text = g_string_new(NULL);
	const gchar *longer_in = tacho_table_cell_text(ranks, row, "longer_in");
	const gchar *work = tacho_table_cell_text(ranks, row, "longer_work");

	g_string_printf(text,
			"Rank %.0f comes last to %.0f %% of the collectives, and each of the "
			"others waits %.2f ms %s longer than it",
			tacho_table_cell_number(ranks, row, "rank"),
			tacho_table_cell_number(ranks, row, "late_pct"), MS(net_ns), input->each);
	if (longer_in)
		g_string_append_printf(text, "; it spends %.2f ms more in %s than the fastest rank",
				       tacho_table_cell_number(ranks, row, "longer_ms"), longer_in);
	if (work)
		g_string_append_printf(text, ", mostly in %s (%.2f ms)", work,
				       tacho_table_cell_number(ranks, row, "longer_work_ms"));
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

/* Its work would have to take this part of what it takes, to be as quick as the quickest. */
static gdouble even_factor(const TachoTable *ranks, guint row)
{
	gdouble compute_ms = tacho_table_cell_number(ranks, row, "compute_ms");

	return (compute_ms - tacho_table_cell_number(ranks, row, "longer_ms")) / compute_ms;
}

static gchar *straggler_action(const TachoTable *ranks, guint row)
{
	const gchar *longer_in = tacho_table_cell_text(ranks, row, "longer_in");
	gdouble rank = tacho_table_cell_number(ranks, row, "rank");

	if (!isfinite(tacho_table_cell_number(ranks, row, "compute_ms"))) /* a partial rank */
		return g_strdup_printf("Record it whole, which this run does not: 'tacho record "
				       "--ranks %.0f -- COMMAND'.",
				       rank);
	if (g_strcmp0(longer_in, "compute") == 0)
		return g_strdup_printf(
			"Give it less to compute, or a device as fast as those of the others. "
			"'tacho replay RUN --what-if straggler:%.0f=%.2f' predicts the step if it "
			"were as fast as they are.",
			rank, even_factor(ranks, row));
	if (g_strcmp0(longer_in, "data loading") == 0)
		return g_strdup_printf("Check what its data loader reads, and from where, because "
				       "its input is slower than that of the others ('tacho report "
				       "RUN --view step --rank %.0f').",
				       rank);
	if (longer_in)
		return g_strdup_printf("Find out what only this rank does between operations: "
				       "logging, checkpoints, validation, other programs on its "
				       "host ('tacho report RUN --view code --rank %.0f').",
				       rank);
	return g_strdup_printf("Find out what it does before these collectives ('tacho report RUN "
			       "--view op --rank %.0f').",
			       rank);
}

const gchar *check_straggler(const struct advice_input *input, GArray *advices)
{
	g_autoptr(TachoTable) ranks = tacho_view_straggler(input->timeline, &input->all_ranks);
	struct advice advice = { .checker = "straggler",
				 .metric = "waited_for_pct",
				 .what_if = "drop:wait",
				 .threshold = ADVICE_WORTH_PCT };
	gdouble net_ns;
	const gchar *where;
	guint row;

	if (tacho_table_n_rows(ranks) < 2)
		return "fewer than two ranks were recorded";
	if (has_clock_apart(input->timeline))
		return "the clocks of some ranks are not aligned";
	row = find_straggler(input, ranks);
	if (row == TACHO_NONE)
		return NULL;
	net_ns = NS(tacho_table_cell_number(ranks, row, "net_wait_ms"));
	/* without waiting the others are quicker, and it is not: so much of their gain is in the mean */
	advice.gain_share = 1 - 1.0 / tacho_table_n_rows(ranks);
	advice.rank = (gint32)tacho_table_cell_number(ranks, row, "rank");
	advice.gain_ns = MIN(net_ns, others_wait_ns(input, advice.rank));
	advice.value = advice_share(input, advice.gain_ns);
	if (advice.value < advice.threshold)
		return NULL;
	where = tacho_table_cell_text(ranks, row, "longer_work");
	advice.where = g_strdup(where ? where : tacho_table_cell_text(ranks, row, "longer_in"));
	advice.evidence = straggler_evidence(input, ranks, row, net_ns);
	advice.action = straggler_action(ranks, row);
	g_array_append_val(advices, advice);
	return NULL;
}
