/* export_scope: each rank has a window of time that goes out: that of its own steps, since clocks
 * of ranks need not agree. A slice goes out when it begins in the window, so that of a slice that
 * does not, no ancestor does either; but where only some are chosen, any may be. */
#include "export/export_scope.h"

#include "base/for_each.h"

struct export_window {
	gint64 start_ns, end_ns; /* [start, end); empty: nothing of this rank */
};

static const struct export_window everything = { G_MININT64, G_MAXINT64 };
static const struct export_window nothing = { 0, 0 };

static gboolean is_wanted_step(const TachoStep *step, const TachoExportOptions *options)
{
	return (options->first_step < 0 || step->number >= options->first_step) &&
	       (options->last_step < 0 || step->number <= options->last_step);
}

static void widen(struct export_window *window, const TachoStep *step)
{
	if (window->start_ns == window->end_ns) {
		*window = (struct export_window){ step->start_ns, step->end_ns };
		return;
	}
	window->start_ns = MIN(window->start_ns, step->start_ns);
	window->end_ns = MAX(window->end_ns, step->end_ns);
}

static gboolean limit_to_rank(struct export_scope *scope, gint32 rank, GError **error)
{
	const GArray *ranks = scope->timeline->ranks;
	gboolean is_found = FALSE;

	for (guint i = 0; i < ranks->len; i++) {
		if (g_array_index(ranks, TachoRank, i).rank == rank)
			is_found = TRUE;
		else
			scope->windows[i] = nothing;
	}
	if (!is_found)
		g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE,
			    "the run has no rank %d", rank);
	return is_found;
}

static gboolean limit_to_steps(struct export_scope *scope, const TachoExportOptions *options,
			       GError **error)
{
	const TachoTimeline *timeline = scope->timeline;
	g_autofree struct export_window *steps = g_new0(struct export_window, timeline->ranks->len);
	guint32 last_number = 0;
	gboolean is_found = FALSE;

	FOR_EACH(const TachoStep, step, timeline->steps) {
		last_number = MAX(last_number, step->number);
		if (!is_wanted_step(step, options) || !export_scope_has_step(scope, step))
			continue;
		widen(&steps[step->rank_index], step);
		is_found = TRUE;
	}
	for (guint i = 0; i < timeline->ranks->len; i++)
		scope->windows[i] = steps[i];
	if (is_found)
		return TRUE;
	if (timeline->steps->len == 0)
		g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE,
			    "the run has no training steps; use --steps all");
	else
		g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_THERE,
			    "the run has no such steps; it has steps 0 to %u", last_number);
	return FALSE;
}

gboolean export_scope_init(struct export_scope *scope, const TachoTimeline *timeline,
			   const TachoExportOptions *options, GError **error)
{
	scope->timeline = timeline;
	scope->only = options->only;
	scope->windows = g_new(struct export_window, timeline->ranks->len);
	for (guint i = 0; i < timeline->ranks->len; i++)
		scope->windows[i] = everything;
	if ((options->rank < 0 || limit_to_rank(scope, options->rank, error)) &&
	    ((options->first_step < 0 && options->last_step < 0) ||
	     limit_to_steps(scope, options, error)))
		return TRUE;
	export_scope_release(scope);
	return FALSE;
}

void export_scope_release(struct export_scope *scope)
{
	g_clear_pointer(&scope->windows, g_free);
}

static const struct export_window *window_of(const struct export_scope *scope, guint32 process)
{
	return &scope->windows[tacho_timeline_process(scope->timeline, process)->rank_index];
}

static gboolean is_everything(const struct export_window *window)
{
	return window->start_ns == everything.start_ns && window->end_ns == everything.end_ns;
}

gboolean export_scope_is_whole(const struct export_scope *scope)
{
	if (scope->only)
		return FALSE;
	for (guint i = 0; i < scope->timeline->ranks->len; i++)
		if (!is_everything(&scope->windows[i]))
			return FALSE;
	return TRUE;
}

gboolean export_scope_has_all(const struct export_scope *scope, guint32 process)
{
	return !scope->only && is_everything(window_of(scope, process));
}

gboolean export_scope_has_process(const struct export_scope *scope, guint32 process)
{
	const struct export_window *window = window_of(scope, process);

	return window->start_ns < window->end_ns;
}

static gboolean is_in_window(const struct export_scope *scope, guint32 track, gint64 time_ns)
{
	const struct export_window *window =
		window_of(scope, tacho_timeline_track(scope->timeline, track)->process);

	return time_ns >= window->start_ns && time_ns < window->end_ns;
}

gboolean export_scope_has_moment(const struct export_scope *scope, guint32 track, gint64 time_ns)
{
	return !scope->only && is_in_window(scope, track, time_ns);
}

gboolean export_scope_has_slice(const struct export_scope *scope, guint32 slice)
{
	const TachoSlices *slices = &scope->timeline->slices;

	return (!scope->only || scope->only[slice]) &&
	       is_in_window(scope, slices->track[slice], slices->start_ns[slice]);
}

gboolean export_scope_has_step(const struct export_scope *scope, const TachoStep *step)
{
	const struct export_window *window = &scope->windows[step->rank_index];

	return step->start_ns >= window->start_ns && step->start_ns < window->end_ns;
}
