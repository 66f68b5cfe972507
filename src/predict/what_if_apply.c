#include "predict/what_if_apply.h"

#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "base/for_each.h"
#include "predict/prediction.h"

/* What is found below, where nobody knows of what-ifs, is said to be of this one. */
static gboolean fail(const struct change *change, GError *cause, GError **error)
{
	if (!g_str_has_prefix(cause->message, "what-if '"))
		g_prefix_error(&cause, "what-if '%s': ", change->text);
	g_propagate_error(error, cause);
	return FALSE;
}

static gboolean refuse(const struct change *change, const gchar *reason, GError **error)
{
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF, "what-if '%s': %s",
		    change->text, reason);
	return FALSE;
}

/* --- what a change needs ----------------------------------------------------------------------- */

static gboolean read_topology(struct change *change, GError **error)
{
	g_autoptr(GError) cause = NULL;

	change->topology = g_new0(struct topology, 1);
	return topology_read(change->topology, change->name, &cause) ||
	       refuse(change, cause->message, error);
}

static gboolean read_efficiencies(struct change *change, GError **error)
{
	g_autoptr(GError) cause = NULL;

	return kernel_efficiencies_read(&change->efficiencies, change->efficiencies_path, &cause) ||
	       refuse(change, cause->message, error);
}

/* A name with an @ that no file has, and no time behind the @. */
static gboolean has_bad_time(const struct change *change)
{
	return strchr(change->name, '@') && g_str_has_suffix(change->text, change->name) &&
	       !g_file_test(change->name, G_FILE_TEST_EXISTS);
}

static gboolean open_job(struct change *change, GError **error)
{
	const gchar *paths[] = { change->name };
	g_autoptr(GError) cause = NULL;
	g_autofree gchar *reason = NULL;
	gdouble share;

	if (has_bad_time(change)) {
		reason = g_strdup_printf("there is no '%s', and the text after the @ is not a time "
					 "with a unit, as in 5ms, up to a day",
					 change->name);
		return refuse(change, reason, error);
	}
	change->job_timeline = tacho_run_open(paths, 1, NULL, NULL, &cause);
	if (!change->job_timeline)
		return refuse(change, cause->message, error);
	tacho_correlate(change->job_timeline);
	change->job = replay_build_graph(change->job_timeline, -1, -1, &cause);
	if (change->job && replay_take_out_recording(change->job, NULL, &share, &cause))
		return TRUE;
	reason = g_strdup_printf("%s: %s", change->name, cause->message);
	return refuse(change, reason, error);
}

static gboolean change_read(struct change *change, const gchar *what_if, GError **error)
{
	if (!change_parse(change, what_if, error))
		return FALSE;
	switch (change_needs(change)) {
	case CHANGE_NEEDS_TOPOLOGY:
		return read_topology(change, error);
	case CHANGE_NEEDS_JOB:
		return open_job(change, error);
	case CHANGE_NEEDS_EFFICIENCIES:
		return read_efficiencies(change, error);
	case CHANGE_NEEDS_NOTHING:
		break;
	}
	return TRUE;
}

/* --- one, and several --------------------------------------------------------------------------- */

static gboolean make(TachoGraph *graph, const struct change *change, GError **error)
{
	guint32 n_nodes = graph->nodes->len;
	GError *cause = NULL;

	if (change_apply(graph, change, &cause))
		return graph_freeze(graph, &cause) || fail(change, cause, error);
	if (graph->nodes->len != n_nodes) /* ranks that it names are told apart */
		graph_freeze(graph, NULL);
	return fail(change, cause, error);
}

gboolean tacho_graph_what_if(TachoGraph *graph, const gchar *what_if, GError **error)
{
	struct change change;
	gboolean is_done = change_read(&change, what_if, error) && make(graph, &change, error);

	change_release(&change);
	return is_done;
}

GArray *changes_read(const gchar *const *what_ifs, guint n_what_ifs, GError **error)
{
	g_autoptr(GArray) changes = g_array_new(FALSE, TRUE, sizeof(struct change));

	g_array_set_clear_func(changes, (GDestroyNotify)change_release);
	g_array_set_size(changes, n_what_ifs);
	for (guint i = 0; i < n_what_ifs; i++)
		if (!change_read(&g_array_index(changes, struct change, i), what_ifs[i], error))
			return NULL;
	if (!changes_check(changes, error))
		return NULL;
	return g_steal_pointer(&changes);
}

gboolean changes_check_shared(const gchar *const *what_ifs, guint n_what_ifs, GError **error)
{
	gboolean is_shared = TRUE;

	for (guint i = 0; is_shared && i < n_what_ifs; i++) {
		struct change change;

		is_shared = change_parse(&change, what_ifs[i], error) &&
			    change_check_shared(&change, error);
		change_release(&change);
	}
	return is_shared;
}

gboolean changes_need(const GArray *changes, enum change_needs needs)
{
	for (guint i = 0; i < changes->len; i++)
		if (change_needs(&g_array_index(changes, struct change, i)) == needs)
			return TRUE;
	return FALSE;
}

gboolean changes_apply(TachoGraph *graph, const GArray *changes, GError **error)
{
	for (enum change_phase phase = 0; phase < CHANGE_N_PHASES; phase++)
		FOR_EACH_AT(const struct change, change, i, changes)
			if (change_phase(change) == phase && !changes_is_replaced(changes, i) &&
			    !make(graph, change, error))
				return FALSE;
	return TRUE;
}
