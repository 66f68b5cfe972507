/* diff: one side, of a run or several, compared with another.
 *
 * The values are the runs' means. Runs of the same job differ by more than their steps tell: the
 * machine, the placement, the neighbours. So one run a side tells what differs, but never whether that
 * is chance. How often something is done a step is another matter: the program decides that, not the
 * machine, and steps tell whether it changes.
 * (1) A name that a run does not have is 0 there, in every step.
 * (2) Rows are in an order that does not hang on hashes: by difference, then by name. */
#include "analyze/diff_internal.h"

#include <math.h>
#include <string.h>

#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_writer.h"

/* What a name has on both sides. */
struct pair {
	const gchar *name; /* a run's */
	struct moments ms[2], count[2];
	gboolean is_there[2];
	struct mean_difference time;
	gdouble adjusted_p;
};

enum { BASE, OTHER };

static const TachoColumn columns[] = {
	NAME_COLUMN("name", "name"),
	TEXT_COLUMN("change", ""),
	NUMBER_COLUMN("base_ms", "base ms", 3),
	NUMBER_COLUMN("ms", "ms", 3),
	NUMBER_COLUMN("difference_ms", "differ", 3),
	NUMBER_COLUMN("difference_pct", "%", 1),
	BOOLEAN_COLUMN("is_significant", "significant"),
	NUMBER_COLUMN("base_count", "base /step", 1),
	NUMBER_COLUMN("count", "/step", 1),
	JSON_NUMBER("low_ms"),
	JSON_NUMBER("high_ms"),
	JSON_NUMBER("p_value"),
	JSON_NUMBER("adjusted_p_value"),
};

static const gchar *const view_names[] = {
#define VIEW_NAME(name, description) #name,
	TACHO_DIFF_VIEWS(VIEW_NAME)
#undef VIEW_NAME
};

static gboolean is_of_runs(TachoDiffSide base, TachoDiffSide other)
{
	return base.n_runs > 1 || other.n_runs > 1;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static struct pair *find_pair(GArray *pairs, GHashTable *by_name, const gchar *name)
{
	gpointer place = g_hash_table_lookup(by_name, name);
	struct pair pair = { .name = name };

	if (!place) {
		g_array_append_val(pairs, pair);
		place = GUINT_TO_POINTER(pairs->len);
		g_hash_table_insert(by_name, (gpointer)name, place);
	}
	return &g_array_index(pairs, struct pair, GPOINTER_TO_UINT(place) - 1);
}

static void add_run(const TachoDiffRun *run, TachoDiffView view, guint which, gboolean of_runs,
		    GArray *pairs, GHashTable *by_name)
{
	const GArray *rows = run->rows[view];

	FOR_EACH(const struct diff_row, row, rows) {
		struct pair *pair = find_pair(pairs, by_name, row->name);

		pair->is_there[which] = TRUE;
		if (of_runs) {
			moments_add(&pair->ms[which], row->ms.mean);
			moments_add(&pair->count[which], row->count.mean);
		} else {
			pair->ms[which] = row->ms;
			pair->count[which] = row->count;
		}
	}
}

static void fill_up(struct pair *pair, guint which, guint64 n)
{
	moments_add_zeros(&pair->ms[which], n - pair->ms[which].n);
	moments_add_zeros(&pair->count[which], n - pair->count[which].n);
}

static guint64 n_values(TachoDiffSide side, gboolean of_runs)
{
	return of_runs ? side.n_runs : side.runs[0]->step_ms.n;
}

static GArray *make_pairs(TachoDiffView view, TachoDiffSide base, TachoDiffSide other)
{
	GArray *pairs = g_array_new(FALSE, FALSE, sizeof(struct pair));
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
	gboolean of_runs = is_of_runs(base, other);

	for (guint i = 0; i < base.n_runs; i++)
		add_run(base.runs[i], view, BASE, of_runs, pairs, by_name);
	for (guint i = 0; i < other.n_runs; i++)
		add_run(other.runs[i], view, OTHER, of_runs, pairs, by_name);
	FOR_EACH(struct pair, pair, pairs) {
		fill_up(pair, BASE, n_values(base, of_runs));
		fill_up(pair, OTHER, n_values(other, of_runs));
	}
	return pairs;
}

/* Nothing is known of chance where each side is a single run, however many steps it has. */
static struct mean_difference difference_of_runs(const struct moments *base,
						 const struct moments *other, gboolean of_runs)
{
	struct moments first = { .n = 1, .mean = base->mean };
	struct moments second = { .n = 1, .mean = other->mean };

	return of_runs ? mean_difference_test(base, other) : mean_difference_test(&first, &second);
}

/* The parts of a step are few and of one piece: their p-values are left as they are, so that the step
 * says the same there as in its own line. */
static void test_pairs(GArray *pairs, TachoDiffView view, gboolean of_runs)
{
	g_autofree gdouble *p_values = g_new(gdouble, pairs->len);

	FOR_EACH_AT(struct pair, pair, i, pairs) {
		pair->time = difference_of_runs(&pair->ms[BASE], &pair->ms[OTHER], of_runs);
		p_values[i] = pair->time.p_value;
	}
	if (view != TACHO_DIFF_step)
		adjust_p_values(p_values, pairs->len);
	for (guint i = 0; i < pairs->len; i++)
		g_array_index(pairs, struct pair, i).adjusted_p = p_values[i];
}

static gint compare_pairs(gconstpointer a, gconstpointer b)
{
	const struct pair *left = a, *right = b;
	gdouble x = fabs(left->time.difference), y = fabs(right->time.difference);

	return x != y ? (x > y ? -1 : 1) : strcmp(left->name, right->name);
}

/* --- what is said of a pair ------------------------------------------------------------------- */

static gboolean is_significant(gdouble p_value)
{
	return p_value <= MEAN_DIFFERENCE_LEVEL; /* NaN is not */
}

/* Where nothing is known of the spread, any other count is another count. */
static gboolean is_count_changed(const struct pair *pair)
{
	struct mean_difference count =
		mean_difference_test(&pair->count[BASE], &pair->count[OTHER]);

	if (isnan(count.p_value))
		return count.difference != 0;
	return is_significant(count.p_value);
}

static const gchar *change_of(const struct pair *pair)
{
	if (!pair->is_there[BASE])
		return "added";
	if (!pair->is_there[OTHER])
		return "removed";
	if (is_significant(pair->adjusted_p) || is_count_changed(pair))
		return "changed";
	return isnan(pair->adjusted_p) && pair->time.difference != 0 ? "unknown" : "same";
}

static void add_row(TachoTable *table, const struct pair *pair)
{
	tacho_table_row(table);
	tacho_table_text(table, pair->name);
	tacho_table_text(table, change_of(pair));
	tacho_table_number(table, pair->ms[BASE].mean);
	tacho_table_number(table, pair->ms[OTHER].mean);
	tacho_table_number(table, pair->time.difference);
	tacho_table_number(table, 100.0 * pair->time.difference / pair->ms[BASE].mean);
	table_boolean_if(table, !isnan(pair->adjusted_p), is_significant(pair->adjusted_p));
	tacho_table_number(table, pair->count[BASE].mean);
	tacho_table_number(table, pair->count[OTHER].mean);
	tacho_table_number(table, pair->time.low);
	tacho_table_number(table, pair->time.high);
	tacho_table_number(table, pair->time.p_value);
	tacho_table_number(table, pair->adjusted_p);
}

/* "3 added, 1 removed, 2 changed, 40 the same." */
static void note_changes(TachoTable *table, const GArray *pairs)
{
	static const gchar *const changes[] = { "added", "removed", "changed", "same", "unknown" };
	guint counts[G_N_ELEMENTS(changes)] = { 0 };

	for (guint i = 0; i < pairs->len; i++)
		for (guint j = 0; j < G_N_ELEMENTS(changes); j++)
			counts[j] += change_of(&g_array_index(pairs, struct pair, i)) == changes[j];
	if (counts[4] == 0)
		tacho_table_note(table, "%u added, %u removed, %u changed, %u the same.", counts[0],
				 counts[1], counts[2], counts[3]);
	else
		tacho_table_note(table,
				 "%u added, %u removed, %u changed in number, %u the same, %u "
				 "unknown (one run a side cannot show chance).",
				 counts[0], counts[1], counts[2], counts[3], counts[4]);
}

TachoTable *tacho_diff_table(TachoDiffView view, TachoDiffSide base, TachoDiffSide other)
{
	TachoTable *table = tacho_table_new(view_names[view], columns, G_N_ELEMENTS(columns));
	g_autoptr(GArray) pairs = make_pairs(view, base, other);

	test_pairs(pairs, view, is_of_runs(base, other));
	if (view == TACHO_DIFF_step) { /* the parts stand in their own order, once a step */
		table_hide_column(table, "base_count");
		table_hide_column(table, "count");
	} else {
		g_array_sort(pairs, compare_pairs);
	}
	for (guint i = 0; i < pairs->len; i++)
		add_row(table, &g_array_index(pairs, struct pair, i));
	if (pairs->len == 0)
		tacho_table_note(table, "These runs have none.");
	else if (view != TACHO_DIFF_step)
		note_changes(table, pairs);
	return table;
}

/* --- the step time ---------------------------------------------------------------------------- */

static struct moments step_moments(TachoDiffSide side)
{
	struct moments moments = { 0 };

	for (guint i = 0; i < side.n_runs; i++)
		moments_add(&moments, side.runs[i]->step_ms.mean);
	return moments;
}

TachoStepDifference tacho_diff_step_time(TachoDiffSide base, TachoDiffSide other)
{
	gboolean of_runs = is_of_runs(base, other);
	struct moments before = step_moments(base), after = step_moments(other);
	struct mean_difference difference = mean_difference_test(&before, &after);
	gboolean is_told = is_significant(difference.p_value);

	return (TachoStepDifference){
		.base_ms = before.mean,
		.ms = after.mean,
		.difference_ms = difference.difference,
		.low_ms = difference.low,
		.high_ms = difference.high,
		.p_value = difference.p_value,
		.is_significant = is_told,
		.spread = of_runs ? TACHO_SPREAD_RUNS : TACHO_SPREAD_NONE,
		.n_base = base.n_runs,
		.n = other.n_runs,
		.runs_needed = is_told	 ? 0
			       : of_runs ? mean_difference_values_needed(&before, &after)
					 : TACHO_DIFF_GOOD_RUNS,
	};
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_number(JsonWriter *writer, const gchar *key, gdouble value)
{
	json_writer_number(json_writer_key(writer, key), value);
}

static void write_run(JsonWriter *writer, const TachoDiffRun *run)
{
	json_writer_line(writer);
	json_writer_begin_object(writer);
	json_writer_string(json_writer_key(writer, "run"), run->label);
	json_writer_unsigned(json_writer_key(writer, "ranks"), run->n_ranks);
	json_writer_unsigned(json_writer_key(writer, "steps"), run->n_steps);
	write_number(writer, "step_ms", run->step_ms.mean);
	json_writer_unsigned(json_writer_key(writer, "trust_score"), run->trust_score);
	json_writer_end_object(writer);
}

static void write_side(JsonWriter *writer, const gchar *key, TachoDiffSide side)
{
	json_writer_line(writer);
	json_writer_begin_array(json_writer_key(writer, key));
	for (guint i = 0; i < side.n_runs; i++)
		write_run(writer, side.runs[i]);
	json_writer_line(writer);
	json_writer_end_array(writer);
}

static void write_step_time(JsonWriter *writer, const TachoStepDifference *step)
{
	static const gchar *const spreads[] = { NULL, "runs" };

	json_writer_line(writer);
	json_writer_begin_object(json_writer_key(writer, "step_time"));
	write_number(writer, "base_ms", step->base_ms);
	write_number(writer, "ms", step->ms);
	write_number(writer, "difference_ms", step->difference_ms);
	write_number(writer, "difference_pct", 100.0 * step->difference_ms / step->base_ms);
	json_writer_begin_array(json_writer_key(writer, "interval_ms"));
	json_writer_number(writer, step->low_ms);
	json_writer_number(writer, step->high_ms);
	json_writer_end_array(writer);
	write_number(writer, "p_value", step->p_value);
	json_writer_key(writer, "is_significant");
	if (step->spread == TACHO_SPREAD_NONE)
		json_writer_null(writer);
	else
		json_writer_boolean(writer, step->is_significant);
	json_writer_string(json_writer_key(writer, "spread"), spreads[step->spread]);
	json_writer_key(writer, "runs_needed");
	if (step->runs_needed == 0)
		json_writer_null(writer);
	else
		json_writer_unsigned(writer, step->runs_needed);
	json_writer_end_object(writer);
}

void tacho_diff_print_json(TachoDiffSide base, const TachoComparison *comparisons,
			   guint n_comparisons, FILE *out)
{
	g_autoptr(JsonWriter) writer = json_writer_new(out);

	json_writer_begin_object(writer);
	write_side(writer, "base", base);
	json_writer_line(writer);
	json_writer_begin_array(json_writer_key(writer, "comparisons"));
	for (guint i = 0; i < n_comparisons; i++) {
		const TachoComparison *comparison = &comparisons[i];
		TachoStepDifference step = tacho_diff_step_time(base, comparison->side);

		json_writer_line(writer);
		json_writer_begin_object(writer);
		write_side(writer, "runs", comparison->side);
		write_step_time(writer, &step);
		table_write_json_members(comparison->tables, comparison->n_tables, writer);
		json_writer_line(writer);
		json_writer_end_object(writer);
	}
	json_writer_line(writer);
	json_writer_end_array(writer);
	json_writer_line(writer);
	json_writer_end_object(writer);
	json_writer_finish(writer);
}
