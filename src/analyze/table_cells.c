#include "analyze/table_cells.h"

#include <math.h>

#include <tacho/analyze.h>

void table_integer_if(TachoTable *table, bool is_known, gint64 value)
{
	if (is_known)
		tacho_table_integer(table, value);
	else
		tacho_table_null(table);
}

void table_number_if(TachoTable *table, bool is_known, gdouble value)
{
	tacho_table_number(table, is_known ? value : (gdouble)NAN);
}

void table_boolean_if(TachoTable *table, bool is_known, gboolean value)
{
	if (is_known)
		tacho_table_boolean(table, value);
	else
		tacho_table_null(table);
}

void table_share(TachoTable *table, gdouble part, gdouble whole)
{
	table_number_if(table, whole > 0, 100.0 * part / whole);
}

void table_rate(TachoTable *table, gdouble amount, gdouble over_ns)
{
	table_number_if(table, amount > 0 && over_ns > 0, amount / over_ns);
}

void table_flop_rate(TachoTable *table, const gdouble *metrics)
{
	gdouble device_ns = metrics[TACHO_METRIC_DEVICE];

	table_rate(table, metrics[TACHO_METRIC_FLOPS],
		   device_ns > 0 ? device_ns : metrics[TACHO_METRIC_HOST]);
}

void table_rank(TachoTable *table, const TachoTimeline *timeline, guint rank_index)
{
	if (rank_index == TACHO_NONE)
		tacho_table_null(table);
	else
		tacho_table_integer(table, tacho_timeline_rank(timeline, rank_index)->rank);
}
