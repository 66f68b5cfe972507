#include "live/recent_steps.h"

#include "base/for_each.h"
#include "base/order.h"

static const TachoLiveStep *row_at(const GArray *rows, guint i)
{
	return &g_array_index(rows, TachoLiveStep, i);
}

gint64 recent_steps_last(const TachoFollow *follow)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);

	for (guint i = rows->len; i-- > 0;)
		if (row_at(rows, i)->is_complete)
			return row_at(rows, i)->number;
	return -1;
}

static struct recent_rank *find_rank(GArray *ranks, gint32 number)
{
	struct recent_rank rank = { .rank = number, .memory_bytes = -1 };

	FOR_EACH(struct recent_rank, known, ranks)
		if (known->rank == number)
			return known;
	g_array_append_val(ranks, rank);
	return &g_array_index(ranks, struct recent_rank, ranks->len - 1);
}

static void add_row(struct recent_rank *rank, const TachoLiveStep *row)
{
	gdouble duration_ns = (gdouble)(row->end_unix_ns - row->start_unix_ns);

	rank->duration_ns += duration_ns;
	rank->compute_ns += row->compute_ns;
	rank->exposed_ns += row->exposed_ns;
	rank->wait_ns += row->wait_ns;
	rank->data_wait_ns += row->data_wait_ns;
	rank->idle_ns += duration_ns - row->compute_ns - row->exposed_ns - row->wait_ns;
	rank->own_ns += duration_ns - row->exposed_ns - row->wait_ns;
	/* rows come newest first */
	if (!rank->n++) {
		rank->memory_bytes = row->memory_bytes;
		rank->last_unix_ns = row->end_unix_ns;
	}
	rank->first_unix_ns = row->start_unix_ns;
}

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
	return ORDER(((const struct recent_rank *)a)->rank, ((const struct recent_rank *)b)->rank);
}

/* The number that is the one behind the `n` largest of those from `last` on back, of which some may have been passed over. */
static gint64 number_behind(const GArray *rows, gint64 last, guint n)
{
	gint64 least = last + 1;

	for (guint i = rows->len; i-- > 0;) {
		const TachoLiveStep *row = row_at(rows, i);

		if (!row->is_complete || row->number >= least)
			continue;
		if (!n--)
			return row->number;
		least = row->number;
	}
	return -1;
}

GArray *recent_steps_means(const TachoFollow *follow, guint n, guint skip)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);
	GArray *ranks = g_array_new(FALSE, FALSE, sizeof(struct recent_rank));
	gint64 last = number_behind(rows, recent_steps_last(follow), skip);
	gint64 behind = number_behind(rows, last, n);

	for (guint i = rows->len; i-- > 0;) {
		const TachoLiveStep *row = row_at(rows, i);

		if (row->number <= behind)
			break;
		if (row->is_complete && row->number <= last)
			add_row(find_rank(ranks, row->rank), row);
	}
	FOR_EACH(struct recent_rank, rank, ranks) {
		gdouble *const sums[] = { &rank->duration_ns, &rank->compute_ns,
					  &rank->exposed_ns,  &rank->wait_ns,
					  &rank->idle_ns,     &rank->data_wait_ns,
					  &rank->own_ns };

		for (guint k = 0; k < G_N_ELEMENTS(sums); k++)
			*sums[k] /= rank->n;
	}
	g_array_sort(ranks, compare_ranks);
	return ranks;
}

GArray *recent_steps_times(const TachoFollow *follow, guint n, guint n_warm_up)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);
	GArray *times = g_array_new(FALSE, FALSE, sizeof(gdouble));
	gint64 number = -1;

	for (guint i = rows->len; i-- > 0;) {
		const TachoLiveStep *row = row_at(rows, i);
		gdouble duration_ns = (gdouble)(row->end_unix_ns - row->start_unix_ns);

		if (!row->is_complete)
			continue;
		if (row->number < n_warm_up)
			break;
		if (row->number != number) {
			if (times->len == n)
				break;
			g_array_append_val(times, duration_ns);
			number = row->number;
		} else {
			gdouble *longest = &g_array_index(times, gdouble, times->len - 1);

			*longest = MAX(*longest, duration_ns);
		}
	}
	for (guint i = 0; i < times->len / 2; i++) {
		gdouble *one = &g_array_index(times, gdouble, i);
		gdouble *other = &g_array_index(times, gdouble, times->len - 1 - i);
		gdouble kept = *one;

		*one = *other;
		*other = kept;
	}
	return times;
}
