#include "import/ctf/ctf_work.h"

#include "base/for_each.h"

enum {
	MAX_LOST = 256, /* in a row, of one list, to be found again */
	MAX_LOST_OF_BOTH = 8,
	SURE_AFTER = 3, /* names that have to agree for that */
};

struct matching {
	const GArray *first, *second;
	gboolean is_causal;
	guint *matches; /* by index of `second` */
};

static gint compare_work(gconstpointer first, gconstpointer second)
{
	const struct ctf_work *a = first, *b = second;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void ctf_work_sort(GArray *list)
{
	g_array_sort(list, compare_work);
}

static gboolean is_too_early(const struct matching *matching, guint first, guint second)
{
	return matching->is_causal && ctf_work_at(matching->second, second)->time_ns <
					      ctf_work_at(matching->first, first)->time_ns;
}

/* --- (3) ------------------------------------------------------------------------------------ */

static void match_by_order(struct matching *matching, guint first, guint first_end, guint second,
			   guint second_end)
{
	while (first < first_end && second < second_end) {
		if (is_too_early(matching, first, second)) /* its partner was not recorded */
			second++;
		else
			matching->matches[second++] = first++;
	}
}

static guint first_from(const GArray *list, guint at, gint64 time_ns)
{
	while (at < list->len && ctf_work_at(list, at)->time_ns < time_ns)
		at++;
	return at;
}

static void match_between_borders(struct matching *matching, const GArray *borders)
{
	guint first = 0, second = 0;

	for (guint i = 0; i <= borders->len; i++) {
		gint64 end_ns = i < borders->len ? g_array_index(borders, gint64, i) : G_MAXINT64;
		guint first_end = first_from(matching->first, first, end_ns);
		guint second_end = first_from(matching->second, second, end_ns);

		if (i == borders->len) {
			first_end = matching->first->len;
			second_end = matching->second->len;
		}
		match_by_order(matching, first, first_end, second, second_end);
		first = first_end;
		second = second_end;
	}
}

/* --- (1) and (2) ---------------------------------------------------------------------------- */

/* Indices by queue, or by what runs: key -> GArray of guint. */
static GHashTable *group(const GArray *list, gboolean by_queue)
{
	GHashTable *groups = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_array_unref);

	FOR_EACH_AT(const struct ctf_work, work, i, list) {
		gpointer key = GUINT_TO_POINTER(by_queue ? work->queue : work->what);
		GArray *indices = g_hash_table_lookup(groups, key);

		if (!indices) {
			indices = g_array_new(FALSE, FALSE, sizeof(guint));
			g_hash_table_insert(groups, key, indices);
		}
		g_array_append_val(indices, i);
	}
	return groups;
}

static guint index_at(const GArray *indices, guint i)
{
	return g_array_index(indices, guint, i);
}

static void match_in_order(struct matching *matching, const GArray *first, const GArray *second)
{
	for (guint i = 0, k = 0; i < first->len && k < second->len;) {
		if (!is_too_early(matching, index_at(first, i), index_at(second, k)))
			matching->matches[index_at(second, k)] = index_at(first, i++);
		k++;
	}
}

/* The two lists of a queue, and how far they were walked. */
struct walk {
	const GArray *first, *second;
	guint i, k;
};

/* Whether what runs agrees from there on: for so many, or to the end of either list. */
static gboolean agrees(const struct matching *matching, const struct walk *walk, guint i, guint k)
{
	guint n = 0;

	if (i >= walk->first->len || k >= walk->second->len)
		return FALSE;
	if (is_too_early(matching, index_at(walk->first, i), index_at(walk->second, k)))
		return FALSE;
	for (; n < SURE_AFTER && i < walk->first->len && k < walk->second->len; n++)
		if (ctf_work_at(matching->first, index_at(walk->first, i++))->what !=
		    ctf_work_at(matching->second, index_at(walk->second, k++))->what)
			return FALSE;
	return TRUE;
}

/* Go on to the nearest place from which on both agree; the fewest that were lost. The work of a mismatch is bounded,
 * however long the lists are. */
static void find_again(const struct matching *matching, struct walk *walk)
{
	for (guint n_lost = 1; n_lost <= MAX_LOST; n_lost++) {
		guint by = n_lost > MAX_LOST_OF_BOTH ? n_lost : 1; /* then of one of them only */

		for (guint of_first = 0; of_first <= n_lost; of_first += by) {
			guint of_second = n_lost - of_first;

			if (!agrees(matching, walk, walk->i + of_first, walk->k + of_second))
				continue;
			walk->i += of_first;
			walk->k += of_second;
			return;
		}
	}
	walk->i++;
	walk->k++;
}

static void match_queue(struct matching *matching, const GArray *first, const GArray *second)
{
	struct walk walk = { .first = first, .second = second };

	while (walk.i < first->len && walk.k < second->len) {
		guint i = index_at(first, walk.i), k = index_at(second, walk.k);

		if (is_too_early(matching, i, k))
			walk.k++;
		else if (ctf_work_at(matching->first, i)->what !=
			 ctf_work_at(matching->second, k)->what)
			find_again(matching, &walk);
		else {
			matching->matches[k] = i;
			walk.i++;
			walk.k++;
		}
	}
}

static void match_groups(struct matching *matching, gboolean by_queue)
{
	g_autoptr(GHashTable) firsts = group(matching->first, by_queue);
	g_autoptr(GHashTable) seconds = group(matching->second, by_queue);

	FOR_EACH_ENTRY(entry, seconds) {
		const GArray *first = g_hash_table_lookup(firsts, entry.key);

		if (first && by_queue)
			match_queue(matching, first, entry.value);
		else if (first)
			match_in_order(matching, first, entry.value);
	}
}

/* --- which of them -------------------------------------------------------------------------- */

/* Whether most of `second` tell a queue, or what runs, that one of `first` tells, too. */
static gboolean are_told_alike(const GArray *first, const GArray *second, gboolean by_queue)
{
	g_autoptr(GHashTable) told = g_hash_table_new(NULL, NULL);
	guint n_alike = 0;

	FOR_EACH(const struct ctf_work, work, first)
		g_hash_table_add(told, GUINT_TO_POINTER(by_queue ? work->queue : work->what));
	FOR_EACH(const struct ctf_work, work, second) {
		guint32 key = by_queue ? work->queue : work->what;

		n_alike += key && g_hash_table_contains(told, GUINT_TO_POINTER(key));
	}
	return n_alike * 2 > second->len;
}

guint *ctf_work_match(const GArray *first, const GArray *second, const GArray *borders,
		      gboolean is_causal, gboolean *ret_is_guess)
{
	struct matching matching = { .first = first, .second = second, .is_causal = is_causal };

	matching.matches = g_new(guint, second->len + 1);
	for (guint i = 0; i < second->len; i++)
		matching.matches[i] = CTF_NO_MATCH;
	*ret_is_guess = FALSE;
	if (are_told_alike(first, second, FALSE)) {
		match_groups(&matching, are_told_alike(first, second, TRUE));
	} else if (first->len == second->len) {
		match_by_order(&matching, 0, first->len, 0, second->len);
	} else {
		match_between_borders(&matching, borders);
		*ret_is_guess = first->len > 0 && second->len > 0;
	}
	return matching.matches;
}
