#include "trace/window_updates.h"

#include <string.h>

#include "base/for_each.h"
#include "base/mapped_file.h"
#include "base/order.h"
#include "trace/record.h"
#include "trace/region_kind.h"
#include "trace/string_table.h"
#include "trace/trace_layout.h"

#define NOT_OVER G_MAXINT64

struct update_region {
	const struct mapped_file *file;
	guint64 offset;
};

void window_updates_init(struct window_updates *updates)
{
	updates->regions = g_array_new(FALSE, FALSE, sizeof(struct update_region));
	updates->class_is = g_byte_array_new();
	updates->has_unknown = FALSE;
}

void window_updates_release(struct window_updates *updates)
{
	g_array_unref(updates->regions);
	g_byte_array_unref(updates->class_is);
}

gboolean window_updates_learn(struct window_updates *updates, const struct trace_metadata *metadata,
			      const struct tacho_string_table *strings, guint32 class_id)
{
	guint8 known = CLASS_IS_OTHER, kind;
	guint n = updates->class_is->len;

	if (class_id >= metadata->n_classes ||
	    metadata->classes[class_id].kind == TRACE_CLASS_UNDECLARED) {
		updates->has_unknown = TRUE;
		return FALSE;
	}
	kind = metadata->classes[class_id].kind;
	if ((kind == TRACE_KIND_OP || kind == TRACE_KIND_ANNOTATION || kind == TRACE_KIND_SPAN) &&
	    region_text_updates(string_table_borrow(strings, metadata->classes[class_id].name)))
		known = CLASS_IS_UPDATE;
	if (n <= class_id) {
		g_byte_array_set_size(updates->class_is, metadata->n_classes);
		memset(updates->class_is->data + n, CLASS_IS_UNKNOWN, metadata->n_classes - n);
	}
	updates->class_is->data[class_id] = known;
	return known == CLASS_IS_UPDATE;
}

void window_updates_add(struct window_updates *updates, const struct mapped_file *file,
			guint64 offset)
{
	struct update_region region = { .file = file, .offset = offset };

	g_array_append_val(updates->regions, region);
}

void window_updates_forget(struct window_updates *updates, const struct mapped_file *file)
{
	guint n = 0;

	FOR_EACH(const struct update_region, region, updates->regions)
		if (region->file != file)
			g_array_index(updates->regions, struct update_region, n++) = *region;
	g_array_set_size(updates->regions, n);
}

/* Unix time. What cannot be, as the file has changed, ended long ago. */
static gint64 end_of(const struct update_region *region, const struct trace_clock *clock)
{
	const struct record_slice *slice = (gconstpointer)(region->file->bytes + region->offset);
	guint64 duration, end;

	if (region->offset + sizeof(*slice) > region->file->size_bytes)
		return G_MININT64;
	duration = __atomic_load_n(&slice->duration, __ATOMIC_RELAXED);
	if (duration == TRACE_OPEN)
		return NOT_OVER;
	if (__builtin_add_overflow(slice->header.stamp, duration, &end) || end > clock->max_ticks)
		return G_MININT64;
	return trace_clock_unix_ns(clock, end);
}

void window_updates_cut(struct window_updates *updates, const struct trace_clock *clock,
			gint64 cut_unix_ns)
{
	guint n = 0;

	FOR_EACH(const struct update_region, region, updates->regions)
		if (end_of(region, clock) > cut_unix_ns)
			g_array_index(updates->regions, struct update_region, n++) = *region;
	g_array_set_size(updates->regions, n);
}

static gint compare_times(gconstpointer a, gconstpointer b)
{
	return ORDER(*(const gint64 *)a, *(const gint64 *)b);
}

GArray *window_updates_list(const struct window_updates *updates, const struct trace_clock *clock)
{
	GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));

	FOR_EACH(const struct update_region, region, updates->regions) {
		gint64 end_ns = end_of(region, clock);

		if (end_ns != NOT_OVER && end_ns != G_MININT64)
			g_array_append_val(ends, end_ns);
	}
	g_array_sort(ends, compare_times);
	return ends;
}
