/* A run that came back from an export as one of several that are read together. */
#include "import/exported/restored_run.h"
#include "import/timeline_join.h"

/* Importers give times since 1970; both are within TACHO_MAX_TIME_NS. */
static gint64 since_epoch(const struct timeline_join *join, guint32 process, gint64 time_ns)
{
	(void)process;
	return time_ns + join->from->origin_unix_ns;
}

static void join_processes(struct import *import, struct timeline_join *join)
{
	guint file = import_new_file(import);

	for (guint32 i = 0; i < join->from->processes->len; i++) {
		TachoProcess row = timeline_join_process(join, i);

		join->processes[i] = import_add_process(import, &row, file);
	}
}

static gboolean join_run(struct import *import, TachoTimeline *timeline, GError **error)
{
	g_auto(TimelineJoin) join = { 0 };

	if (!timeline_join_begin(&join, import->timeline, timeline, error))
		return FALSE;
	join.move = since_epoch;
	join_processes(import, &join);
	timeline_join_rows(&join);
	return TRUE;
}

gboolean restored_run_import(struct import *import, TachoTimeline *timeline, GError **error)
{
	if (!import->is_alone)
		return join_run(import, timeline, error);
	import->restored = timeline;
	return TRUE;
}
