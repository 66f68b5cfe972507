/* advice_waiting: time in which ranks wait for later ones, whoever these are.
 *
 * A rank that is late all the time is for the straggler checker, which names it. Ranks that are late in turn are nobody's
 * fault, but what the others wait for them may be most of a step. Who is waited for, and what they do longer, are
 * figures of the straggler view. */
#include <string.h>

#include "analyze/advice.h"
#include "base/for_each.h"
#include "base/time_units.h"

#define N_SAID 3 /* ranks */

/* The mean of the chosen ranks. */
static gdouble mean_wait_ns(const struct advice_input *input)
{
	gdouble sum_ns = 0, n = 0;

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		if (!advice_takes_rank(input, i))
			continue;
		sum_ns += input->times[i].wait_ns * input->times[i].n_stretches;
		n += input->times[i].n_stretches;
	}
	return n > 0 ? sum_ns / n : 0;
}

static gdouble sum_of(const TachoTable *ranks, const gchar *key)
{
	gdouble sum = 0;

	for (guint row = 0; row < tacho_table_n_rows(ranks); row++)
		sum += MAX(tacho_table_cell_number(ranks, row, key), 0);
	return sum;
}

/* "52 % of it for rank 0 (226.92 ms longer in idle than the quickest rank)": rows are in the order of that. */
static void say_rank(GString *text, const TachoTable *ranks, guint row, gdouble all_ms)
{
	const gchar *longer_in = tacho_table_cell_text(ranks, row, "longer_in");

	g_string_append_printf(
		text, "%s%.0f %%%s for rank %.0f", row ? ", " : ": ",
		100.0 * tacho_table_cell_number(ranks, row, "caused_wait_ms") / all_ms,
		row ? "" : " of all waiting is", tacho_table_cell_number(ranks, row, "rank"));
	if (longer_in)
		g_string_append_printf(text,
				       " (which spends %.2f ms more in %s than the fastest rank)",
				       tacho_table_cell_number(ranks, row, "longer_ms"), longer_in);
}

static gchar *waiting_evidence(const struct advice_input *input, const TachoTable *ranks,
			       gdouble wait_ns)
{
	GString *text = g_string_new(NULL);
	gdouble all_ms = sum_of(ranks, "caused_wait_ms");

	g_string_printf(text, "Ranks wait %.2f ms %s for later ranks, on average", MS(wait_ns),
			input->each);
	for (guint row = 0; row < MIN(tacho_table_n_rows(ranks), N_SAID) && all_ms > 0; row++)
		if (tacho_table_cell_number(ranks, row, "caused_wait_ms") >= all_ms / 20)
			say_rank(text, ranks, row, all_ms);
	g_string_append_c(text, '.');
	return g_string_free(text, FALSE);
}

/* FALSE: the waits may be what clocks are apart. */
static gboolean are_clocks_good(const TachoTimeline *timeline, gdouble wait_ns)
{
	FOR_EACH(const TachoClock, clock, timeline->clocks)
		if (clock->state == TACHO_CLOCK_APART || (gdouble)clock->uncertainty_ns >= wait_ns)
			return FALSE;
	return TRUE;
}

static gboolean is_named(const GArray *advices, const gchar *checker)
{
	for (guint i = 0; i < advices->len; i++)
		if (strcmp(g_array_index(advices, struct advice, i).checker, checker) == 0)
			return TRUE;
	return FALSE;
}

const gchar *check_waiting(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "waiting",
				 .rank = -1,
				 .metric = "wait_pct",
				 .threshold = ADVICE_WORTH_PCT,
				 .what_if = "drop:wait" };
	g_autoptr(TachoTable) ranks = NULL;

	if (is_named(advices, "straggler"))
		return NULL;
	advice.gain_ns = mean_wait_ns(input);
	advice.value = advice_share(input, advice.gain_ns);
	if (advice.value < advice.threshold)
		return NULL;
	if (!are_clocks_good(input->timeline, advice.gain_ns))
		return "the clocks of some ranks are not aligned well enough";
	ranks = tacho_view_straggler(input->timeline, &input->all_ranks);
	if (tacho_table_n_rows(ranks) < 2)
		return "fewer than two ranks were recorded";
	tacho_table_sort(ranks, "caused_wait_ms", TRUE);
	advice.rank = (gint32)tacho_table_cell_number(ranks, 0, "rank");
	advice.where = g_strdup(tacho_table_cell_text(ranks, 0, "longer_in"));
	advice.evidence = waiting_evidence(input, ranks, advice.gain_ns);
	advice.action = g_strdup("Spread the work evenly, and find out what these ranks do before "
				 "the collectives ('tacho report RUN --view straggler'). Where "
				 "they only launch late, free their hosts.");
	g_array_append_val(advices, advice);
	return NULL;
}
