#include "precision/align.h"

#include <tacho/timeline.h>

#include "trace/none_rows.h"

struct part {
	guint32 begin, end;
};

struct aligning {
	const guint64 *first, *second;
	guint32 *match; /* of the first's */
	AlignScore score;
	gconstpointer data;
};

/* --- equal keys --------------------------------------------------------------------------------- */

/* A run of equal keys in the middle of a shortest edit: [a, a_end) of the first, from b on of the second. */
struct snake {
	guint32 a, b, a_end, b_end;
};

/* How far a search has come on each diagonal, around a place for diagonal 0. */
struct reach {
	gint64 *of;
	gint64 n; /* a ring of so many */
};

static gint64 *reach_at(const struct reach *reach, gint64 diagonal)
{
	return &reach->of[((diagonal % reach->n) + reach->n) % reach->n];
}

/* One round of a search from the begin (way 1) or the end (way -1) of both parts, of `d` edits. TRUE: it has met the other one. */
static gboolean search_round(const struct aligning *aligning, struct part a, struct part b,
			     const struct reach *own, const struct reach *other, gint64 d, gint way,
			     struct snake *ret_snake)
{
	gint64 n = a.end - a.begin, m = b.end - b.begin;
	gboolean is_odd = (n + m) % 2 == 1;

	for (gint64 k = -(d - 2 * MAX(0, d - m)); k <= d - 2 * MAX(0, d - n); k += 2) {
		gboolean is_down =
			k == -d || (k != d && *reach_at(own, k - 1) < *reach_at(own, k + 1));
		gint64 x = is_down ? *reach_at(own, k + 1) : *reach_at(own, k - 1) + 1, y = x - k;
		gint64 x_from = x, y_from = y, z = (n - m) - k, met = way > 0 ? d - 1 : d;

		while (x < n && y < m &&
		       aligning->first[way > 0 ? a.begin + x : a.end - 1 - x] ==
			       aligning->second[way > 0 ? b.begin + y : b.end - 1 - y]) {
			x++;
			y++;
		}
		*reach_at(own, k) = x;
		if (is_odd != (way > 0) || z < -met || z > met || x + *reach_at(other, z) < n)
			continue;
		*ret_snake =
			way > 0 ? (struct snake){ (guint32)x_from, (guint32)y_from, (guint32)x,
						  (guint32)y }
				: (struct snake){ (guint32)(n - x), (guint32)(m - y),
						  (guint32)(n - x_from), (guint32)(m - y_from) };
		return TRUE;
	}
	return FALSE;
}

/* FALSE: they differ by too much. */
static gboolean find_snake(const struct aligning *aligning, struct part a, struct part b,
			   struct snake *ret_snake)
{
	gint64 n = a.end - a.begin, m = b.end - b.begin;
	gint64 most = MIN((n + m + 1) / 2, ALIGN_MAX_DIFFERENCES / 2);
	gint64 ring = 2 * MIN(MIN(n, m), most + 1) + 2;
	g_autofree gint64 *from_begin = g_new0(gint64, ring), *from_end = g_new0(gint64, ring);
	struct reach forth = { from_begin, ring }, back = { from_end, ring };

	for (gint64 d = 0; d <= most; d++)
		if (search_round(aligning, a, b, &forth, &back, d, 1, ret_snake) ||
		    search_round(aligning, a, b, &back, &forth, d, -1, ret_snake))
			return TRUE;
	return FALSE;
}

/* The parts are halved, and what both begin and end with is matched; the halves are walked from a list. */
static void match_equal(const struct aligning *aligning, struct part a, struct part b)
{
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(struct part));
	struct snake snake;

	g_array_append_val(open, a);
	g_array_append_val(open, b);
	while (open->len > 0) {
		b = g_array_index(open, struct part, open->len - 1);
		a = g_array_index(open, struct part, open->len - 2);
		g_array_set_size(open, open->len - 2);
		while (a.begin < a.end && b.begin < b.end &&
		       aligning->first[a.begin] == aligning->second[b.begin])
			aligning->match[a.begin++] = b.begin++;
		while (a.begin < a.end && b.begin < b.end &&
		       aligning->first[a.end - 1] == aligning->second[b.end - 1])
			aligning->match[--a.end] = --b.end;
		if (a.begin == a.end || b.begin == b.end || !find_snake(aligning, a, b, &snake))
			continue;
		for (guint32 i = 0; i < snake.a_end - snake.a; i++)
			aligning->match[a.begin + snake.a + i] = b.begin + snake.b + i;
		{
			struct part parts[] = { { a.begin, a.begin + snake.a },
						{ b.begin, b.begin + snake.b },
						{ a.begin + snake.a_end, a.end },
						{ b.begin + snake.b_end, b.end } };

			g_array_append_vals(open, parts, G_N_ELEMENTS(parts));
		}
	}
}

/* --- what is alike ------------------------------------------------------------------------------ */

/* best[i][j]: the most that elements from i and j on give together. */
static void match_alike(const struct aligning *aligning, struct part a, struct part b)
{
	gsize n = a.end - a.begin, m = b.end - b.begin, width = m + 1;
	g_autofree guint32 *best = NULL;
	gsize i = 0, j = 0;

	if (n == 0 || m == 0 || n > ALIGN_MAX_PAIRS / m)
		return;
	best = g_new0(guint32, (n + 1) * width);
	for (i = n; i-- > 0;)
		for (j = m; j-- > 0;) {
			guint score = aligning->score(a.begin + (guint32)i, b.begin + (guint32)j,
						      aligning->data);
			guint32 apart = MAX(best[(i + 1) * width + j], best[i * width + j + 1]);

			best[i * width + j] =
				MAX(apart, score > 0 ? best[(i + 1) * width + j + 1] + score : 0);
		}
	for (i = j = 0; i < n && j < m;) {
		guint score =
			aligning->score(a.begin + (guint32)i, b.begin + (guint32)j, aligning->data);

		if (score > 0 && best[i * width + j] == best[(i + 1) * width + j + 1] + score)
			aligning->match[a.begin + i++] = b.begin + (guint32)j++;
		else if (best[i * width + j] == best[(i + 1) * width + j])
			i++;
		else
			j++;
	}
}

static void match_gaps(const struct aligning *aligning, guint32 n, guint32 m)
{
	guint32 a = 0, b = 0;

	for (guint32 i = 0; i <= n; i++) {
		guint32 match = i < n ? aligning->match[i] : m;

		if (match == TACHO_NONE)
			continue;
		match_alike(aligning, (struct part){ a, i }, (struct part){ b, match });
		a = i + 1;
		b = match + 1;
	}
}

guint32 *align_sequences(const guint64 *first, guint32 n, const guint64 *second, guint32 m,
			 AlignScore score, gconstpointer data)
{
	guint32 *match = none_rows_new(n);
	struct aligning aligning = { first, second, match, score, data };

	match_equal(&aligning, (struct part){ 0, n }, (struct part){ 0, m });
	if (score)
		match_gaps(&aligning, n, m);
	return match;
}
