#include "analyze/recorded_device.h"

static gboolean has_worked(const TachoTimeline *timeline, const TachoDevice *device)
{
	for (guint i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind == TACHO_TRACK_STREAM && track->process == device->process &&
		    track->device == device->number && track->n_slices)
			return TRUE;
	}
	return FALSE;
}

static gboolean is_of_rank(const TachoTimeline *timeline, const TachoDevice *device,
			   guint32 rank_index)
{
	return g_array_index(timeline->processes, TachoProcess, device->process).rank_index ==
	       rank_index;
}

const gchar *recorded_device_name(const TachoTimeline *timeline, guint32 rank_index)
{
	const TachoDevice *any = NULL, *first = NULL, *working = NULL;

	for (guint i = 0; i < timeline->devices->len && !working; i++) {
		const TachoDevice *device = &g_array_index(timeline->devices, TachoDevice, i);

		if (!device->name)
			continue;
		if (!any)
			any = device;
		if (!is_of_rank(timeline, device, rank_index))
			continue;
		if (!first)
			first = device;
		else if (device->name != first->name)
			working = has_worked(timeline, first)	 ? first
				  : has_worked(timeline, device) ? device
								 : NULL;
	}
	if (working)
		first = working;
	if (!first)
		first = any;
	return first ? tacho_timeline_string(timeline, first->name) : NULL;
}
