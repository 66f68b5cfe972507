#include "import/perfetto/perfetto_state.h"

#include "base/for_each.h"
#include "trace/clock_map.h"

enum { REALTIME = 1, FIRST_OF_SEQUENCE = 64, BEHIND_SEQUENCE = 128 };

/* --- names ---------------------------------------------------------------------------------- */

#define KIND_SHIFT 58 /* numbers above are not used for names */

struct perfetto_generation *perfetto_generation_new(void)
{
	struct perfetto_generation *generation = g_new0(struct perfetto_generation, 1);

	generation->names = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	return generation;
}

void perfetto_generation_free(gpointer data)
{
	struct perfetto_generation *generation = data;

	g_hash_table_unref(generation->names);
	g_free(generation);
}

/* An entry: its number, and a text. In a GPU's specification, the text is the name. */
static gboolean add_entry(struct perfetto_generation *generation, TachoTimeline *timeline,
			  guint32 kind, struct wire_cursor entry)
{
	struct wire_field field;
	enum wire_result result;
	const gchar *text = NULL;
	guint64 iid = 0, *key;
	gsize n = 0;

	while ((result = wire_cursor_next(&entry, &field)) == WIRE_FIELD) {
		if (field.number == 1 && field.type == WIRE_VARINT)
			iid = field.value;
		if (field.number == 2 && field.type == WIRE_BYTES) {
			text = (const gchar *)field.bytes;
			n = field.n_bytes;
		}
	}
	if (result != WIRE_END)
		return FALSE;
	if (!text || !iid || iid >> KIND_SHIFT)
		return TRUE;
	key = g_new(guint64, 1);
	*key = (guint64)kind << KIND_SHIFT | iid;
	if (g_utf8_validate(text, (gssize)n, NULL)) {
		g_hash_table_insert(
			generation->names, key,
			GUINT_TO_POINTER(tacho_timeline_intern(timeline, text, (gssize)n)));
	} else {
		g_autofree gchar *valid = g_utf8_make_valid(text, (gssize)n);

		g_hash_table_insert(generation->names, key,
				    GUINT_TO_POINTER(tacho_timeline_intern(timeline, valid, -1)));
	}
	return TRUE;
}

gboolean perfetto_generation_add(struct perfetto_generation *generation, TachoTimeline *timeline,
				 struct wire_cursor data)
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_cursor_next(&data, &field)) == WIRE_FIELD) {
		struct wire_cursor entry = perfetto_cursor(&field);

		switch (field.number) {
		case PERFETTO_CATEGORIES:
		case PERFETTO_EVENT_NAMES:
		case PERFETTO_ANNOTATION_NAMES:
		case PERFETTO_GPU_SPECIFICATIONS:
		case PERFETTO_STRING_VALUES:
			if (field.type != WIRE_BYTES ||
			    !add_entry(generation, timeline, field.number, entry))
				return FALSE;
			break;
		default: /* names of what is not read */
			break;
		}
	}
	return result == WIRE_END;
}

gboolean perfetto_generation_find(const struct perfetto_generation *generation,
				  enum perfetto_names kind, guint64 iid, guint32 *ret_text)
{
	guint64 key = (guint64)kind << KIND_SHIFT | iid;
	gpointer text;

	if (iid >> KIND_SHIFT ||
	    !g_hash_table_lookup_extended(generation->names, &key, NULL, &text))
		return FALSE;
	*ret_text = GPOINTER_TO_UINT(text);
	return TRUE;
}

/* --- clocks --------------------------------------------------------------------------------- */

/* A clock and the trace's own at one moment. */
struct clock_base {
	gint64 clock_ns, trace_ns;
	gint64 unit_ns; /* of the times in packets */
	gint64 last_ns; /* of an incremental clock: packets say what came since */
	gboolean is_incremental;
};

struct clock_reading {
	gint64 clock, time, unit_ns;
	gboolean is_incremental;
};

void perfetto_clocks_init(struct perfetto_clocks *clocks)
{
	*clocks = (struct perfetto_clocks){ .primary = PERFETTO_BOOTTIME };
	clocks->bases = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
}

void perfetto_clocks_release(struct perfetto_clocks *clocks)
{
	g_hash_table_unref(clocks->bases);
}

/* Numbers 64 to 127 are the sequence's own. */
static gint64 key_of(guint32 sequence, gint64 clock)
{
	gboolean is_own = clock >= FIRST_OF_SEQUENCE && clock < BEHIND_SEQUENCE;

	return (gint64)((guint64)(is_own ? sequence : 0) << 32 | ((guint64)clock & G_MAXUINT32));
}

static struct clock_base *find_base(const struct perfetto_clocks *clocks, guint32 sequence,
				    gint64 clock)
{
	gint64 key = key_of(sequence, clock);

	return g_hash_table_lookup(clocks->bases, &key);
}

static gint64 in_ns(gint64 time, gint64 unit_ns)
{
	gint64 result;

	return __builtin_mul_overflow(time, unit_ns, &result) ? TACHO_MAX_TIME_NS : result;
}

static gboolean read_clock(struct wire_cursor data, struct clock_reading *reading)
{
	struct wire_field field;
	enum wire_result result;

	*reading = (struct clock_reading){ .unit_ns = 1 };
	while ((result = wire_cursor_next(&data, &field)) == WIRE_FIELD) {
		if (field.type != WIRE_VARINT)
			continue;
		if (field.number == 1)
			reading->clock = (gint64)(field.value & G_MAXUINT32);
		else if (field.number == 2)
			reading->time = (gint64)field.value;
		else if (field.number == 3)
			reading->is_incremental = field.value != 0;
		else if (field.number == 4 && field.value)
			reading->unit_ns = (gint64)MIN(field.value, 1000000000);
	}
	return result == WIRE_END;
}

static gboolean read_snapshot(struct perfetto_clocks *clocks, struct wire_cursor snapshot,
			      GArray *readings)
{
	struct wire_field field;
	enum wire_result result;

	while ((result = wire_cursor_next(&snapshot, &field)) == WIRE_FIELD) {
		struct clock_reading reading;

		if (field.number == 2 && field.type == WIRE_VARINT && field.value)
			clocks->primary = (gint64)(field.value & G_MAXUINT32);
		if (field.number != 1 || field.type != WIRE_BYTES)
			continue;
		if (!read_clock(perfetto_cursor(&field), &reading))
			return FALSE;
		g_array_append_val(readings, reading);
	}
	return result == WIRE_END;
}

/* The trace's own time of a snapshot: as that clock says it, or as any that is known already. */
static gboolean find_trace_time(struct perfetto_clocks *clocks, guint32 sequence,
				const GArray *readings, gint64 *ret_ns)
{
	FOR_EACH(const struct clock_reading, reading, readings) {
		if (reading->clock == clocks->primary) {
			*ret_ns = reading->time;
			return TRUE;
		}
	}
	FOR_EACH(const struct clock_reading, reading, readings) {
		const struct clock_base *base = find_base(clocks, sequence, reading->clock);

		if (base && !base->is_incremental) {
			*ret_ns = clock_map_add(base->trace_ns,
						clock_map_add(in_ns(reading->time, base->unit_ns),
							      -base->clock_ns));
			return TRUE;
		}
	}
	return FALSE;
}

gboolean perfetto_clocks_note(struct perfetto_clocks *clocks, guint32 sequence,
			      struct wire_cursor snapshot)
{
	g_autoptr(GArray) readings = g_array_new(FALSE, FALSE, sizeof(struct clock_reading));
	gint64 trace_ns;

	if (!read_snapshot(clocks, snapshot, readings))
		return FALSE;
	if (!find_trace_time(clocks, sequence, readings, &trace_ns))
		return TRUE;
	FOR_EACH(const struct clock_reading, reading, readings) {
		struct clock_base *base = g_new0(struct clock_base, 1);
		gint64 key = key_of(sequence, reading->clock);

		base->unit_ns = reading->unit_ns;
		base->clock_ns = base->last_ns = in_ns(reading->time, reading->unit_ns);
		base->trace_ns = trace_ns;
		base->is_incremental = reading->is_incremental;
		g_hash_table_insert(clocks->bases, g_memdup2(&key, sizeof(key)), base);
		if (reading->clock == REALTIME && !clocks->day_ns)
			clocks->day_ns = clock_map_add(base->clock_ns, -trace_ns);
	}
	return TRUE;
}

gint64 perfetto_clocks_convert(struct perfetto_clocks *clocks, guint32 sequence, gint64 clock,
			       guint64 time, gboolean is_used)
{
	struct clock_base *base;
	gint64 time_ns = (gint64)MIN(time, (guint64)TACHO_MAX_TIME_NS);

	if (clock == clocks->primary)
		return time_ns;
	base = find_base(clocks, sequence, clock);
	if (!base) {
		clocks->n_unknown += is_used;
		return time_ns;
	}
	time_ns = in_ns(time_ns, base->unit_ns);
	if (base->is_incremental)
		time_ns = base->last_ns = clock_map_add(base->last_ns, time_ns);
	return clock_map_add(base->trace_ns, clock_map_add(time_ns, -base->clock_ns));
}
