/* recorded_device: the accelerator that a run was recorded on. Kineto's traces tell it as the member
 * "deviceProperties", an array of objects with a "name"; which the importer keeps as a mark. */
#include "analyze/recorded_device.h"

#include <string.h>

/* The text behind the first "name": of JSON, without escapes; NULL: there is none. */
static gchar *first_name(const gchar *json)
{
	const gchar *at = strstr(json, "\"name\""), *end;

	if (!at)
		return NULL;
	at += strlen("\"name\"");
	at += strspn(at, " \t\r\n");
	if (*at++ != ':')
		return NULL;
	at += strspn(at, " \t\r\n");
	if (*at++ != '"')
		return NULL;
	end = strchr(at, '"');
	return end && end > at ? g_strndup(at, (gsize)(end - at)) : NULL;
}

static guint32 rank_of(const TachoTimeline *timeline, const TachoMark *mark)
{
	guint32 process;

	if (mark->track >= timeline->tracks->len)
		return TACHO_NONE;
	process = tacho_timeline_track(timeline, mark->track)->process;
	return g_array_index(timeline->processes, TachoProcess, process).rank_index;
}

gchar *recorded_device_name(const TachoTimeline *timeline, guint32 rank_index)
{
	gchar *of_any = NULL;

	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		gchar *name;

		if (strcmp(tacho_timeline_string(timeline, mark->name), "deviceProperties") != 0)
			continue;
		name = first_name(tacho_timeline_string(timeline, mark->text));
		if (name && rank_of(timeline, mark) == rank_index) {
			g_free(of_any);
			return name;
		}
		if (!of_any)
			of_any = name;
		else
			g_free(name);
	}
	return of_any;
}
