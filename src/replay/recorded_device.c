/* recorded_device: the accelerator that a run was recorded on. Kineto's traces tell it as the member
 * "deviceProperties", an array of objects with a "name"; which the importer keeps as a mark. */
#include "replay/recorded_device.h"

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

gchar *recorded_device_name(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->marks->len; i++) {
		const TachoMark *mark = &g_array_index(timeline->marks, TachoMark, i);
		gchar *name;

		if (strcmp(tacho_timeline_string(timeline, mark->name), "deviceProperties") != 0)
			continue;
		name = first_name(tacho_timeline_string(timeline, mark->text));
		if (name)
			return name;
	}
	return NULL;
}
