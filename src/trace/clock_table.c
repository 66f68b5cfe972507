#include "trace/clock_table.h"

#include "trace/trace_metadata.h"

#define NS_PER_S 1000000000

struct known_clock {
	guint32 boot_id, host, source; /* string ids */
	gint64 ahead_ns;	       /* by its time namespace */
	struct trace_clock calibration;
	guint32 row; /* TACHO_NONE: there is none yet */
};

void clock_table_release(struct clock_table *table)
{
	g_clear_pointer(&table->clocks, g_array_unref);
}

static gboolean is_same_machine(const TachoTimeline *timeline, const struct known_clock *known,
				const struct trace_metadata *metadata)
{
	if (known->boot_id != metadata->boot_id || known->source != metadata->clock_source)
		return FALSE;
	return known->host == metadata->host ||
	       *tacho_timeline_string(timeline, metadata->boot_id) != '\0';
}

static gboolean is_equal(const struct trace_clock *a, const struct trace_clock *b)
{
	return a->frequency_hz == b->frequency_hz && a->offset_ns == b->offset_ns &&
	       a->offset_ticks == b->offset_ticks;
}

/* The known clock's calibration for a process whose ticks are `further_ns` ahead of its: (2). False
 * where it cannot be told. */
static gboolean translate(const struct known_clock *known, gint64 further_ns,
			  struct trace_clock *ret_clock)
{
	const struct trace_clock *clock = &known->calibration;
	gint64 offset_ns;

	*ret_clock = *clock;
	if (further_ns == 0)
		return TRUE;
	if (clock->frequency_hz != NS_PER_S ||
	    __builtin_sub_overflow(clock->offset_ns + (gint64)clock->offset_ticks, further_ns,
				   &offset_ns) ||
	    offset_ns < 0)
		return FALSE;
	return trace_clock_init(ret_clock, NS_PER_S, (guint64)offset_ns / NS_PER_S,
				(guint64)offset_ns % NS_PER_S);
}

/* Whether the process has that clock; its calibration is then the clock's. */
static gboolean adopt(const TachoTimeline *timeline, const struct known_clock *known,
		      struct trace_metadata *metadata, guint64 ticks)
{
	struct trace_clock shared;
	gint64 further_ns, apart_ns;

	if (!is_same_machine(timeline, known, metadata) ||
	    __builtin_sub_overflow(metadata->monotonic_ahead_ns, known->ahead_ns, &further_ns) ||
	    !translate(known, further_ns, &shared))
		return FALSE;
	if (is_equal(&shared, &metadata->clock))
		return TRUE;
	/* What the ticks count is not known. */
	if (*tacho_timeline_string(timeline, metadata->clock_source) == '\0' ||
	    ticks > MIN(shared.max_ticks, metadata->clock.max_ticks))
		return FALSE;
	apart_ns =
		trace_clock_unix_ns(&shared, ticks) - trace_clock_unix_ns(&metadata->clock, ticks);
	if (ABS(apart_ns) > CLOCK_TABLE_SAME_NS)
		return FALSE;
	metadata->clock = shared;
	return TRUE;
}

guint clock_table_share(struct clock_table *table, const TachoTimeline *timeline,
			struct trace_metadata *metadata, guint64 ticks)
{
	struct known_clock clock = { .boot_id = metadata->boot_id,
				     .host = metadata->host,
				     .source = metadata->clock_source,
				     .ahead_ns = metadata->monotonic_ahead_ns,
				     .calibration = metadata->clock,
				     .row = TACHO_NONE };

	if (!table->clocks)
		table->clocks = g_array_new(FALSE, FALSE, sizeof(struct known_clock));
	for (guint i = 0; i < table->clocks->len; i++)
		if (adopt(timeline, &g_array_index(table->clocks, struct known_clock, i), metadata,
			  ticks))
			return i;
	g_array_append_val(table->clocks, clock);
	return table->clocks->len - 1;
}

guint32 clock_table_row(struct clock_table *table, guint clock, TachoTimeline *timeline)
{
	struct known_clock *known = &g_array_index(table->clocks, struct known_clock, clock);
	TachoClock row = { .host = known->host, .reference = timeline->clocks->len };

	if (known->row == TACHO_NONE) {
		known->row = timeline->clocks->len;
		g_array_append_val(timeline->clocks, row);
	}
	return known->row;
}
