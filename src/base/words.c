#include <tacho/words.h>

#include <string.h>

enum {
	MAX_LETTERS = 64, /* words of more are not compared */
};

/* Case makes no difference, nor whether words are joined by '-' or '_'. */
static gchar fold(gchar letter)
{
	return letter == '-' ? '_' : g_ascii_tolower(letter);
}

/* How many letters must be added, left out, changed or swapped with the next to get from one to the other (optimal
 * string alignment: no letter is changed twice). */
static guint distance(const gchar *a, guint n_a, const gchar *b, guint n_b)
{
	guint rows[3][MAX_LETTERS + 1];
	guint *before = rows[0], *last = rows[1], *row = rows[2];

	for (guint j = 0; j <= n_b; j++)
		last[j] = j;
	for (guint i = 1; i <= n_a; i++) {
		guint *oldest = before;

		row[0] = i;
		for (guint j = 1; j <= n_b; j++) {
			guint change = fold(a[i - 1]) != fold(b[j - 1]);

			row[j] = MIN(last[j - 1] + change, 1 + MIN(last[j], row[j - 1]));
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]))
				row[j] = MIN(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[n_b];
}

static gboolean begins(const gchar *word, guint n_word, const gchar *whole)
{
	for (guint i = 0; i < n_word; i++)
		if (fold(word[i]) != fold(whole[i])) /* the end of `whole` is another letter, too */
			return FALSE;
	return TRUE;
}

const gchar *tacho_nearest_word(const gchar *word, const gchar *const *words)
{
	gsize n_word = strlen(word);
	const gchar *nearest = NULL;
	guint least = G_MAXUINT;

	if (n_word < 2 || n_word > MAX_LETTERS)
		return NULL;
	for (guint i = 0; words[i]; i++) {
		gsize n = strlen(words[i]);
		guint apart;

		if (n > MAX_LETTERS)
			continue;
		apart = distance(word, (guint)n_word, words[i], (guint)n);
		if (apart > MAX(1, MIN(n_word, n) / 3)) {
			if (!begins(word, (guint)n_word, words[i]))
				continue;
			apart = MAX_LETTERS + apart; /* a slip of the fingers is likelier */
		}
		if (apart < least) {
			least = apart;
			nearest = words[i];
		}
	}
	return nearest;
}

gchar *tacho_did_you_mean(const gchar *word, const gchar *const *words)
{
	const gchar *nearest = tacho_nearest_word(word, words);
	g_autofree gchar *list = g_strjoinv(", ", (gchar **)words);

	if (nearest)
		return g_strdup_printf("; did you mean '%s'? There are: %s", nearest, list);
	return g_strdup_printf("; there are: %s", list);
}
