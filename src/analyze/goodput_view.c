/* goodput_view: what the life of each rank's main process goes to: training steps, and what there is beside them.
 *
 *     life       | start-up   import   launch | first step | step | step | checkpoint | step | evaluation | end |
 *     functions  |          <importlib> init_...                           torch.save          evaluate
 *     steps      |                            | 0          | 1    | 2                  | 3                 |
 *
 * Steps are as everywhere: each optimizer step ends one, so a checkpoint or an evaluation lies in the step that it delays.
 * What it is, samples of the stack tell: the outermost function that is of a known use (trace/function_use.h).
 * (1) Every moment of the life has one use, so the rows of a rank add up to it.
 * (2) Compilation, checkpoints, evaluation and imports are taken out of the steps that they lie in; data loading and finding other
 *     ranks are a part of these.
 * (3) A function in which a whole steady step lies is not of a use: a program may train while a module of it is imported. */
#include <tacho/analyze.h>

#include "analyze/selection.h"
#include "analyze/table_cells.h"
#include "analyze/table_columns.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "trace/function_use.h"

static const TachoColumn columns[] = {
	INTEGER_COLUMN("rank", "rank"),
	TEXT_COLUMN("use", "use"),
	NUMBER_COLUMN("time_ms", "ms", 2),
	SHARE_COLUMN("share_pct", "%", 1),
	INTEGER_COLUMN("stretches", "times"),
	JSON_BOOLEAN("is_training"),
	JSON_TEXT("host"),
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

struct goodput {
	const struct selection *selection;
	guint32 rank_index;
	struct interval_set uses[N_USES];
	gint64 life_ns, begin_ns, end_ns;
	gint64 shortest_ns; /* steady step */
	gboolean is_sampled;
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

static void measure(struct goodput *goodput)
{
	const TachoTimeline *timeline = goodput->selection->timeline;
	guint32 main = tacho_timeline_rank(timeline, goodput->rank_index)->main_process;
	const TachoProcess *process = tacho_timeline_process(timeline, main);
	gint64 first_step_ns, last_step_ns;

	goodput->begin_ns = process->start_ns;
	goodput->end_ns = process->end_ns;
	goodput->life_ns = process->end_ns - process->start_ns;
	for (guint use = 0; use < N_USES; use++)
		interval_set_init(&goodput->uses[use]);
	add_steps(goodput);
	find_ends(goodput, &first_step_ns, &last_step_ns);
	FOR_EACH(const TachoTrack, track, timeline->tracks)
		if (track->kind == TACHO_TRACK_SAMPLED && track->process == main &&
		    track->tid == process->pid)
			add_functions(goodput, track);
	for (enum goodput_use use = USE_EVALUATION; use < USE_BEFORE; use++)
		interval_set_normalize(&goodput->uses[use]);
	share_out(goodput);
	add_rest(goodput, first_step_ns, last_step_ns);
}

static gint64 measure_use(const struct goodput *goodput, enum goodput_use use)
{
	return interval_set_measure(&goodput->uses[use], goodput->begin_ns, goodput->end_ns);
}

static void add_rows(TachoTable *table, const struct goodput *goodput)
{
	const TachoTimeline *timeline = goodput->selection->timeline;
	const TachoRank *rank = tacho_timeline_rank(timeline, goodput->rank_index);

	for (enum goodput_use use = 0; use < N_USES; use++) {
		gint64 ns = measure_use(goodput, use);

		if (ns <= 0)
			continue;
		tacho_table_row(table);
		tacho_table_integer(table, rank->rank);
		tacho_table_text(table, use_names[use]);
		tacho_table_number(table, MS(ns));
		table_share(table, (gdouble)ns, (gdouble)goodput->life_ns);
		tacho_table_integer(table, goodput->uses[use].intervals->len);
		tacho_table_boolean(table, use == USE_STEPS);
		tacho_table_text(table, tacho_timeline_string(timeline, rank->host));
	}
}

TachoTable *tacho_view_goodput(const TachoTimeline *timeline, const TachoFilter *filter)
{
	TachoTable *table = tacho_table_new("goodput", columns, G_N_ELEMENTS(columns));
	gdouble training_ns = 0, life_ns = 0;
	gboolean is_sampled = FALSE;
	struct selection selection;

	selection_init(&selection, timeline, filter);
	for (guint32 i = 0; i < timeline->ranks->len; i++) {
		struct goodput goodput = { .selection = &selection, .rank_index = i };

		if (!selection_takes_rank(&selection, i))
			continue;
		measure(&goodput);
		add_rows(table, &goodput);
		training_ns += (gdouble)measure_use(&goodput, USE_STEPS);
		life_ns += (gdouble)goodput.life_ns;
		is_sampled |= goodput.is_sampled;
		for (guint use = 0; use < N_USES; use++)
			interval_set_release(&goodput.uses[use]);
	}
	if (life_ns > 0)
		tacho_table_note(table, "Goodput: %.1f %% of the ranks' time is in training steps.",
				 100 * training_ns / life_ns);
	if (life_ns > 0 && !is_sampled)
		tacho_table_note(table,
				 "The program's stacks were not sampled, so what lies in and "
				 "beside the steps is not told apart.");
	selection_release(&selection);
	return table;
}
