/* table_cells: cells of a row that views often need. */
#ifndef TACHO_TABLE_CELLS_H
#define TACHO_TABLE_CELLS_H

#include <stdbool.h>

#include <tacho/table.h>
#include <tacho/timeline.h>

/* Null unless the value is known. */
void table_integer_if(TachoTable *table, bool is_known, gint64 value);
void table_number_if(TachoTable *table, bool is_known, gdouble value);
void table_boolean_if(TachoTable *table, bool is_known, gboolean value);
/* Percent; null where there is no whole. */
void table_share(TachoTable *table, gdouble part, gdouble whole);
/* G a second; null where there is none of it. */
void table_rate(TachoTable *table, gdouble amount, gdouble over_ns);
/* The same of flops among values by TachoMetric, over the device's time where there is any, else the host's. */
void table_flop_rate(TachoTable *table, const gdouble *metrics);
/* The number of the rank with that index; null: TACHO_NONE. */
void table_rank(TachoTable *table, const TachoTimeline *timeline, guint rank_index);

#endif
