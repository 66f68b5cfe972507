/* clock_table: which processes were recorded with one and the same clock, and therefore need no
 * alignment among each other.
 *
 * A machine has one TSC and one CLOCK_MONOTONIC for all its processes, whatever containers and
 * namespaces they are in: it is known by its boot id (its name, where there is none). What may differ
 * is the calibration, that is, which Unix time a tick was said to be: each `tacho record` makes one,
 * good to a millionth or so of its rate.
 *
 * (1) Processes of one machine and one source of time share a clock, and its first calibration counts
 *     for all of them: ticks that are the same moment become the same time.
 * (2) A CLOCK_MONOTONIC that a time namespace has set ahead is brought back by what the trace says of
 *     that.
 * (3) Calibrations that differ by more than CLOCK_TABLE_SAME_NS are of different clocks: a machine
 *     that was copied while it ran has its boot id twice, and a clock that somebody has set is
 *     another one after. */
#ifndef TACHO_CLOCK_TABLE_H
#define TACHO_CLOCK_TABLE_H

#include <tacho/timeline.h>

struct trace_metadata;

#define CLOCK_TABLE_SAME_NS G_GINT64_CONSTANT(1000000000)

/* Zeroed is empty. */
struct clock_table {
	GArray *clocks; /* struct known_clock */
};

void clock_table_release(struct clock_table *table);

/* Which clock a process has; its calibration becomes that of the clock's first process. `ticks` is a
 * moment of the process, its first stamp. */
guint clock_table_share(struct clock_table *table, const TachoTimeline *timeline,
			struct trace_metadata *metadata, guint64 ticks);

/* The clock's row in the timeline, made when first asked for. */
guint32 clock_table_row(struct clock_table *table, guint clock, TachoTimeline *timeline);

#endif
