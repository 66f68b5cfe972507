#include "import/xla/xplane_json.h"

static void write_value(JsonWriter *writer, const struct xplane_plane *plane,
			const Tacho__Xplane__XStat *stat, const TachoTimeline *timeline)
{
	if (stat->has_str_value && !stat->str_value.len) {
		json_writer_string(writer, "");
	} else if (stat->has_str_value) {
		json_writer_string_length(writer, (const gchar *)stat->str_value.data,
					  stat->str_value.len);
	} else if (stat->has_ref_value) {
		json_writer_string(
			writer,
			tacho_timeline_string(timeline,
					      xplane_stat_name(plane, (gint64)stat->ref_value)));
	} else if (stat->has_uint64_value) {
		json_writer_unsigned(writer, stat->uint64_value);
	} else if (stat->has_int64_value) {
		json_writer_integer(writer, stat->int64_value);
	} else if (stat->has_double_value) {
		json_writer_number(writer, stat->double_value);
	} else if (stat->has_bytes_value) {
		json_writer_begin_object(writer);
		json_writer_unsigned(json_writer_key(writer, "bytes"), stat->bytes_value.len);
		json_writer_end_object(writer);
	} else {
		json_writer_null(writer);
	}
}

void xplane_json_stats(JsonWriter *writer, const struct xplane_plane *plane,
		       Tacho__Xplane__XStat *const *values, gsize n, const TachoTimeline *timeline)
{
	for (gsize i = 0; i < n; i++) {
		guint32 name = xplane_stat_name(plane, values[i]->metadata_id);
		g_autofree gchar *unnamed = NULL;

		if (!name)
			unnamed = g_strdup_printf("stat %" G_GINT64_FORMAT, values[i]->metadata_id);
		json_writer_key(writer, name ? tacho_timeline_string(timeline, name) : unnamed);
		write_value(writer, plane, values[i], timeline);
	}
}
