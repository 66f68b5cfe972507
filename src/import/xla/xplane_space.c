/* Three walks of each plane: its lines' heads and the names of its stats; what it says of its kinds of event,
 * in stats; and, by others, its events. */
#include "import/xla/xplane_space.h"

#include <string.h>

#include "base/for_each.h"
#include "base/json_memory.h"
#include "import/xla/xplane_json.h"

enum {
	MAX_NAME_BYTES = 64 * 1024,
	MAX_ENTRY_BYTES = 64 * 1024 * 1024, /* what is told of a kind may hold a whole program */
	MAX_LINES = 1 << 16,		    /* of a plane */
	MAX_KINDS = 1 << 22,
	MAX_NOTES_BYTES = 4096,
	MAX_NOTES = 256,
};

typedef Tacho__Xplane__XStat XStat;
typedef Tacho__Xplane__XEventMetadataEntry KindEntry;
typedef Tacho__Xplane__XStatMetadataEntry StatEntry;

struct space_reading {
	struct xplane_space *space;
	struct xplane_plane *plane;
	wire_walk *walk;
	struct proto_arena *arena;
	TachoTimeline *timeline;
	JsonWriter *notes; /* of the plane's stats; NULL: no memory */
	guint n_notes;
};

/* --- planes --------------------------------------------------------------------------------- */

static struct xplane_plane *plane_new(guint64 offset)
{
	struct xplane_plane *plane = g_new0(struct xplane_plane, 1);

	plane->offset = offset;
	plane->lines = g_array_new(FALSE, TRUE, sizeof(struct xplane_line));
	plane->kinds = g_array_new(FALSE, TRUE, sizeof(struct xplane_kind));
	plane->stat_names = g_array_new(FALSE, FALSE, sizeof(guint32));
	plane->stat_known = g_array_new(FALSE, FALSE, sizeof(guint8));
	id_table_init(&plane->kind_rows);
	id_table_init(&plane->stat_rows);
	return plane;
}

static void plane_free(gpointer data)
{
	struct xplane_plane *plane = data;

	g_array_unref(plane->lines);
	g_array_unref(plane->kinds);
	g_array_unref(plane->stat_names);
	g_array_unref(plane->stat_known);
	id_table_release(&plane->kind_rows);
	id_table_release(&plane->stat_rows);
	g_free(plane->stats_json);
	g_free(plane);
}

void xplane_space_release(struct xplane_space *space)
{
	g_ptr_array_unref(space->planes);
	g_array_unref(space->problems);
}

void xplane_space_report(const struct xplane_space *space, TachoTimeline *timeline)
{
	FOR_EACH(const struct xplane_problem, problem, space->problems)
		tacho_timeline_add_problem(timeline, problem->kind, 1, "%s", problem->where);
}

static void clear_problem(gpointer problem)
{
	g_free(((struct xplane_problem *)problem)->where);
}

guint32 xplane_stat_name(const struct xplane_plane *plane, gint64 id)
{
	guint32 row = id_table_find(&plane->stat_rows, id);

	return row < plane->stat_names->len ? g_array_index(plane->stat_names, guint32, row) : 0;
}

const struct xplane_kind *xplane_find_kind(const struct xplane_plane *plane, gint64 id)
{
	guint32 row = id_table_find(&plane->kind_rows, id);

	return row < plane->kinds->len ? &g_array_index(plane->kinds, struct xplane_kind, row)
				       : NULL;
}

/* --- stats ---------------------------------------------------------------------------------- */

static enum xplane_stat known_stat(const gchar *name)
{
	static const gchar *const names[] = {
#define XPLANE_STAT_NAME(enumerator, name) #name,
		XPLANE_KNOWN_STATS(XPLANE_STAT_NAME)
#undef XPLANE_STAT_NAME
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum xplane_stat)(i + 1);
	return XPLANE_STAT_UNKNOWN;
}

static void add_stat(struct xplane_stats *stats, const struct xplane_plane *plane,
		     const XStat *value, TachoTimeline *timeline)
{
	guint32 row = id_table_find(&plane->stat_rows, value->metadata_id);
	guint8 stat = row < plane->stat_known->len ? g_array_index(plane->stat_known, guint8, row)
						   : XPLANE_STAT_UNKNOWN;

	if (stat == XPLANE_STAT_UNKNOWN)
		return;
	stats->present |= 1u << stat;
	stats->numbers[stat] = 0;
	stats->texts[stat] = 0;
	if (value->has_uint64_value)
		stats->numbers[stat] = value->uint64_value;
	else if (value->has_int64_value)
		stats->numbers[stat] = (guint64)value->int64_value;
	else if (value->has_double_value && value->double_value >= 0 &&
		 value->double_value < (gdouble)G_MAXINT64)
		stats->numbers[stat] = (guint64)value->double_value;
	else if (value->has_ref_value)
		stats->texts[stat] = xplane_stat_name(plane, (gint64)value->ref_value);
	else if (value->has_str_value && timeline && value->str_value.len &&
		 value->str_value.len <= MAX_NAME_BYTES)
		stats->texts[stat] =
			tacho_timeline_intern(timeline, (const gchar *)value->str_value.data,
					      (gssize)value->str_value.len);
	if (stat == XPLANE_STAT_FRAGMENTATION)
		stats->fragmentation = value->has_double_value ? value->double_value
							       : (gdouble)stats->numbers[stat];
}

void xplane_stats_add(struct xplane_stats *stats, const struct xplane_plane *plane,
		      XStat *const *values, gsize n, TachoTimeline *timeline)
{
	for (gsize i = 0; i < n; i++)
		add_stat(stats, plane, values[i], timeline);
}

/* --- fields --------------------------------------------------------------------------------- */

static guint32 intern_bytes(struct space_reading *reading, const guint8 *bytes, gsize n)
{
	return n ? tacho_timeline_intern(reading->timeline, (const gchar *)bytes, (gssize)n) : 0;
}

static guint32 load_text(struct space_reading *reading, struct wire_field *field, gsize max_bytes)
{
	if (!wire_walk_load(reading->walk, field, max_bytes))
		return 0;
	return intern_bytes(reading, field->bytes, (gsize)field->n_bytes);
}

static void add_problem(struct space_reading *reading)
{
	struct xplane_problem problem = { .kind = wire_walk_problem_kind(reading->walk) };

	if (!wire_walk_problem(reading->walk))
		return;
	problem.where = g_strdup(wire_walk_problem(reading->walk));
	g_array_append_val(reading->space->problems, problem);
}

/* Unpack the field's message; NULL: it is none. */
static void *load_message(struct space_reading *reading, struct wire_field *field,
			  const ProtobufCMessageDescriptor *descriptor)
{
	void *message = NULL;

	if (wire_walk_load(reading->walk, field, MAX_ENTRY_BYTES))
		message = proto_arena_unpack(reading->arena, descriptor, field->bytes,
					     (gsize)field->n_bytes);
	if (!message)
		reading->space->n_dropped++;
	return message;
}

/* --- lines ---------------------------------------------------------------------------------- */

static void read_line_field(struct space_reading *reading, struct wire_field *field,
			    struct xplane_line *line)
{
	switch (field->number) {
	case XLINE_ID:
		line->id = wire_signed(field);
		break;
	case XLINE_NAME:
		if (!line->name)
			line->name = load_text(reading, field, MAX_NAME_BYTES);
		break;
	case XLINE_DISPLAY_NAME:
		line->name = load_text(reading, field, MAX_NAME_BYTES) ?: line->name;
		break;
	case XLINE_TIMESTAMP_NS:
		line->timestamp_ns = wire_signed(field);
		break;
	case XLINE_EVENTS:
		line->n_events++;
		break;
	case XLINE_DURATION_PS:
	case XLINE_DISPLAY_ID:
		break;
	default:
		reading->space->n_unknown++;
	}
}

static enum wire_result read_line(struct space_reading *reading, guint64 offset)
{
	struct xplane_line line = { .offset = offset };
	struct wire_field field;
	enum wire_result result;

	if (reading->plane->lines->len == MAX_LINES) {
		reading->space->n_dropped++;
		return WIRE_END;
	}
	wire_walk_enter(reading->walk);
	while ((result = wire_walk_next(reading->walk, &field)) == WIRE_FIELD)
		read_line_field(reading, &field, &line);
	g_array_append_val(reading->plane->lines, line);
	return result;
}

/* --- what a plane says of its events -------------------------------------------------------- */

static void read_stat_name(struct space_reading *reading, struct wire_field *field)
{
	const StatEntry *entry =
		load_message(reading, field, &tacho__xplane__xstat_metadata_entry__descriptor);
	struct xplane_plane *plane = reading->plane;
	guint32 name = 0;
	guint8 known;

	if (!entry || plane->stat_names->len == MAX_KINDS)
		return;
	if (entry->value)
		name = intern_bytes(reading, entry->value->name.data, entry->value->name.len);
	known = (guint8)known_stat(tacho_timeline_string(reading->timeline, name));
	id_table_set(&plane->stat_rows, entry->key, plane->stat_names->len);
	g_array_append_val(plane->stat_names, name);
	g_array_append_val(plane->stat_known, known);
}

static void read_kind(struct space_reading *reading, struct wire_field *field)
{
	const KindEntry *entry =
		load_message(reading, field, &tacho__xplane__xevent_metadata_entry__descriptor);
	struct xplane_plane *plane = reading->plane;
	struct xplane_kind kind = { .offset = field->offset };
	struct xplane_stats stats = { 0 };

	if (!entry || plane->kinds->len == MAX_KINDS)
		return;
	if (entry->value) {
		ProtobufCBinaryData text = entry->value->display_name.len
						   ? entry->value->display_name
						   : entry->value->name;

		kind.name = intern_bytes(reading, text.data, MIN(text.len, MAX_NAME_BYTES));
		xplane_stats_add(&stats, plane, entry->value->stats, entry->value->n_stats,
				 reading->timeline);
	}
	kind.category = stats.texts[XPLANE_STAT_CATEGORY];
	kind.flops = stats.numbers[XPLANE_STAT_FLOPS];
	kind.bytes = stats.numbers[XPLANE_STAT_BYTES];
	kind.has_hlo_op = xplane_stats_have(&stats, XPLANE_STAT_HLO_OP);
	kind.has_tf_op = xplane_stats_have(&stats, XPLANE_STAT_TF_OP);
	id_table_set(&plane->kind_rows, entry->key, plane->kinds->len);
	g_array_append_val(plane->kinds, kind);
}

static void read_plane_stat(struct space_reading *reading, struct wire_field *field)
{
	XStat *stat = load_message(reading, field, &tacho__xplane__xstat__descriptor);

	if (!stat)
		return;
	xplane_stats_add(&reading->plane->stats, reading->plane, &stat, 1, reading->timeline);
	if (reading->notes && reading->n_notes++ < MAX_NOTES)
		xplane_json_stats(reading->notes, reading->plane, &stat, 1, reading->timeline);
}

static enum wire_result read_names_field(struct space_reading *reading, struct wire_field *field)
{
	switch (field->number) {
	case XPLANE_NAME:
		reading->plane->name = load_text(reading, field, MAX_NAME_BYTES);
		break;
	case XPLANE_LINES:
		if (field->type == WIRE_BYTES)
			return read_line(reading, field->offset);
		break;
	case XPLANE_STAT_METADATA:
		read_stat_name(reading, field);
		break;
	case XPLANE_ID:
	case XPLANE_EVENT_METADATA:
	case XPLANE_STATS:
		break;
	default:
		reading->space->n_unknown++;
	}
	return WIRE_END;
}

static enum wire_result read_kinds_field(struct space_reading *reading, struct wire_field *field)
{
	if (field->number == XPLANE_EVENT_METADATA)
		read_kind(reading, field);
	else if (field->number == XPLANE_STATS)
		read_plane_stat(reading, field);
	return WIRE_END;
}

/* Walk the plane once; FALSE: it is broken or cut. */
static gboolean walk_plane(struct space_reading *reading,
			   enum wire_result (*read)(struct space_reading *reading,
						    struct wire_field *field))
{
	struct wire_field field;
	enum wire_result result;

	if (!wire_walk_seek(reading->walk, reading->plane->offset) ||
	    wire_walk_next(reading->walk, &field) != WIRE_FIELD || !wire_walk_enter(reading->walk))
		return FALSE;
	while ((result = wire_walk_next(reading->walk, &field)) == WIRE_FIELD)
		if (read(reading, &field) != WIRE_END)
			return FALSE;
	return result == WIRE_END;
}

static void read_kinds(struct space_reading *reading)
{
	struct json_memory memory;

	reading->notes = json_memory_begin(&memory);
	reading->n_notes = 0;
	if (reading->notes)
		json_writer_begin_object(reading->notes);
	walk_plane(reading, read_kinds_field);
	if (!reading->notes)
		return;
	json_writer_end_object(reading->notes);
	if (reading->n_notes)
		reading->plane->stats_json = json_memory_take(&memory, reading->notes);
	else
		json_memory_drop(&memory, reading->notes);
}

/* (2) */
static void read_plane(struct space_reading *reading, guint64 offset)
{
	reading->plane = plane_new(offset);
	g_ptr_array_add(reading->space->planes, reading->plane);
	if (!walk_plane(reading, read_names_field))
		add_problem(reading);
	read_kinds(reading);
	if (xplane_stats_have(&reading->plane->stats, XPLANE_STAT_START_TIME))
		reading->space->start_unix_ns =
			(gint64)reading->plane->stats.numbers[XPLANE_STAT_START_TIME];
}

/* --- the file ------------------------------------------------------------------------------- */

static void read_space_field(struct space_reading *reading, struct wire_field *field)
{
	struct xplane_space *space = reading->space;

	switch (field->number) {
	case XSPACE_PLANES:
		if (field->type == WIRE_BYTES && space->planes->len < MAX_LINES)
			read_plane(reading, field->offset);
		break;
	case XSPACE_HOSTNAMES:
		if (!space->host)
			space->host = load_text(reading, field, MAX_NAME_BYTES);
		break;
	case XSPACE_ERRORS:
		if (!space->errors)
			space->errors = load_text(reading, field, MAX_NOTES_BYTES);
		break;
	case XSPACE_WARNINGS:
		if (!space->warnings)
			space->warnings = load_text(reading, field, MAX_NOTES_BYTES);
		break;
	default:
		space->n_unknown++;
	}
}

void xplane_space_read(struct xplane_space *space, wire_walk *walk, struct proto_arena *arena,
		       TachoTimeline *timeline)
{
	struct space_reading reading = {
		.space = space, .walk = walk, .arena = arena, .timeline = timeline
	};
	struct wire_field field;
	enum wire_result result;

	*space = (struct xplane_space){
		.planes = g_ptr_array_new_with_free_func(plane_free),
		.problems = g_array_new(FALSE, FALSE, sizeof(struct xplane_problem)),
	};
	g_array_set_clear_func(space->problems, clear_problem);
	while ((result = wire_walk_next(walk, &field)) == WIRE_FIELD) {
		guint64 behind = wire_walk_offset(walk);
		guint n_problems = space->problems->len;

		read_space_field(&reading, &field);
		if (!wire_walk_seek(walk, behind) && space->problems->len > n_problems)
			return; /* the plane is cut, which has been told */
	}
	if (result != WIRE_END)
		add_problem(&reading);
}
