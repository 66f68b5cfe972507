#include "predict/baseline_error.h"

#include <math.h>
#include <stdarg.h>

#include "analyze/table_columns.h"
#include "base/order.h"
#include "base/quantile.h"

/* Ranks or steps in a sentence. Source: a rule: what fits a line or two. If wrong, the message is short or long; no time
 * depends on it. */
#define MAX_NAMED 3

static const gdouble to_ms = 1e-6;

static const TachoColumn columns[] = {
	TEXT_COLUMN("what", "what"),
	TEXT_COLUMN("name", "name", .is_flexible = TRUE),
	NUMBER_COLUMN("measured_ms", "measured", 3),
	NUMBER_COLUMN("replayed_ms", "as is", 3),
	NUMBER_COLUMN("error_pct", "%", 2),
};

/* A rank's median step, or the mean of ranks in a step, that is off. */
struct difference {
	guint32 number;
	gdouble measured_ms, replayed_ms, error_pct;
};

static gdouble error_pct(gdouble measured_ms, gdouble replayed_ms)
{
	return measured_ms > 0 ? 100 * (replayed_ms / measured_ms - 1) : 0;
}

static void add_difference(GArray *differences, guint32 number, gdouble measured_ms,
			   gdouble replayed_ms)
{
	struct difference difference = { number, measured_ms, replayed_ms,
					 error_pct(measured_ms, replayed_ms) };

	if (fabs(difference.error_pct) > BASELINE_MOST_PCT)
		g_array_append_val(differences, difference);
}

static gint compare_differences(gconstpointer a, gconstpointer b)
{
	const struct difference *x = a, *y = b;

	return ORDER(fabs(y->error_pct), fabs(x->error_pct)) ?: ORDER(x->number, y->number);
}

static void add_row(TachoTable *table, const gchar *what, const gchar *name, gdouble measured_ms,
		    gdouble replayed_ms)
{
	tacho_table_row(table);
	tacho_table_text(table, what);
	tacho_table_text(table, name);
	tacho_table_number(table, measured_ms);
	tacho_table_number(table, replayed_ms);
	tacho_table_number(table, error_pct(measured_ms, replayed_ms));
}

static void add_rows(TachoTable *table, const gchar *what, GArray *differences)
{
	g_array_sort(differences, compare_differences);
	for (guint i = 0; i < differences->len; i++) {
		const struct difference *row = &g_array_index(differences, struct difference, i);
		g_autofree gchar *name = g_strdup_printf("%u", row->number);

		add_row(table, what, name, row->measured_ms, row->replayed_ms);
	}
}

/* --- ranks and steps ---------------------------------------------------------------------------- */

/* How long each step of each rank took: [rank * n_steps + step], < 0 where it has none. */
struct step_lengths {
	guint32 n_ranks, n_steps;
	gint64 *measured_ns, *replayed_ns;
};

static void read_measured(struct step_lengths *lengths, const TachoGraph *graph)
{
	const GArray *rows = graph->timeline->steps;

	for (guint i = 0; i < rows->len; i++) {
		const TachoStep *step = &g_array_index(rows, TachoStep, i);
		guint32 index = graph_step_index(graph, step->number);

		if (step->is_complete && index != TACHO_NONE)
			lengths->measured_ns[(gsize)step->rank_index * lengths->n_steps + index] =
				step->end_ns - step->start_ns;
	}
}

static void read_replayed(struct step_lengths *lengths, const TachoReplay *baseline)
{
	g_autofree struct step_span *spans = g_new(struct step_span, MAX(lengths->n_steps, 1u));
	struct step_marks marks;

	step_marks_init(&marks, baseline->graph);
	for (guint32 rank = 0; rank < lengths->n_ranks; rank++) {
		step_marks_spans(&marks, baseline->end_ns, rank, spans);
		for (guint32 step = 0; step < lengths->n_steps; step++)
			if (spans[step].node != TACHO_NONE)
				lengths->replayed_ns[(gsize)rank * lengths->n_steps + step] =
					spans[step].end_ns - spans[step].begin_ns;
	}
	step_marks_release(&marks);
}

static void step_lengths_init(struct step_lengths *lengths, const TachoReplay *baseline)
{
	gsize n;

	lengths->n_ranks = baseline->graph->timeline->ranks->len;
	lengths->n_steps = baseline->graph->steps->len;
	n = (gsize)lengths->n_ranks * lengths->n_steps;
	lengths->measured_ns = g_new(gint64, MAX(n, 1u));
	lengths->replayed_ns = g_new(gint64, MAX(n, 1u));
	for (gsize i = 0; i < n; i++)
		lengths->measured_ns[i] = lengths->replayed_ns[i] = -1;
	read_measured(lengths, baseline->graph);
	read_replayed(lengths, baseline);
}

static void step_lengths_release(struct step_lengths *lengths)
{
	g_free(lengths->measured_ns);
	g_free(lengths->replayed_ns);
}

static gboolean has_step(const struct step_lengths *lengths, guint32 rank, guint32 step)
{
	gsize cell = (gsize)rank * lengths->n_steps + step;

	return lengths->measured_ns[cell] >= 0 && lengths->replayed_ns[cell] >= 0;
}

/* The medians over the steps of each rank. */
static void compare_ranks(const struct step_lengths *lengths, const TachoTimeline *timeline,
			  GArray *differences)
{
	g_autoptr(GArray) measured = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) replayed = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 rank = 0; rank < lengths->n_ranks; rank++) {
		gsize first = (gsize)rank * lengths->n_steps;

		g_array_set_size(measured, 0);
		g_array_set_size(replayed, 0);
		for (guint32 step = 0; step < lengths->n_steps; step++) {
			if (!has_step(lengths, rank, step))
				continue;
			g_array_append_val(measured, lengths->measured_ns[first + step]);
			g_array_append_val(replayed, lengths->replayed_ns[first + step]);
		}
		if (measured->len > 0)
			add_difference(
				differences,
				(guint32)g_array_index(timeline->ranks, TachoRank, rank).rank,
				quantile(measured, 0.5) * to_ms, quantile(replayed, 0.5) * to_ms);
	}
}

/* The means over the ranks of each step. */
static void compare_steps(const struct step_lengths *lengths, const TachoGraph *graph,
			  GArray *differences)
{
	for (guint32 step = 0; step < lengths->n_steps; step++) {
		gdouble measured_ns = 0, replayed_ns = 0;
		guint32 n = 0;

		for (guint32 rank = 0; rank < lengths->n_ranks; rank++) {
			gsize cell = (gsize)rank * lengths->n_steps + step;

			if (!has_step(lengths, rank, step))
				continue;
			measured_ns += (gdouble)lengths->measured_ns[cell];
			replayed_ns += (gdouble)lengths->replayed_ns[cell];
			n++;
		}
		if (n > 0)
			add_difference(differences, g_array_index(graph->steps, guint32, step),
				       measured_ns / n * to_ms, replayed_ns / n * to_ms);
	}
}

void baseline_error_find(TachoPrediction *prediction, const TachoReplay *baseline)
{
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(struct difference));
	g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(struct difference));
	struct step_lengths lengths;

	if (fabs(prediction->error_pct) <= BASELINE_MOST_PCT)
		return;
	prediction->baseline_errors = tacho_table_new("off", columns, G_N_ELEMENTS(columns));
	step_lengths_init(&lengths, baseline);
	compare_ranks(&lengths, baseline->graph->timeline, ranks);
	compare_steps(&lengths, baseline->graph, steps);
	step_lengths_release(&lengths);
	add_rows(prediction->baseline_errors, "rank", ranks);
	add_rows(prediction->baseline_errors, "step", steps);
}

void baseline_error_add_recording(TachoPrediction *prediction, const gchar *name,
				  gdouble measured_ms, gdouble replayed_ms)
{
	if (fabs(error_pct(measured_ms, replayed_ms)) <= BASELINE_MOST_PCT)
		return;
	if (!prediction->baseline_errors)
		prediction->baseline_errors =
			tacho_table_new("off", columns, G_N_ELEMENTS(columns));
	add_row(prediction->baseline_errors, "recording", name, measured_ms, replayed_ms);
}

/* --- in words ----------------------------------------------------------------------------------- */

/* How many rows are of the kind; the first few of them are appended to `text`: "rank 1 (+9.1 %), rank 0 (-4.0 %)". */
static guint name_rows(const TachoTable *table, const gchar *what, GString *text)
{
	guint n = 0;

	for (guint row = 0; row < tacho_table_n_rows(table); row++) {
		if (g_strcmp0(tacho_table_cell_text(table, row, "what"), what) != 0)
			continue;
		if (n++ < MAX_NAMED)
			g_string_append_printf(text, "%s%s %s (%+.1f %%)", text->len ? ", " : "",
					       what, tacho_table_cell_text(table, row, "name"),
					       tacho_table_cell_number(table, row, "error_pct"));
	}
	if (n > MAX_NAMED)
		g_string_append_printf(text, " and %u more %ss", n - MAX_NAMED, what);
	return n;
}

static void tell_what(TachoPrediction *prediction, const gchar *named)
{
	prediction->baseline_warning = g_strdup_printf(
		"the replay of the unchanged recording%s takes %.3f ms a step, but %.3f ms were "
		"measured (%+.1f %%), so predictions may be as far off%s%s",
		prediction->recordings ? "s" : "", prediction->baseline_step_ms,
		prediction->measured_step_ms, prediction->error_pct, *named ? "; most off: " : "",
		named);
}

static gboolean is_listed(const TachoTable *table, const gchar *what, guint32 number)
{
	g_autofree gchar *name = g_strdup_printf("%u", number);

	for (guint row = 0; row < tacho_table_n_rows(table); row++)
		if (g_strcmp0(tacho_table_cell_text(table, row, "what"), what) == 0 &&
		    g_strcmp0(tacho_table_cell_text(table, row, "name"), name) == 0)
			return TRUE;
	return FALSE;
}

/* A step that is within bounds, or TACHO_NONE. */
static guint32 find_good_step(const TachoPrediction *prediction)
{
	const GArray *steps = prediction->graph->steps;

	for (guint i = 0; i < steps->len; i++)
		if (!is_listed(prediction->baseline_errors, "step",
			       g_array_index(steps, guint32, i)))
			return g_array_index(steps, guint32, i);
	return TACHO_NONE;
}

/* Steps of a rank overlap: what is in two of them was measured twice, and is played once. */
static gboolean has_overlapping_steps(const TachoGraph *graph)
{
	const GArray *rows = graph->timeline->steps;
	g_autofree gint64 *until_ns = g_new(gint64, MAX(graph->timeline->ranks->len, 1u));

	for (guint i = 0; i < graph->timeline->ranks->len; i++)
		until_ns[i] = G_MININT64;
	for (guint i = 0; i < rows->len; i++) {
		const TachoStep *step = &g_array_index(rows, TachoStep, i);

		if (graph_step_index(graph, step->number) == TACHO_NONE)
			continue;
		if (step->start_ns < until_ns[step->rank_index])
			return TRUE;
		until_ns[step->rank_index] = MAX(until_ns[step->rank_index], step->end_ns);
	}
	return FALSE;
}

static void add_advice(GString *text, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void add_advice(GString *text, const gchar *format, ...)
{
	va_list arguments;

	if (text->len > 0)
		g_string_append(text, "; ");
	va_start(arguments, format);
	g_string_append_vprintf(text, format, arguments);
	va_end(arguments);
}

static void tell_what_next(TachoPrediction *prediction, guint n_recordings, guint n_ranks,
			   guint n_steps)
{
	GString *text = g_string_new(NULL);
	gboolean is_overlapping = has_overlapping_steps(prediction->graph);
	guint32 good = find_good_step(prediction);

	if (n_recordings > 0 && n_recordings < tacho_table_n_rows(prediction->recordings))
		add_advice(text, "leave out the recordings that are off");
	if (is_overlapping)
		add_advice(
			text,
			"steps of a rank overlap in the recording, so what is in two of them was "
			"measured twice and is played once: predict from one of them, with --step "
			"N");
	else if (n_steps > 0 && good != TACHO_NONE)
		add_advice(text, "predict from a step that is not off, with --step %u", good);
	if (!is_overlapping)
		add_advice(text,
			   "export both with --export FILE.pftrace, which shows them one below the "
			   "other, and look where they part%s",
			   n_ranks > 0 && n_ranks < prediction->n_ranks
				   ? ", first on the ranks that are off"
				   : "");
	if (prediction->notes->len > 0)
		add_advice(text, "the notes say what the replay leaves out");
	prediction->baseline_advice = g_string_free(text, FALSE);
}

void baseline_error_tell(TachoPrediction *prediction)
{
	g_autoptr(GString) named = g_string_new(NULL);
	guint n_recordings, n_ranks, n_steps;

	if (!prediction->baseline_errors)
		return;
	n_recordings = name_rows(prediction->baseline_errors, "recording", named);
	n_ranks = name_rows(prediction->baseline_errors, "rank", named);
	n_steps = name_rows(prediction->baseline_errors, "step", named);
	tell_what(prediction, named->str);
	tell_what_next(prediction, n_recordings, n_ranks, n_steps);
}
