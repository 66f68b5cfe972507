#include "query/id_range.h"

#include <math.h>

#define TWO_TO_63 9223372036854775808.0

gboolean id_range_takes(unsigned char op)
{
	return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_GT ||
	       op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_LT ||
	       op == SQLITE_INDEX_CONSTRAINT_LE;
}

static void make_empty(struct id_range *range)
{
	*range = (struct id_range){ 1, 0 };
}

static void at_least(struct id_range *range, gint64 value)
{
	range->first = MAX(range->first, value);
}

static void at_most(struct id_range *range, gint64 value)
{
	range->last = MIN(range->last, value);
}

/* Integers below or above a fraction are those below or above its neighbours. */
static void narrow_by_real(struct id_range *range, unsigned char op, gdouble value)
{
	if (op != SQLITE_INDEX_CONSTRAINT_LT && op != SQLITE_INDEX_CONSTRAINT_LE) {
		if (value >= TWO_TO_63)
			make_empty(range);
		else if (value > -TWO_TO_63)
			at_least(range, (gint64)ceil(value));
	}
	if (op != SQLITE_INDEX_CONSTRAINT_GT && op != SQLITE_INDEX_CONSTRAINT_GE) {
		if (value < -TWO_TO_63)
			make_empty(range);
		else if (value < TWO_TO_63)
			at_most(range, (gint64)floor(value));
	}
}

static void narrow_by_integer(struct id_range *range, unsigned char op, gint64 value)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		at_least(range, value);
		at_most(range, value);
		break;
	case SQLITE_INDEX_CONSTRAINT_GT: /* one too many is checked again */
	case SQLITE_INDEX_CONSTRAINT_GE:
		at_least(range, value);
		break;
	default:
		at_most(range, value);
	}
}

void id_range_narrow(struct id_range *range, unsigned char op, sqlite3_value *value)
{
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		narrow_by_integer(range, op, sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		narrow_by_real(range, op, sqlite3_value_double(value));
		break;
	case SQLITE_NULL:
		make_empty(range); /* comparing with NULL is never true */
		break;
	default: /* a text that is no number: SQLite knows how it compares */
		break;
	}
}

void id_range_rows(const struct id_range *range, guint32 n, guint32 *ret_first, guint32 *ret_end)
{
	gint64 first = CLAMP(range->first, 0, (gint64)n);
	gint64 end = range->last >= (gint64)n ? (gint64)n : MAX(range->last + 1, first);

	*ret_first = (guint32)first;
	*ret_end = (guint32)end;
}
