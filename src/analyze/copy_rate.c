/* copy_rate: what a copy tells of itself, which stands in its args as each format writes them. */
#include "analyze/copy_rate.h"

#include <string.h>

#include "import/read/json_scan.h"

/* What is beyond is broken, and would drown all else: no memory moves a PB/s, and no copy has 8 PiB. */
#define MAX_GB_PER_S 1e6
#define MAX_BYTES    0x1p53

static void read_told(const gchar *json, struct copy_rate *rate)
{
	g_autofree gchar *padded = NULL;
	struct json_scan scan = { 0 };
	struct json_text key;
	gsize n = strlen(json);

	padded = g_malloc(n + JSON_PADDING);
	memcpy(padded, json, n);
	memset(padded + n, '"', JSON_PADDING);
	scan.at = padded;
	scan.end = padded + n;
	if (!json_enter(&scan, '{'))
		return;
	while (json_member(&scan, &key)) {
		gdouble value;

		if (JSON_TEXT_IS(&key, "bytes") || JSON_TEXT_IS(&key, "Bytes")) {
			if (json_number(&scan, &value) && value > 0 && value <= MAX_BYTES)
				rate->bytes = value;
		} else if (JSON_TEXT_IS(&key, "memory bandwidth (GB/s)")) {
			if (json_number(&scan, &value) && value > 0 && value <= MAX_GB_PER_S)
				rate->gb_per_s = value;
		} else {
			json_skip(&scan);
		}
	}
}

gboolean copy_rate_of(const TachoTimeline *timeline, guint32 slice, struct copy_rate *ret_rate)
{
	TachoSliceKind kind = timeline->slices.kind[slice];
	gint64 duration_ns = timeline->slices.duration_ns[slice];
	struct copy_rate rate = { 0 };
	g_autofree gchar *json = NULL;
	TachoKernelArgs args;

	if (kind != TACHO_SLICE_MEMCPY && kind != TACHO_SLICE_MEMSET)
		return FALSE;
	rate.kind = copy_kind_of(timeline, slice);
	json = tacho_slice_args_json(timeline, slice);
	if (json)
		read_told(json, &rate);
	if (rate.bytes <= 0 && tacho_slice_kernel(timeline, slice, &args))
		rate.bytes = (gdouble)args.bytes <= MAX_BYTES ? (gdouble)args.bytes : 0;
	if (rate.gb_per_s <= 0 && duration_ns > 0)
		rate.gb_per_s = rate.bytes / (gdouble)duration_ns;
	if (rate.gb_per_s > MAX_GB_PER_S)
		rate.gb_per_s = 0;
	*ret_rate = rate;
	return TRUE;
}
