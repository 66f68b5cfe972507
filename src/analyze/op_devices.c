#include "analyze/op_devices.h"

#include <string.h>

#include "analyze/profile_tree.h"

#define MAX_LIST_BYTES 1024

/* "/job:worker/replica:0/task:0/device:GPU:0", "gpu:0" */
static gboolean is_device_name(const gchar *name)
{
	const gchar *last = strrchr(name, ':');

	if (!last || !last[1] || strspn(last + 1, "0123456789") != strlen(last + 1))
		return FALSE;
	return strcasestr(name, "cpu:") || strcasestr(name, "gpu:") || strcasestr(name, "tpu:");
}

static gboolean contains(const GString *devices, const gchar *name)
{
	gsize n = strlen(name);

	for (const gchar *at = strstr(devices->str, name); at; at = strstr(at + 1, name))
		if ((at == devices->str || at[-1] == ',') && (at[n] == ',' || !at[n]))
			return TRUE;
	return FALSE;
}

void op_devices_add_name(GString *devices, const gchar *name)
{
	if (contains(devices, name) || devices->len + strlen(name) >= MAX_LIST_BYTES)
		return;
	if (devices->len)
		g_string_append_c(devices, ',');
	g_string_append(devices, name);
}

/* The device among the types; FALSE: there is none. */
static gboolean add_told(GString *devices, const gchar *tags)
{
	g_auto(GStrv) all = g_strsplit(tags, "\n", -1);
	gboolean is_told = FALSE;

	for (guint i = 0; all[i]; i++)
		if (is_device_name(all[i])) {
			op_devices_add_name(devices, all[i]);
			is_told = TRUE;
		}
	return is_told;
}

/* Lanes of one device are "cpu:0", "cpu:0 (2)" ... */
static void add_track(GString *devices, const TachoTimeline *timeline, guint32 slice)
{
	const gchar *name = tacho_timeline_string(
		timeline, tacho_timeline_track(timeline, timeline->slices.track[slice])->name);
	g_autofree gchar *device = g_strndup(name, strcspn(name, " "));

	if (is_device_name(device))
		op_devices_add_name(devices, device);
}

void op_devices_add(GString *devices, const TachoTimeline *timeline, guint32 slice,
		    const struct op_fact *fact)
{
	TachoToldOp told;

	if (tacho_slice_told(timeline, slice, &told)) {
		if (told.tags && add_told(devices, tacho_timeline_string(timeline, told.tags)))
			return;
		add_track(devices, timeline, slice);
	}
	for (guint i = 0; i < 64; i++)
		if (fact->devices >> i & 1) {
			g_autofree gchar *name = g_strdup_printf("gpu:%u", i);

			op_devices_add_name(devices, name);
		}
}

gboolean op_devices_match(const GPtrArray *regexes, const gchar *devices)
{
	g_auto(GStrv) all = g_strsplit(devices, ",", -1);

	for (guint i = 0; all[i]; i++)
		if (*all[i] && profile_matches(regexes, all[i]))
			return TRUE;
	return FALSE;
}
