/* advise_view: what to change, why, and what it would save at most.
 *
 * Each checker looks for one thing; advice.h says what it gets and what it gives back. They stand on the
 * figures of the other views, so that what an advice says can be looked up there.
 *
 * (1) No advice without evidence: a checker says nothing unless its figure is past its threshold. docs/views.md
 *     lists the thresholds with their reasons.
 * (2) A gain is an upper bound, as if what is found were gone. Gains do not add up: what one change leaves may be
 *     what another would have saved.
 *
 * After tfprof's advise: its checkers, its faults and what became of them are in docs/views.md. */
#include <tacho/analyze.h>

#include <string.h>

#include "analyze/advice.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"

#define N_EXPENSIVE 3

static const TachoColumn columns[] = {
	INTEGER_COLUMN("id", "#"),
	NUMBER_COLUMN("gain_ms", "saves ms", 2),
	SHARE_COLUMN("gain_pct", "%", 1),
	JSON_NUMBER("gain_bytes"),
	TEXT_COLUMN("checker", "what"),
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("where", "where", .is_flexible = TRUE),
	JSON_TEXT("file"),
	JSON_INTEGER("first_step"),
	JSON_INTEGER("last_step"),
	JSON_TEXT("metric"),
	JSON_NUMBER("value"),
	JSON_NUMBER("threshold"),
	JSON_TEXT("evidence"),
	JSON_TEXT("action"),
	JSON_TEXT("what_if"),
	JSON_BOOLEAN("gain_is_replayed"),
};

static const struct {
	const gchar *name;
	AdviceChecker check;
} checkers[] = {
#define CHECKER_ROW(name) { #name, check_##name },
	ADVICE_CHECKERS(CHECKER_ROW)
#undef CHECKER_ROW
};

static gint compare_advices(gconstpointer a, gconstpointer b)
{
	const struct advice *x = a, *y = b;

	if (x->gain_ns != y->gain_ns)
		return x->gain_ns < y->gain_ns ? 1 : -1;
	return (x->value < y->value) - (x->value > y->value);
}

static void add_steps(TachoTable *table, const struct advice_input *input)
{
	const GArray *chosen = input->selection.chosen;
	gint64 first = G_MAXINT64, last = -1;

	for (guint i = 0; i < chosen->len; i++) {
		first = MIN(first, (gint64)g_array_index(chosen, TachoStep, i).number);
		last = MAX(last, (gint64)g_array_index(chosen, TachoStep, i).number);
	}
	if (chosen->len == 0) {
		tacho_table_null(table);
		tacho_table_null(table);
		return;
	}
	tacho_table_integer(table, first);
	tacho_table_integer(table, last);
}

/* The sentences are too long for a column: in text they stand below, by number. */
/* Commands are to be copied: they name the run as the user did. */
static gchar *name_run(const struct advice_input *input, const gchar *action)
{
	g_autofree gchar *run =
		g_strconcat(" ", input->filter.run ? input->filter.run : "RUN", NULL);
	GString *text = g_string_new(action);

	g_string_replace(text, " RUN", run, 0);
	return g_string_free(text, FALSE);
}

static void add_advice(TachoTable *table, const struct advice_input *input,
		       const struct advice *advice, guint id)
{
	g_autofree gchar *action = name_run(input, advice->action);

	tacho_table_row(table);
	tacho_table_integer(table, id);
	tacho_table_number(table, MS(advice->gain_ns));
	tacho_table_number(table, advice_share(input, advice->gain_ns));
	tacho_table_number(table, advice->gain_bytes);
	tacho_table_text(table, advice->checker);
	table_integer_if(table, advice->rank >= 0, advice->rank);
	tacho_table_text(table, advice->where);
	tacho_table_text(table, advice->file);
	add_steps(table, input);
	tacho_table_text(table, advice->metric);
	tacho_table_number(table, advice->value);
	tacho_table_number(table, advice->threshold);
	tacho_table_text(table, advice->evidence);
	tacho_table_text(table, action);
	tacho_table_text(table, advice->what_if);
	tacho_table_boolean(table, advice->is_replayed);
	tacho_table_note(table, "%u: %s %s", id, advice->evidence, action);
}

static gdouble cost_ms(const TachoTable *ops, guint row)
{
	gdouble device_ms = tacho_table_cell_number(ops, row, "device_ms");

	return tacho_table_cell_number(ops, row, "self_ms") + (device_ms > 0 ? device_ms : 0);
}

static gint compare_costs(gconstpointer a, gconstpointer b, gpointer ops)
{
	gdouble x = cost_ms(ops, *(const guint *)a), y = cost_ms(ops, *(const guint *)b);

	return (x < y) - (x > y);
}

static void list_expensive(TachoTable *ops, GString *text)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint));
	gdouble all_ms = 0;

	for (guint row = 0; row < tacho_table_n_rows(ops); row++) {
		if (strcmp(tacho_table_cell_text(ops, row, "phase"), "comm") == 0)
			continue;
		all_ms += cost_ms(ops, row);
		g_array_append_val(rows, row);
	}
	g_array_sort_with_data(rows, compare_costs, ops);
	for (guint i = 0; i < MIN(rows->len, N_EXPENSIVE) && all_ms > 0; i++) {
		guint row = g_array_index(rows, guint, i);

		g_string_append_printf(text, "%s%s in %s (%.0f %%)", i ? ", " : "",
				       tacho_table_cell_text(ops, row, "name"),
				       tacho_table_cell_text(ops, row, "phase"),
				       100.0 * cost_ms(ops, row) / all_ms);
	}
}

/* tfprof's ExpensiveOperationChecker: no fault, but where to look first. Shares are of the own times, host and device
 * together, of all operations but those that queue or wait for communication, which has a checker. */
static void note_expensive(TachoTable *table, const struct advice_input *input)
{
	TachoFilter filter = input->filter;
	TachoProfileOptions *profile = tacho_profile_options_new();
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(TachoTable) ops = NULL;

	filter.profile = profile;
	if (tacho_profile_options_set(profile, "select", "accelerator_micros", NULL)) {
		ops = tacho_view_op(input->timeline, &filter);
		list_expensive(ops, text);
	}
	tacho_profile_options_free(profile);
	if (text->len)
		tacho_table_note(table, "Most expensive operations: %s.", text->str);
}

/* What replay can tell is told by it: what an advice would save hangs on what else the step waits for. */
static void replay_gains(const struct advice_input *input, GArray *advices, AdviceReplay replay,
			 gpointer data)
{
	FOR_EACH(struct advice, advice, advices) {
		gdouble gain_ns;
		gchar *evidence;

		if (!advice->what_if || !replay(data, advice->what_if, &gain_ns))
			continue;
		gain_ns /= advice->gain_share > 0 ? advice->gain_share : 1;
		evidence = g_strdup_printf(
			"%s In a replay with '%s' a step is %.2f ms (%.1f %%) shorter%s.",
			advice->evidence, advice->what_if, MS(gain_ns),
			advice_share(input, gain_ns),
			advice_share(input, gain_ns) < ADVICE_WORTH_PCT
				? ", because something else takes as long"
				: "");
		g_free(advice->evidence);
		advice->evidence = evidence;
		advice->gain_ns = MAX(gain_ns, 0);
		advice->is_replayed = TRUE;
	}
}

static void note_gains(TachoTable *table, const GArray *advices)
{
	gboolean is_replayed = FALSE;

	for (guint i = 0; i < advices->len; i++)
		is_replayed |= g_array_index(advices, struct advice, i).is_replayed;
	if (advices->len == 0)
		tacho_table_note(table, "There is no advice: tacho found none of the problems that "
					"it looks for, or too little of them to matter.");
	else
		tacho_table_note(
			table,
			"Each saving is an upper bound%s; several changes may save the same time.",
			is_replayed ? ", unless it was replayed" : "");
}

/* How the gains are found, and how many advices are given. */
struct giving {
	guint n_most; /* 0: all */
	AdviceReplay replay;
	gpointer data;
};

static void run_checkers(TachoTable *table, const struct advice_input *input,
			 const struct selection *by_name, GArray *advices,
			 const struct giving *giving)
{
	g_autoptr(GString) unchecked = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(checkers); i++) {
		const gchar *why;

		if (!selection_takes_name(by_name, checkers[i].name))
			continue;
		why = checkers[i].check(input, advices);
		if (why)
			g_string_append_printf(unchecked, "%s%s (%s)", unchecked->len ? ", " : "",
					       checkers[i].name, why);
	}
	if (giving->replay)
		replay_gains(input, advices, giving->replay, giving->data);
	g_array_sort(advices, compare_advices);
	if (giving->n_most && advices->len > giving->n_most)
		g_array_set_size(advices, giving->n_most);
	for (guint i = 0; i < advices->len; i++)
		add_advice(table, input, &g_array_index(advices, struct advice, i), i + 1);
	note_gains(table, advices);
	if (giving->n_most)
		return;
	if (unchecked->len)
		tacho_table_note(table, "Not checked: %s.", unchecked->str);
}

/* The filter's name chooses checkers. */
TachoTable *advise_table(const TachoTimeline *timeline, const TachoFilter *filter, guint n_most,
			 AdviceReplay replay, gpointer data)
{
	TachoTable *table = tacho_table_new("advise", columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) advices = advice_list_new();
	struct giving giving = { n_most, replay, data };
	struct advice_input input;
	struct selection by_name;

	advice_input_init(&input, timeline, filter);
	selection_init(&by_name, timeline, filter);
	run_checkers(table, &input, &by_name, advices, &giving);
	if (!by_name.filter->name && n_most == 0)
		note_expensive(table, &input);
	if (n_most == 0)
		selection_note(&by_name, table);
	selection_release(&by_name);
	advice_input_release(&input);
	return table;
}
