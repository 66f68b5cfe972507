#include "import/exported/exported_run.h"

#include "trace/image_reader.h"

GError *exported_run_changed(void)
{
	return g_error_new_literal(IMAGE_READER_ERROR, IMAGE_READER_ERROR_DAMAGED,
				   "it was changed after tacho had written it");
}

GError *exported_run_cut(void)
{
	return g_error_new_literal(IMAGE_READER_ERROR, IMAGE_READER_ERROR_DAMAGED,
				   "its end is missing");
}

gboolean exported_run_settle(struct import *import, RestoredRun *run, const gchar *path,
			     GError *failure, gboolean *ret_is_read, GError **error)
{
	g_autoptr(GError) why = failure;
	TachoTimeline *timeline = why ? NULL : restored_run_finish(run, &why);

	*ret_is_read = timeline != NULL;
	if (timeline)
		return restored_run_import(import, timeline, error);
	tacho_timeline_add_problem(
		import->timeline, TACHO_PROBLEM_CHANGED_EXPORT, 1,
		"%s: an export of tacho's, but %s: what it shows is read, and the rest of what "
		"tacho knew of the run is not; export the run again to have it",
		path, why->message);
	return TRUE;
}
