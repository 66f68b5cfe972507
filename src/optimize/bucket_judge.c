#include "optimize/bucket_judge.h"

#include <math.h>

#include "edit/bucket_plan.h"
#include "predict/what_if_apply.h"
#include "replay/replay_internal.h"

static gdouble play(const TachoGraph *graph, GError **error)
{
	g_autoptr(TachoReplay) replay = tacho_replay_run(graph, error);

	return replay ? replay_median_step_ns(replay) * 1e-6 : NAN;
}

gdouble bucket_judge_fusion_ms(const TachoGraph *graph, const gchar *fusion, GError **error)
{
	g_autoptr(TachoGraph) copy = graph_copy(graph);
	struct change change;
	gboolean is_made = change_parse(&change, fusion, error) &&
			   bucket_plan_model(copy, &change, error) && graph_freeze(copy, error);

	change_release(&change);
	return is_made ? play(copy, error) : NAN;
}

gdouble bucket_judge_step_ms(const TachoGraph *graph, const gchar *what_ifs, GError **error)
{
	g_auto(GStrv) list = g_strsplit(what_ifs, ";", -1);
	g_autoptr(GArray) changes =
		changes_read((const gchar *const *)list, g_strv_length(list), error);
	g_autoptr(TachoGraph) copy = changes ? graph_copy(graph) : NULL;

	return copy && changes_apply(copy, changes, error) ? play(copy, error) : NAN;
}
