/* chrome_export: a timeline as Chrome's Trace Event JSON, in its object form.
 * (1) Times are microseconds with three decimals, written from the integers: nothing is rounded.
 * (2) Integers that a double cannot hold are strings, except a counter's, which must be numbers.
 * (3) What overlaps (collectives) lies on rows of its own, with made-up thread ids, rather than in
 *     asynchronous b/e events: viewers draw no flow arrows to those.
 * (4) A flow's s and f stand right after their slice, at its begin: of slices that begin together
 *     only those around it are known then, so a viewer binds the arrow to the right one.
 * (5) Behind the events stands what tacho knows of the run, for tacho: viewers pass over members that they do not know,
 *     some of them over all that comes behind one. import/exported_run.h reads it.
 * The format: "Trace Event Format", docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include <tacho/export.h>

#include <errno.h>

#include "base/json_writer.h"
#include "base/number.h"
#include "export/export_walk.h"
#include "export/exported_rows.h"

#define MAX_EXACT_INTEGER (G_GINT64_CONSTANT(1) << 53) /* of a double */
#define NS_DECIMALS	  3			       /* of a microsecond */

struct chrome_export {
	const TachoTimeline *timeline;
	JsonWriter *json;
	GHashTable *counter_names; /* of BYTES and COUNTER tracks, by number */
};

/* --- values ----------------------------------------------------------------------------------- */

static void write_string(JsonWriter *json, const gchar *key, const gchar *value)
{
	json_writer_string(json_writer_key(json, key), value);
}

static void write_integer(JsonWriter *json, const gchar *key, gint64 value)
{
	gchar text[24];

	json_writer_key(json, key);
	if (value >= -MAX_EXACT_INTEGER && value <= MAX_EXACT_INTEGER) {
		json_writer_integer(json, value);
		return;
	}
	g_snprintf(text, sizeof(text), "%" G_GINT64_FORMAT, value);
	json_writer_string(json, text);
}

static void write_unsigned(JsonWriter *json, const gchar *key, guint64 value)
{
	gchar text[24];

	json_writer_key(json, key);
	if (value <= (guint64)MAX_EXACT_INTEGER) {
		json_writer_unsigned(json, value);
		return;
	}
	g_snprintf(text, sizeof(text), "%" G_GUINT64_FORMAT, value);
	json_writer_string(json, text);
}

static void write_us(JsonWriter *json, const gchar *key, gint64 ns)
{
	json_writer_fixed(json_writer_key(json, key), ns, NS_DECIMALS);
}

static void write_arg(JsonWriter *json, const struct slice_arg *arg)
{
	const gchar *key = slice_arg_key_name(arg->key);

	switch (arg->type) {
	case SLICE_ARG_TYPE_TRUE:
		json_writer_boolean(json_writer_key(json, key), TRUE);
		break;
	case SLICE_ARG_TYPE_INTEGER:
		write_integer(json, key, arg->integer);
		break;
	case SLICE_ARG_TYPE_UNSIGNED:
		write_unsigned(json, key, arg->number);
		break;
	case SLICE_ARG_TYPE_STRING:
		write_string(json, key, arg->string);
		break;
	}
}

static void write_args(JsonWriter *json, const struct slice_args *args)
{
	if (args->n == 0)
		return;
	json_writer_begin_object(json_writer_key(json, "args"));
	for (guint i = 0; i < args->n; i++)
		write_arg(json, &args->args[i]);
	json_writer_end_object(json);
}

/* The beginning of an event of phase `phase` ("X", "M" ...) on `track`. */
static void begin_event(JsonWriter *json, const gchar *phase, const struct export_track *track)
{
	json_writer_line(json);
	json_writer_begin_object(json);
	write_string(json, "ph", phase);
	write_integer(json, "pid", track->pid);
	if (track->tid)
		write_integer(json, "tid", track->tid);
}

/* --- tracks ----------------------------------------------------------------------------------- */

static void begin_metadata(JsonWriter *json, const struct export_track *track, const gchar *what)
{
	begin_event(json, "M", track);
	write_string(json, "name", what);
	json_writer_begin_object(json_writer_key(json, "args"));
}

static void end_metadata(JsonWriter *json)
{
	json_writer_end_object(json);
	json_writer_end_object(json);
}

static void write_row(JsonWriter *json, const struct export_track *track, const gchar *name_key,
		      const gchar *order_key)
{
	begin_metadata(json, track, name_key);
	write_string(json, "name", track->name);
	end_metadata(json);
	begin_metadata(json, track, order_key);
	write_integer(json, "sort_index", track->order);
	end_metadata(json);
}

static void write_track(const struct export_track *track, gpointer data)
{
	struct chrome_export *export = data;

	switch (track->kind) {
	case EXPORT_TRACK_PROCESS:
		write_row(export->json, track, "process_name", "process_sort_index");
		break;
	case EXPORT_TRACK_STEPS:
	case EXPORT_TRACK_THREAD:
	case EXPORT_TRACK_LANE:
		write_row(export->json, track, "thread_name", "thread_sort_index");
		break;
	case EXPORT_TRACK_BYTES:
	case EXPORT_TRACK_COUNTER:
	case EXPORT_TRACK_SHARE:
		g_hash_table_insert(export->counter_names, GUINT_TO_POINTER(track->number),
				    g_strdup(track->name));
		break;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static void write_flow(struct chrome_export *export, const struct export_track *track,
		       gint64 time_ns, const struct slice_link *link)
{
	const TachoFlow *flow = &g_array_index(export->timeline->flows, TachoFlow, link->row);
	const gchar *name = tacho_flow_kind_name((TachoFlowKind)flow->kind);
	JsonWriter *json = export->json;

	begin_event(json, link->kind == SLICE_LINK_FLOW_BEGIN ? "s" : "f", track);
	write_us(json, "ts", time_ns);
	write_integer(json, "id", (gint64)link->row + 1);
	write_string(json, "cat", name);
	write_string(json, "name", name);
	if (link->kind == SLICE_LINK_FLOW_END)
		write_string(json, "bp",
			     "e"); /* it ends at the slice around it, not the next one */
	json_writer_end_object(json);
}

static void write_slice(const struct export_track *track, const struct export_slice *slice,
			gpointer data)
{
	struct chrome_export *export = data;
	JsonWriter *json = export->json;

	begin_event(json, "X", track);
	write_us(json, "ts", slice->start_ns);
	write_us(json, "dur", slice->end_ns - slice->start_ns);
	write_string(json, "cat", slice->category);
	write_string(json, "name", slice->name);
	if (slice->is_open)
		write_string(json, "cname", "terrible"); /* red */
	write_args(json, slice->args);
	json_writer_end_object(json);
	for (guint32 i = 0; i < slice->n_links; i++)
		if (slice->links[i].kind != SLICE_LINK_COLLECTIVE)
			write_flow(export, track, slice->start_ns, &slice->links[i]);
}

static void write_moment(const struct export_track *track, const struct export_moment *moment,
			 gpointer data)
{
	struct chrome_export *export = data;
	JsonWriter *json = export->json;

	begin_event(json, "i", track);
	write_us(json, "ts", moment->time_ns);
	write_string(json, "s", track->kind == EXPORT_TRACK_PROCESS ? "p" : "t");
	write_string(json, "cat", moment->category);
	write_string(json, "name", moment->name);
	write_args(json, moment->args);
	json_writer_end_object(json);
}

/* Up to the value, which is written next. */
static JsonWriter *begin_count(struct chrome_export *export, const struct export_track *track,
			       gint64 time_ns, const gchar *unit)
{
	JsonWriter *json = export->json;

	begin_event(json, "C", track);
	write_us(json, "ts", time_ns);
	write_string(json, "name",
		     g_hash_table_lookup(export->counter_names, GUINT_TO_POINTER(track->number)));
	json_writer_begin_object(json_writer_key(json, "args"));
	json_writer_key(json, unit);
	return json;
}

static void end_count(JsonWriter *json)
{
	json_writer_end_object(json);
	json_writer_end_object(json);
}

static void write_count(const struct export_track *track, gint64 time_ns, gdouble value,
			gpointer data)
{
	JsonWriter *json = begin_count(data, track, time_ns,
				       track->kind == EXPORT_TRACK_BYTES ? "bytes" : "value");

	if (number_is_whole(value))
		json_writer_integer(json, (gint64)value);
	else
		json_writer_number(json, value);
	end_count(json);
}

static void write_share(const struct export_track *track, gint64 time_ns, gdouble percent,
			gpointer data)
{
	JsonWriter *json = begin_count(data, track, time_ns, "percent");

	json_writer_number(json, percent);
	end_count(json);
}

/* --- the whole -------------------------------------------------------------------------------- */

static gboolean has_failed(gpointer data)
{
	return json_writer_failed(((struct chrome_export *)data)->json);
}

static void write_head(const struct chrome_export *export)
{
	JsonWriter *json = export->json;

	write_string(json, "displayTimeUnit", "ns");
	json_writer_line(json);
	json_writer_begin_object(json_writer_key(json, "otherData"));
	write_string(json, "producer", "tacho " TACHO_VERSION);
	write_integer(json, "origin_unix_ns", export->timeline->origin_unix_ns);
	json_writer_end_object(json);
	json_writer_line(json);
}

static void write_block(const guint8 *block, gsize n_bytes, gpointer data)
{
	JsonWriter *json = data;
	g_autofree gchar *text = g_base64_encode(block, n_bytes);

	json_writer_line(json);
	json_writer_string(json, text);
}

static gboolean write_run(const struct chrome_export *export, const TachoExportOptions *options,
			  GError **error)
{
	JsonWriter *json = export->json;
	guint64 n_bytes;
	guint32 crc;
	gboolean is_written;

	json_writer_sum(json, &n_bytes, &crc);
	json_writer_line(json);
	json_writer_begin_object(json_writer_key(json, "tachoRun"));
	json_writer_unsigned(json_writer_key(json, "bytes"), n_bytes);
	json_writer_unsigned(json_writer_key(json, "crc32"), crc);
	json_writer_begin_array(json_writer_key(json, "blocks"));
	is_written = exported_rows_write(export->timeline, options, write_block, json, error);
	json_writer_end_array(json);
	json_writer_end_object(json);
	return is_written;
}

gboolean tacho_export_chrome(const TachoTimeline *timeline, const TachoExportOptions *options,
			     FILE *out, GError **error)
{
	static const struct export_target target = {
		write_track, write_slice, NULL, write_moment, write_count, write_share, has_failed,
	};
	g_autoptr(JsonWriter) json = json_writer_new(out);
	g_autoptr(GHashTable) counter_names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	struct chrome_export export = { timeline, json, counter_names };

	json_writer_begin_object(json);
	write_head(&export);
	json_writer_begin_array(json_writer_key(json, "traceEvents"));
	if (!export_walk(timeline, options, &target, &export, error))
		return FALSE;
	json_writer_line(json);
	json_writer_end_array(json);
	if (!write_run(&export, options, error))
		return FALSE;
	json_writer_end_object(json);
	if (json_writer_finish(json))
		return TRUE;
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO, g_strerror(errno));
	return FALSE;
}
