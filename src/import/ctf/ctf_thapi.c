/* ctf_thapi: THAPI's traces of intervals: what hosts called and what devices did, each one event with the time it
 * began and how long it took. (Its traces of single events are pairs of X_entry and X_exit: ctf_rules.c.) */
#include <string.h>

#include "import/ctf/ctf_import.h"

enum thapi_field { THAPI_DURATION, THAPI_DEVICE, THAPI_SUBDEVICE };

static void handle_host(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	ctf_add_slice(ctf, plan->kind, ctf_thread_track(ctf, ctf->thread),
		      ctf_label_of(ctf, plan, event), event->time_ns,
		      ctf_event_integer(event, plan->fields[THAPI_DURATION]), 0, event->offset);
}

static guint8 kind_of(const gchar *name)
{
	static const gchar *const copies[] = { "Memcpy",     "MemoryCopy",  "ReadBuffer",
					       "ReadImage",  "WriteBuffer", "WriteImage",
					       "CopyBuffer", "CopyImage" };
	static const gchar *const fills[] = { "Memset", "MemoryFill", "FillBuffer", "FillImage" };

	for (guint i = 0; i < G_N_ELEMENTS(copies); i++)
		if (strstr(name, copies[i]))
			return TACHO_SLICE_MEMCPY;
	for (guint i = 0; i < G_N_ELEMENTS(fills); i++)
		if (strstr(name, fills[i]))
			return TACHO_SLICE_MEMSET;
	return TACHO_SLICE_KERNEL;
}

/* Devices are called by their handles: they get numbers in the order they are seen. */
static void handle_device(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	guint32 label = ctf_label_of(ctf, plan, event);
	guint32 name = ctf_intern_field(ctf, event, plan->fields[THAPI_DEVICE]);
	guint32 part = ctf_intern_field(ctf, event, plan->fields[THAPI_SUBDEVICE]);
	gint32 device = ctf_device_number(ctf, name);
	g_autofree gchar *lane =
		g_strdup_printf("device %s", tacho_timeline_string(ctf->timeline, name));
	g_autofree gchar *sublane =
		part && part != name ? g_strdup_printf("%s, part %s", lane,
						       tacho_timeline_string(ctf->timeline, part))
				     : g_strdup(lane);

	ctf_add_slice(ctf, kind_of(tacho_timeline_string(ctf->timeline, label)),
		      ctf_lane(ctf, ctf->thread->owner, TACHO_TRACK_STREAM, sublane, device,
			       g_hash_table_size(ctf->thread->owner->tracks)),
		      label, event->time_ns, ctf_event_integer(event, plan->fields[THAPI_DURATION]),
		      0, event->offset);
}

const struct ctf_rule ctf_thapi_rules[] = {
	{ .event = "lttng:host",
	  .handle = handle_host,
	  .kind = TACHO_SLICE_RUNTIME,
	  .label = "name",
	  .fields = { "dur" } },
	{ .event = "lttng:device",
	  .handle = handle_device,
	  .kind = TACHO_SLICE_KERNEL,
	  .label = "name",
	  .fields = { "dur", "did", "sdid" } },
	{ .event = "lttng:traffic",
	  .handle = ctf_handle_instant,
	  .kind = TACHO_SLICE_EVENT,
	  .label = "name",
	  .prefix = "traffic " },
	{ 0 },
};
