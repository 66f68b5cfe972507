#include "import/used_devices.h"

void used_devices_add(TachoTimeline *timeline, guint32 first_process, const TachoDevice *device)
{
	guint n = timeline->processes->len;
	g_autofree guint8 *is_user = g_new0(guint8, n + 1);

	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind == TACHO_TRACK_STREAM && track->device == device->number)
			is_user[track->process] = TRUE;
	}
	for (guint i = first_process; i < n; i++) {
		TachoDevice row = *device;

		row.process = i;
		if (is_user[i])
			g_array_append_val(timeline->devices, row);
	}
}
