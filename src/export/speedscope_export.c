/* speedscope_export: stacks over time as speedscope.app shows them: a profile for each thread, in which every slice is opened
 * and closed. What overlaps on a track goes to further profiles of its name (track_walk.h).
 * The format: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts. */
#include <tacho/export.h>

#include "base/for_each.h"
#include "base/json_writer.h"
#include "export/export_output.h"
#include "export/source_place.h"
#include "export/track_walk.h"
#include "export/viewer_ids.h"

struct event {
	gint64 at_ns;
	guint32 frame;
	gboolean is_close;
};

struct speedscope_export {
	const TachoTimeline *timeline;
	JsonWriter *json;
	GHashTable *frames; /* string id -> its frame + 1 */
	GArray *names;	    /* guint32 string id, by frame */
	GPtrArray *lanes;   /* GArray of struct event, of the track that is walked */
};

/* --- frames ----------------------------------------------------------------------------------- */

static guint32 frame_of(struct speedscope_export *export, guint32 slice)
{
	guint32 name = export->timeline->slices.name[slice];
	guint32 frame =
		GPOINTER_TO_UINT(g_hash_table_lookup(export->frames, GUINT_TO_POINTER(name)));

	if (frame)
		return frame - 1;
	g_array_append_val(export->names, name);
	g_hash_table_insert(export->frames, GUINT_TO_POINTER(name),
			    GUINT_TO_POINTER(export->names->len));
	return export->names->len - 1;
}

/* The whole name: it tells lines of one function apart. */
static void write_frame(struct speedscope_export *export, guint32 name)
{
	const gchar *text = tacho_timeline_string(export->timeline, name), *function;
	gint64 line;
	g_autofree gchar *file = source_place_take_file(text, &line, &function);
	JsonWriter *json = export->json;

	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "name"), text);
	if (file) {
		json_writer_string(json_writer_key(json, "file"), file);
		json_writer_integer(json_writer_key(json, "line"), line);
	}
	json_writer_end_object(json);
}

/* --- profiles --------------------------------------------------------------------------------- */

static void add_event(struct speedscope_export *export, guint lane, struct event event)
{
	while (lane >= export->lanes->len)
		g_ptr_array_add(export->lanes, g_array_new(FALSE, FALSE, sizeof(event)));
	g_array_append_val((GArray *)export->lanes->pdata[lane], event);
}

static void begin_slice(guint32 slice, guint lane, gpointer data)
{
	struct speedscope_export *export = data;
	struct event event = { export->timeline->slices.start_ns[slice], frame_of(export, slice),
			       FALSE };

	add_event(export, lane, event);
}

static void end_slice(guint32 slice, guint lane, gpointer data)
{
	struct speedscope_export *export = data;
	struct event event = { tacho_slice_end_ns(export->timeline, slice), frame_of(export, slice),
			       TRUE };

	add_event(export, lane, event);
}

static void ignore_mark(guint32 row, gpointer data)
{
	(void)row, (void)data;
}

static void write_profile(struct speedscope_export *export, const gchar *name, const GArray *events)
{
	JsonWriter *json = export->json;
	gint64 end_ns = 0;

	FOR_EACH(const struct event, event, events)
		end_ns = MAX(end_ns, event->at_ns);
	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "type"), "evented");
	json_writer_string(json_writer_key(json, "name"), name);
	json_writer_string(json_writer_key(json, "unit"), "nanoseconds");
	json_writer_integer(json_writer_key(json, "startValue"),
			    g_array_index(events, struct event, 0).at_ns);
	json_writer_integer(json_writer_key(json, "endValue"), end_ns);
	json_writer_begin_array(json_writer_key(json, "events"));
	FOR_EACH(const struct event, event, events) {
		json_writer_line(json);
		json_writer_begin_object(json);
		json_writer_string(json_writer_key(json, "type"), event->is_close ? "C" : "O");
		json_writer_integer(json_writer_key(json, "at"), event->at_ns);
		json_writer_unsigned(json_writer_key(json, "frame"), event->frame);
		json_writer_end_object(json);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
}

static void write_track(struct speedscope_export *export, const struct export_scope *scope,
			guint32 track)
{
	static const struct track_walk_handlers handlers = { begin_slice, end_slice, ignore_mark };
	const TachoTrack *row = tacho_timeline_track(export->timeline, track);
	g_autofree gchar *process = viewer_process_name(export->timeline, row->process);
	g_autofree gchar *thread = viewer_track_name(export->timeline, track);
	g_autofree gchar *name = g_strdup_printf("%s %s", process, thread);

	export->lanes = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	track_walk(scope, track, NULL, 0, &handlers, export);
	FOR_EACH_POINTER(const GArray, events, export->lanes)
		write_profile(export, name, events);
	g_ptr_array_unref(export->lanes);
}

static void write_all(struct speedscope_export *export, const struct export_scope *scope)
{
	JsonWriter *json = export->json;

	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "$schema"),
			   "https://www.speedscope.app/file-format-schema.json");
	json_writer_string(json_writer_key(json, "exporter"), "tacho " TACHO_VERSION);
	json_writer_begin_array(json_writer_key(json, "profiles"));
	for (guint32 track = 0; track < export->timeline->tracks->len && !json_writer_failed(json);
	     track++)
		write_track(export, scope, track);
	json_writer_end_array(json);
	json_writer_begin_object(json_writer_key(json, "shared"));
	json_writer_begin_array(json_writer_key(json, "frames"));
	FOR_EACH(const guint32, name, export->names) {
		json_writer_line(json);
		write_frame(export, *name);
	}
	json_writer_end_array(json);
	json_writer_end_object(json);
	json_writer_end_object(json);
}

gboolean tacho_export_speedscope(const TachoTimeline *timeline, const TachoExportOptions *options,
				 FILE *out, GError **error)
{
	g_autoptr(GHashTable) frames = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) names = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(JsonWriter) json = json_writer_new(out);
	struct speedscope_export export = {
		.timeline = timeline, .json = json, .frames = frames, .names = names
	};
	struct export_scope scope;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	write_all(&export, &scope);
	export_scope_release(&scope);
	json_writer_finish(json); /* what failed, export_output_finish() tells */
	return export_output_finish(out, options, error);
}
