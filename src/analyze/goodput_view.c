/* goodput_view: what the life of each rank's main process goes to: training steps, and what there is beside them.
 *
 *     life       | start-up   import   launch | first step | step | step | checkpoint | step | evaluation | end |
 *     functions  |          <importlib> init_...                           torch.save          evaluate
 *     steps      |                            | 0          | 1    | 2                  | 3                 |
 *
 * Steps are as everywhere: each optimizer step ends one, so a checkpoint or an evaluation lies in the step that it delays.
 * What it is, samples of the stack tell: the outermost function that is of a known use (trace/function_use.h). Compilations may
 * also be told by regions, which are exact and go before what samples say.
 * (1) Every moment of the life has one use, so the rows of a rank add up to it.
 * (2) Compilation, checkpoints, evaluation and imports are taken out of the steps that they lie in; data loading and finding other
 *     ranks are a part of these.
 * (3) A function in which a whole steady step lies is not of a use: a program may train while a module of it is imported. */
#include <tacho/analyze.h>

#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/order.h"
#include "base/time_units.h"
#include "trace/function_use.h"
#include "trace/mark_kind.h"
#include "trace/region_kind.h"
#include "trace/run_share.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),	      TEXT_COLUMN("use", "use"),
	NUMBER_COLUMN("time_ms", "ms", 2),    SHARE_COLUMN("share_pct", "%", 1),
	INTEGER_COLUMN("stretches", "times"), JSON_INTEGER("graph_breaks"),
	JSON_BOOLEAN("is_training"),	      JSON_TEXT("host"),
};

/* USE(enumerator, what it is called), in the order of the rows. */
#define GOODPUT_USES(USE)                                                                          \
	USE(STEPS, "training steps")                                                               \
	USE(FIRST, "first or unfinished steps")                                                    \
	USE(EVALUATION, "evaluation")                                                              \
	USE(CHECKPOINT, "checkpoint")                                                              \
	USE(COMPILE, "compilation")                                                                \
	USE(IMPORT, "imports")                                                                     \
	USE(LAUNCH, "finding other ranks")                                                         \
	USE(LOADING, "data loading outside steps")                                                 \
	USE(BEFORE, "before the first step")                                                       \
	USE(BETWEEN, "between steps")                                                              \
	USE(AFTER, "after the last step")

enum goodput_use {
#define GOODPUT_USE_ENUM(enumerator, text) USE_##enumerator,
	GOODPUT_USES(GOODPUT_USE_ENUM)
#undef GOODPUT_USE_ENUM
		N_USES
};

static const gchar *const use_names[] = {
#define GOODPUT_USE_NAME(enumerator, text) text,
	GOODPUT_USES(GOODPUT_USE_NAME)
#undef GOODPUT_USE_NAME
};

static const enum goodput_use use_of_function[N_FUNCTION_USES] = {
	[FUNCTION_USE_NONE] = N_USES,
	[FUNCTION_USE_IMPORT] = USE_IMPORT,
	[FUNCTION_USE_COMPILE] = USE_COMPILE,
	[FUNCTION_USE_CHECKPOINT] = USE_CHECKPOINT,
	[FUNCTION_USE_EVALUATION] = USE_EVALUATION,
	[FUNCTION_USE_LOADING] = USE_LOADING,
	[FUNCTION_USE_LAUNCH] = USE_LAUNCH,
};

enum {
	MAX_REASONS = 5, /* that are told of graph breaks */
};

struct goodput {
	const struct selection *selection;
	guint32 rank_index;
	struct interval_set uses[N_USES];
	struct interval_set told_compilations;
	gint64 begin_ns, end_ns;
	gint64 shortest_ns; /* steady step */
	gboolean is_sampled;
};

/* What is told of a rank. Of several processes (trace/run_share.h) its owner finds it, and the others get it: so all are whole
 * numbers of 8 bytes. */
struct rank_uses {
	guint64 ns[N_USES], n_stretches[N_USES];
	guint64 is_sampled;
};

/* --- steps ------------------------------------------------------------------------------------ */

static gboolean is_steady(const struct goodput *goodput, const TachoStep *step)
{
	return selection_step_state(goodput->selection, step) == STEP_STEADY;
}

static void add_steps(struct goodput *goodput)
{
	goodput->shortest_ns = G_MAXINT64;
	FOR_EACH(const TachoStep, step, goodput->selection->timeline->steps) {
		gboolean is_training = is_steady(goodput, step);

		if (step->rank_index != goodput->rank_index)
			continue;
		interval_set_add(&goodput->uses[is_training ? USE_STEPS : USE_FIRST],
				 step->start_ns, step->end_ns);
		if (is_training)
			goodput->shortest_ns =
				MIN(goodput->shortest_ns, step->end_ns - step->start_ns);
	}
	/* Steps in which nothing was recorded are steps. */
	FOR_EACH(const TachoStep, step, goodput->selection->timeline->control_steps)
		if (step->rank_index == goodput->rank_index)
			interval_set_add(&goodput->uses[USE_STEPS], step->start_ns, step->end_ns);
	interval_set_normalize(&goodput->uses[USE_STEPS]);
	interval_set_normalize(&goodput->uses[USE_FIRST]);
}

static gboolean has_whole_step(const struct goodput *goodput, gint64 start_ns, gint64 end_ns)
{
	if (end_ns - start_ns < goodput->shortest_ns)
		return FALSE;
	FOR_EACH(const TachoStep, step, goodput->selection->timeline->steps)
		if (step->rank_index == goodput->rank_index && step->start_ns >= start_ns &&
		    step->end_ns <= end_ns && is_steady(goodput, step))
			return TRUE;
	return FALSE;
}

/* --- functions -------------------------------------------------------------------------------- */

/* The outermost function of a use counts, and what is in it is of that use. */
static void add_functions(struct goodput *goodput, const TachoTrack *track)
{
	const TachoTimeline *timeline = goodput->selection->timeline;
	gint64 known_until_ns = G_MININT64;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];
		gint64 end_ns = tacho_slice_end_ns(timeline, i);
		enum goodput_use use = use_of_function[function_use_of(timeline, i)];

		if (use == N_USES || start_ns < known_until_ns ||
		    has_whole_step(goodput, start_ns, end_ns)) /* (3) */
			continue;
		interval_set_add(&goodput->uses[use], start_ns, end_ns);
		known_until_ns = end_ns;
	}
	goodput->is_sampled = TRUE;
}

/* --- compilations that regions tell ----------------------------------------------------------- */

static void add_compilations(struct goodput *goodput, const TachoTrack *track)
{
	const TachoTimeline *timeline = goodput->selection->timeline;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];
		gint64 end_ns = tacho_slice_end_ns(timeline, i);

		if (timeline->slices.kind[i] == TACHO_SLICE_ANNOTATION &&
		    region_kind_of(timeline, i) == REGION_COMPILE &&
		    !has_whole_step(goodput, start_ns, end_ns)) /* (3) */
			interval_set_add(&goodput->told_compilations, start_ns, end_ns);
	}
}

/* Behind it, what was told is of no other use. */
static void take_compilations(struct goodput *goodput)
{
	interval_set_normalize(&goodput->told_compilations);
	for (enum goodput_use use = USE_EVALUATION; use < USE_BEFORE; use++)
		if (use != USE_COMPILE)
			interval_set_subtract(&goodput->uses[use], &goodput->told_compilations);
	interval_set_add_all(&goodput->uses[USE_COMPILE], &goodput->told_compilations);
	interval_set_normalize(&goodput->uses[USE_COMPILE]);
}

/* Whether it is a graph break of that main process. */
static gboolean is_graph_break(const TachoTimeline *timeline, const TachoMark *mark, guint32 main)
{
	return mark->track < timeline->tracks->len &&
	       tacho_timeline_track(timeline, mark->track)->process == main && mark->first > 0 &&
	       mark_kind_of(timeline, mark) == MARK_GRAPH_BREAK;
}

struct reason {
	guint32 text; /* a string id */
	guint64 n;
};

static gint compare_reasons(gconstpointer a, gconstpointer b)
{
	const struct reason *left = a, *right = b;

	return ORDER(right->n, left->n) ?: ORDER(left->text, right->text);
}

static void count_reason(GArray *reasons, guint32 text, guint64 n)
{
	struct reason added = { .text = text, .n = n };

	FOR_EACH(struct reason, reason, reasons)
		if (reason->text == text) {
			reason->n += n;
			return;
		}
	g_array_append_val(reasons, added);
}

static guint64 count_graph_breaks(const TachoTimeline *timeline, guint32 main, GArray *reasons)
{
	guint64 n = 0;

	FOR_EACH(const TachoMark, mark, timeline->marks)
		if (is_graph_break(timeline, mark, main)) {
			n += (guint64)mark->first;
			count_reason(reasons, mark->text, (guint64)mark->first);
		}
	return n;
}

static void note_graph_breaks(TachoTable *table, const TachoTimeline *timeline, GArray *reasons)
{
	g_array_sort(reasons, compare_reasons);
	for (guint i = 0; i < MIN(reasons->len, MAX_REASONS); i++) {
		const struct reason *reason = &g_array_index(reasons, struct reason, i);

		tacho_table_note(table, "Graph breaks in torch.compile: %" G_GUINT64_FORMAT ", %s",
				 reason->n, tacho_timeline_string(timeline, reason->text));
	}
	if (reasons->len > MAX_REASONS)
		tacho_table_note(table, "There are %u more reasons for graph breaks.",
				 reasons->len - MAX_REASONS);
}

static void subtract(struct goodput *goodput, enum goodput_use use, enum goodput_use other)
{
	interval_set_subtract(&goodput->uses[use], &goodput->uses[other]);
}

static void share_out(struct goodput *goodput)
{
	static const enum goodput_use before_steps[] = { USE_EVALUATION, USE_CHECKPOINT,
							 USE_COMPILE, USE_IMPORT };

	for (guint i = 0; i < G_N_ELEMENTS(before_steps); i++) {
		subtract(goodput, USE_STEPS, before_steps[i]);
		subtract(goodput, USE_FIRST, before_steps[i]);
	}
	subtract(goodput, USE_LAUNCH, USE_STEPS);
	subtract(goodput, USE_LAUNCH, USE_FIRST);
	subtract(goodput, USE_LOADING, USE_STEPS);
	subtract(goodput, USE_LOADING, USE_FIRST);
}

/* What is of no use: before, between and after the steps. */
static void add_rest(struct goodput *goodput, gint64 first_step_ns, gint64 last_step_ns)
{
	struct interval_set *before = &goodput->uses[USE_BEFORE];
	gint64 begin_ns = goodput->begin_ns, end_ns = goodput->end_ns;

	interval_set_add(before, begin_ns, MIN(first_step_ns, end_ns));
	interval_set_add(&goodput->uses[USE_BETWEEN], first_step_ns, last_step_ns);
	interval_set_add(&goodput->uses[USE_AFTER], MAX(last_step_ns, begin_ns), end_ns);
	for (enum goodput_use rest = USE_BEFORE; rest < N_USES; rest++) {
		interval_set_normalize(&goodput->uses[rest]);
		for (enum goodput_use use = 0; use < USE_BEFORE; use++)
			subtract(goodput, rest, use);
	}
}

/* --- one rank --------------------------------------------------------------------------------- */

static void find_ends(const struct goodput *goodput, gint64 *ret_first_ns, gint64 *ret_last_ns)
{
	gint64 first_ns = G_MAXINT64, last_ns = G_MININT64;

	for (enum goodput_use use = USE_STEPS; use <= USE_FIRST; use++) {
		FOR_EACH(const struct interval, steps, goodput->uses[use].intervals) {
			first_ns = MIN(first_ns, steps->begin_ns);
			last_ns = MAX(last_ns, steps->end_ns);
		}
	}
	*ret_first_ns = first_ns > last_ns ? goodput->end_ns : first_ns;
	*ret_last_ns = first_ns > last_ns ? goodput->end_ns : last_ns;
}

static const TachoProcess *main_process(const TachoTimeline *timeline, guint32 rank_index)
{
	return tacho_timeline_process(timeline,
				      tacho_timeline_rank(timeline, rank_index)->main_process);
}

static void measure(struct goodput *goodput)
{
	const TachoTimeline *timeline = goodput->selection->timeline;
	guint32 main = tacho_timeline_rank(timeline, goodput->rank_index)->main_process;
	const TachoProcess *process = tacho_timeline_process(timeline, main);
	gint64 first_step_ns, last_step_ns;

	goodput->begin_ns = process->start_ns;
	goodput->end_ns = process->end_ns;
	for (guint use = 0; use < N_USES; use++)
		interval_set_init(&goodput->uses[use]);
	interval_set_init(&goodput->told_compilations);
	add_steps(goodput);
	find_ends(goodput, &first_step_ns, &last_step_ns);
	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		if (track->process != main)
			continue;
		if (track->kind == TACHO_TRACK_SAMPLED && track->tid == process->pid)
			add_functions(goodput, track);
		else if (track->kind == TACHO_TRACK_THREAD || track->kind == TACHO_TRACK_ASYNC)
			add_compilations(goodput, track);
	}
	for (enum goodput_use use = USE_EVALUATION; use < USE_BEFORE; use++)
		interval_set_normalize(&goodput->uses[use]);
	take_compilations(goodput);
	share_out(goodput);
	add_rest(goodput, first_step_ns, last_step_ns);
}

static void measure_rank(const struct selection *selection, guint32 rank_index,
			 struct rank_uses *uses)
{
	struct goodput goodput = { .selection = selection, .rank_index = rank_index };

	measure(&goodput);
	for (guint use = 0; use < N_USES; use++) {
		gint64 ns =
			interval_set_measure(&goodput.uses[use], goodput.begin_ns, goodput.end_ns);

		uses->ns[use] = (guint64)MAX(ns, 0);
		uses->n_stretches[use] = goodput.uses[use].intervals->len;
		interval_set_release(&goodput.uses[use]);
	}
	uses->is_sampled = goodput.is_sampled;
	interval_set_release(&goodput.told_compilations);
}

/* By rank index; the caller's. */
static struct rank_uses *measure_ranks(const struct selection *selection)
{
	const TachoTimeline *timeline = selection->timeline;
	guint n_ranks = timeline->ranks->len;
	struct rank_uses *uses = g_new0(struct rank_uses, MAX(n_ranks, 1u));

	for (guint32 i = 0; i < n_ranks; i++)
		if (selection_takes_rank(selection, i) && run_share_owns_rank(timeline, i))
			measure_rank(selection, i, &uses[i]);
	run_share_sum(timeline, "uses of ranks", (guint64 *)uses,
		      n_ranks * (guint)(sizeof(*uses) / sizeof(guint64)));
	return uses;
}

static void add_rows(TachoTable *table, const TachoTimeline *timeline, guint32 rank_index,
		     const struct rank_uses *uses, GArray *reasons)
{
	const TachoRank *rank = tacho_timeline_rank(timeline, rank_index);
	const TachoProcess *process = main_process(timeline, rank_index);
	guint64 n_graph_breaks = count_graph_breaks(timeline, rank->main_process, reasons);

	for (enum goodput_use use = 0; use < N_USES; use++) {
		if (!uses->ns[use])
			continue;
		tacho_table_row(table);
		tacho_table_integer(table, rank->rank);
		tacho_table_text(table, use_names[use]);
		tacho_table_number(table, MS((gdouble)uses->ns[use]));
		table_share(table, (gdouble)uses->ns[use],
			    (gdouble)(process->end_ns - process->start_ns));
		tacho_table_integer(table, (gint64)uses->n_stretches[use]);
		if (use == USE_COMPILE)
			tacho_table_integer(table, (gint64)n_graph_breaks);
		else
			tacho_table_null(table);
		tacho_table_boolean(table, use == USE_STEPS);
		tacho_table_text(table, tacho_timeline_string(timeline, rank->host));
	}
}

TachoTable *tacho_view_goodput(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("goodput", columns, G_N_ELEMENTS(columns));
	gdouble training_ns = 0, life_ns = 0;
	gboolean is_sampled = FALSE;
	g_autoptr(GArray) reasons = g_array_new(FALSE, FALSE, sizeof(struct reason));
	g_autofree struct rank_uses *uses = NULL;
	struct selection selection;

	selection_init(&selection, timeline, filter);
	uses = measure_ranks(&selection);
	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		const TachoProcess *process = main_process(timeline, i);

		if (!selection_takes_rank(&selection, i))
			continue;
		add_rows(table, timeline, i, &uses[i], reasons);
		training_ns += (gdouble)uses[i].ns[USE_STEPS];
		life_ns += (gdouble)(process->end_ns - process->start_ns);
		is_sampled |= uses[i].is_sampled != 0;
	}
	if (life_ns > 0)
		tacho_table_note(table, "Goodput: %.1f %% of the ranks' time is in training steps.",
				 100 * training_ns / life_ns);
	if (life_ns > 0 && !is_sampled)
		tacho_table_note(table,
				 "The program's stacks were not sampled, so what lies in and "
				 "beside the steps is not told apart.");
	note_graph_breaks(table, timeline, reasons);
	selection_release(&selection);
	return table;
}
