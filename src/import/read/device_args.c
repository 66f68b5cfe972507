#include "import/read/device_args.h"

#include <math.h>

#include "import/read/json_scan.h"

/* No memory moves a PB/s, and no copy has 8 PiB: what is beyond is broken. */
#define MAX_GB_PER_S 1e6
#define MAX_BYTES    0x1p53

/* --- the text of the args ----------------------------------------------------------------------- */

/* What is read of the args of one slice. */
struct told {
	TachoLaunchShape shape;
	guint32 threads[3];	 /* of the whole grid, as ROCm counts it */
	gdouble bytes, gb_per_s; /* of a copy */
	TachoDeviceLead lead;
	gboolean is_inside; /* of what rocprofv3 nests */
};

/* What a key stands for. NUMBER keys are in a list: COUNT(key, field) sets a whole number, MORE(key, field) adds to it,
 * FIGURE(key, field) sets a real one that is not below 0. */
#define KEYS(COUNT, MORE, FIGURE)                                                                  \
	/* PyTorch's profiler */                                                                   \
	COUNT("registers per thread", shape.registers)                                             \
	MORE("shared memory", shape.shared_bytes)                                                  \
	FIGURE("blocks per SM", shape.blocks_per_sm)                                               \
	FIGURE("warps per SM", shape.warps_per_sm)                                                 \
	FIGURE("est. achieved occupancy %", shape.occupancy_pct)                                   \
	/* runs of tacho's */                                                                      \
	FIGURE("queued before ns", lead.queued_ns)                                                 \
	FIGURE("submitted before ns", lead.submitted_ns)                                           \
	/* Nsight Systems */                                                                       \
	COUNT("gridX", shape.grid[0])                                                              \
	COUNT("gridY", shape.grid[1])                                                              \
	COUNT("gridZ", shape.grid[2])                                                              \
	COUNT("blockX", shape.block[0])                                                            \
	COUNT("blockY", shape.block[1])                                                            \
	COUNT("blockZ", shape.block[2])                                                            \
	COUNT("registersPerThread", shape.registers)                                               \
	MORE("staticSharedMemory", shape.shared_bytes)                                             \
	MORE("dynamicSharedMemory", shape.shared_bytes)                                            \
	/* rocpd */                                                                                \
	COUNT("grid_size_x", threads[0])                                                           \
	COUNT("grid_size_y", threads[1])                                                           \
	COUNT("grid_size_z", threads[2])                                                           \
	COUNT("workgroup_size_x", shape.block[0])                                                  \
	COUNT("workgroup_size_y", shape.block[1])                                                  \
	COUNT("workgroup_size_z", shape.block[2])                                                  \
	MORE("group_segment_size", shape.shared_bytes)                                             \
	/* rocprofv3's CSV */                                                                      \
	COUNT("Grid_Size_X", threads[0])                                                           \
	COUNT("Grid_Size_Y", threads[1])                                                           \
	COUNT("Grid_Size_Z", threads[2])                                                           \
	COUNT("Workgroup_Size_X", shape.block[0])                                                  \
	COUNT("Workgroup_Size_Y", shape.block[1])                                                  \
	COUNT("Workgroup_Size_Z", shape.block[2])                                                  \
	MORE("Group_Segment_Size", shape.shared_bytes)

static gboolean read_count(struct json_scan *scan, gint64 max, gint64 *ret_value)
{
	return json_fixed(scan, 0, ret_value) && *ret_value >= 0 && *ret_value <= max;
}

static void read_figure(struct json_scan *scan, gdouble *figure)
{
	gdouble value;

	if (json_number(scan, &value) && value >= 0 && isfinite(value))
		*figure = value;
}

/* "[4, 2, 1]" of PyTorch's profiler; {"x": 4, "y": 2, "z": 1} of rocprofv3's JSON. */
static void read_sizes(struct json_scan *scan, guint32 *sizes)
{
	struct json_text key;
	gint64 value;

	if (json_peek(scan) != '{') {
		if (!json_enter(scan, '['))
			return;
		for (guint i = 0; json_element(scan); i++)
			if (read_count(scan, G_MAXUINT32, &value) && i < 3)
				sizes[i] = (guint32)value;
		return;
	}
	json_take(scan, '{');
	while (json_member(scan, &key)) {
		guint i = key.n == 1 ? (guint)(guchar)(*key.bytes - 'x') : 3;

		if (read_count(scan, G_MAXUINT32, &value) && i < 3)
			sizes[i] = (guint32)value;
	}
}

/* "4,2,1"; those that are left out are 1. */
static void parse_sizes(const gchar *text, guint32 *sizes)
{
	g_auto(GStrv) words = g_strsplit(text, ",", 4);
	guint n = g_strv_length(words);

	for (guint i = 0; i < 3 && n; i++)
		sizes[i] =
			i < n ? (guint32)MIN(g_ascii_strtoull(words[i], NULL, 10), G_MAXINT32) : 1;
}

/* XLA's "regs:32 static_shared:0 dynamic_shared:1024 grid:4,1,1 block:64,1,1 occ_pct:100". */
static void read_details(struct json_scan *scan, struct told *told)
{
	g_auto(GStrv) words = NULL;
	g_autofree gchar *plain = NULL;
	struct json_text text;
	guint32 one[3];

	if (json_peek(scan) != '"') {
		json_skip(scan);
		return;
	}
	if (!json_string(scan, &text))
		return;
	plain = json_text_dup(&text);
	words = g_strsplit(plain, " ", -1);
	for (guint i = 0; words[i]; i++) {
		const gchar *value = strchr(words[i], ':');

		one[0] = 0;
		if (!value)
			continue;
		parse_sizes(value + 1, one);
		if (g_str_has_prefix(words[i], "grid:"))
			parse_sizes(value + 1, told->shape.grid);
		else if (g_str_has_prefix(words[i], "block:"))
			parse_sizes(value + 1, told->shape.block);
		else if (g_str_has_prefix(words[i], "regs:"))
			told->shape.registers = one[0];
		else if (g_str_has_prefix(words[i], "static_shared:") ||
			 g_str_has_prefix(words[i], "dynamic_shared:"))
			told->shape.shared_bytes += one[0];
	}
}

static void read_inside(struct json_scan *scan, struct told *told);

static void read_member(struct json_scan *scan, const struct json_text *key, struct told *told)
{
	gint64 value;

#define IF_COUNT(name, field)                                                                      \
	if (JSON_TEXT_IS(key, name)) {                                                             \
		if (read_count(scan, G_MAXINT32, &value))                                          \
			told->field = (guint32)value;                                              \
		return;                                                                            \
	}
#define IF_MORE(name, field)                                                                       \
	if (JSON_TEXT_IS(key, name)) {                                                             \
		if (read_count(scan, G_MAXINT32, &value))                                          \
			told->field += (guint64)value;                                             \
		return;                                                                            \
	}
#define IF_FIGURE(name, field)                                                                     \
	if (JSON_TEXT_IS(key, name)) {                                                             \
		read_figure(scan, &told->field);                                                   \
		return;                                                                            \
	}
	KEYS(IF_COUNT, IF_MORE, IF_FIGURE)
#undef IF_COUNT
#undef IF_MORE
#undef IF_FIGURE
	if (JSON_TEXT_IS(key, "grid"))
		read_sizes(scan, told->shape.grid);
	else if (JSON_TEXT_IS(key, "block"))
		read_sizes(scan, told->shape.block);
	else if (JSON_TEXT_IS(key, "grid_size"))
		read_sizes(scan, told->threads);
	else if (JSON_TEXT_IS(key, "workgroup_size"))
		read_sizes(scan, told->shape.block);
	else if (JSON_TEXT_IS(key, "kernel_details"))
		read_details(scan, told);
	else if (JSON_TEXT_IS(key, "dispatch_info") && !told->is_inside)
		read_inside(scan, told);
	else if (JSON_TEXT_IS(key, "bytes") || JSON_TEXT_IS(key, "Bytes"))
		read_figure(scan, &told->bytes);
	else if (JSON_TEXT_IS(key, "memory bandwidth (GB/s)"))
		read_figure(scan, &told->gb_per_s);
	else
		json_skip(scan);
}

static void read_members(struct json_scan *scan, struct told *told)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key))
		read_member(scan, &key, told);
}

static void read_inside(struct json_scan *scan, struct told *told)
{
	told->is_inside = TRUE;
	read_members(scan, told);
	told->is_inside = FALSE;
}

/* FALSE: there are no args. */
static gboolean read_told(struct foreign_reader *reader, guint64 place, struct told *ret_told)
{
	g_autofree gchar *json = reader->args_json(reader, place), *copy = NULL;
	struct json_scan scan;

	if (!json)
		return FALSE;
	copy = json_scan_copy(&scan, json);
	*ret_told = (struct told){
		.shape = { .blocks_per_sm = NAN, .warps_per_sm = NAN, .occupancy_pct = NAN },
		.lead = { NAN, NAN },
	};
	read_members(&scan, ret_told);
	return TRUE;
}

/* --- what they tell ----------------------------------------------------------------------------- */

static gboolean is_told(const TachoLaunchShape *shape)
{
	return shape->grid[0] || shape->block[0] || shape->registers || shape->shared_bytes ||
	       !isnan(shape->blocks_per_sm) || !isnan(shape->warps_per_sm) ||
	       !isnan(shape->occupancy_pct);
}

gboolean device_args_launch_shape(struct foreign_reader *reader, guint64 place,
				  TachoLaunchShape *shape)
{
	struct told told;

	if (!read_told(reader, place, &told))
		return FALSE;
	for (guint i = 0; i < 3; i++)
		if (!told.shape.grid[i] && told.threads[i] && told.shape.block[i])
			told.shape.grid[i] = (told.threads[i] - 1) / told.shape.block[i] + 1;
	if (told.shape.blocks_per_sm <= 0)
		told.shape.blocks_per_sm = NAN;
	if (!is_told(&told.shape))
		return FALSE;
	*shape = told.shape;
	return TRUE;
}

gboolean device_args_copy(struct foreign_reader *reader, guint64 place, TachoCopyArgs *copy)
{
	TachoCopyArgs args = { 0 };
	struct told told;

	if (!read_told(reader, place, &told))
		return FALSE;
	if (told.bytes <= MAX_BYTES)
		args.bytes = (guint64)told.bytes;
	if (told.gb_per_s <= MAX_GB_PER_S)
		args.gb_per_s = told.gb_per_s;
	if (args.bytes == 0 && args.gb_per_s <= 0)
		return FALSE;
	*copy = args;
	return TRUE;
}

gboolean device_args_lead(struct foreign_reader *reader, guint64 place, TachoDeviceLead *lead)
{
	struct told told;

	if (!read_told(reader, place, &told) ||
	    (isnan(told.lead.queued_ns) && isnan(told.lead.submitted_ns)))
		return FALSE;
	*lead = told.lead;
	return TRUE;
}
