/* interval_set: a set of moments, kept as intervals of time.
 * Normalized means: in order, none empty, none touching the next; so a set has one form only. */
#include "base/interval_set.h"

#include "base/partition_point.h"

#define AT(set, index) g_array_index((set)->intervals, struct interval, index)

void interval_set_init(struct interval_set *set)
{
	set->intervals = g_array_new(FALSE, FALSE, sizeof(struct interval));
}

void interval_set_release(struct interval_set *set)
{
	g_clear_pointer(&set->intervals, g_array_unref);
}

void interval_set_add(struct interval_set *set, gint64 begin_ns, gint64 end_ns)
{
	struct interval interval = { begin_ns, end_ns };
	guint n = set->intervals->len;

	if (end_ns <= begin_ns)
		return;
	/* Most callers add in order: then the set stays normalized, and small. */
	if (n && AT(set, n - 1).begin_ns <= begin_ns && begin_ns <= AT(set, n - 1).end_ns)
		AT(set, n - 1).end_ns = MAX(AT(set, n - 1).end_ns, end_ns);
	else
		g_array_append_val(set->intervals, interval);
}

void interval_set_add_all(struct interval_set *set, const struct interval_set *other)
{
	for (guint i = 0; i < other->intervals->len; i++)
		interval_set_add(set, AT(other, i).begin_ns, AT(other, i).end_ns);
}

static gint compare_begins(gconstpointer a, gconstpointer b)
{
	const struct interval *left = a, *right = b;

	return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

static gboolean is_normalized(const struct interval_set *set)
{
	for (guint i = 1; i < set->intervals->len; i++)
		if (AT(set, i).begin_ns <= AT(set, i - 1).end_ns)
			return FALSE;
	return TRUE;
}

void interval_set_normalize(struct interval_set *set)
{
	guint n = 1;

	if (is_normalized(set))
		return;
	g_array_sort(set->intervals, compare_begins);
	for (guint i = 1; i < set->intervals->len; i++) {
		struct interval next = AT(set, i);

		if (next.begin_ns <= AT(set, n - 1).end_ns)
			AT(set, n - 1).end_ns = MAX(AT(set, n - 1).end_ns, next.end_ns);
		else
			AT(set, n++) = next;
	}
	g_array_set_size(set->intervals, n);
}

void interval_set_subtract(struct interval_set *set, const struct interval_set *other)
{
	struct interval_set rest;
	guint at = 0;

	interval_set_init(&rest);
	for (guint i = 0; i < set->intervals->len; i++) {
		gint64 begin_ns = AT(set, i).begin_ns, end_ns = AT(set, i).end_ns;

		while (at < other->intervals->len && AT(other, at).end_ns <= begin_ns)
			at++;
		for (guint j = at; j < other->intervals->len && AT(other, j).begin_ns < end_ns;
		     j++) {
			interval_set_add(&rest, begin_ns, AT(other, j).begin_ns);
			begin_ns = MIN(AT(other, j).end_ns, end_ns);
		}
		interval_set_add(&rest, begin_ns, end_ns);
	}
	interval_set_release(set);
	*set = rest;
}

/* The first interval that ends after `time_ns`. */
static guint first_after(const struct interval_set *set, gint64 time_ns)
{
	return PARTITION_POINT(i, 0, set->intervals->len, AT(set, i).end_ns <= time_ns);
}

gint64 interval_set_measure(const struct interval_set *set, gint64 begin_ns, gint64 end_ns)
{
	gint64 total_ns = 0;

	for (guint i = first_after(set, begin_ns);
	     i < set->intervals->len && AT(set, i).begin_ns < end_ns; i++)
		total_ns += MIN(AT(set, i).end_ns, end_ns) - MAX(AT(set, i).begin_ns, begin_ns);
	return total_ns;
}
