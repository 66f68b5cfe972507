#include "query/json_leaves.h"

#include <string.h>

enum { MAX_LEVELS = 32, MAX_DIGITS = 18 };

struct leaves {
	const gchar *at; /* ends with a NUL, which is no character of JSON */
	GString *path;
	JsonLeafTold told;
	gpointer data;
	guint n_levels;
};

static void pass_space(struct leaves *leaves)
{
	while (*leaves->at == ' ' || *leaves->at == '\n' || *leaves->at == '\r' ||
	       *leaves->at == '\t')
		leaves->at++;
}

/* Whether `c` is next behind space; it is passed. */
static gboolean take(struct leaves *leaves, gchar c)
{
	pass_space(leaves);
	if (*leaves->at != c)
		return FALSE;
	leaves->at++;
	return TRUE;
}

static void tell(const struct leaves *leaves, struct json_leaf *leaf)
{
	leaf->path = leaves->path->str;
	leaves->told(leaf, leaves->data);
}

/* The string at the quote: what is between its quotes, with nothing escaped. */
static gboolean read_string(struct leaves *leaves, const gchar **ret_string, gsize *ret_n)
{
	const gchar *begin;

	if (!take(leaves, '"'))
		return FALSE;
	begin = leaves->at;
	while (*leaves->at != '"' && *leaves->at != '\\' && (guchar)*leaves->at >= ' ')
		leaves->at++;
	if (*leaves->at != '"')
		return FALSE;
	*ret_string = begin;
	*ret_n = (gsize)(leaves->at++ - begin);
	return TRUE;
}

static gboolean read_integer(struct leaves *leaves)
{
	struct json_leaf leaf = { .type = JSON_LEAF_INTEGER };
	gboolean is_negative = *leaves->at == '-';
	const gchar *begin;

	leaves->at += is_negative;
	begin = leaves->at;
	for (; g_ascii_isdigit(*leaves->at) && leaves->at - begin < MAX_DIGITS; leaves->at++)
		leaf.integer = 10 * leaf.integer + (*leaves->at - '0');
	if (leaves->at == begin || (*begin == '0' && leaves->at - begin > 1) ||
	    g_ascii_isalnum(*leaves->at) || *leaves->at == '.')
		return FALSE;
	if (is_negative)
		leaf.integer = -leaf.integer;
	tell(leaves, &leaf);
	return TRUE;
}

/* true, false, null */
static gboolean read_word(struct leaves *leaves)
{
	static const gchar *const words[] = { "false", "true", "null" };
	struct json_leaf leaf = { .type = JSON_LEAF_TRUTH };

	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		gsize n = strlen(words[i]);

		if (strncmp(leaves->at, words[i], n) != 0 || g_ascii_isalnum(leaves->at[n]))
			continue;
		leaves->at += n;
		leaf.integer = i;
		if (i < 2)
			tell(leaves, &leaf);
		return TRUE;
	}
	return FALSE;
}

static gboolean read_value(struct leaves *leaves);

/* Behind the bracket. */
static gboolean read_list(struct leaves *leaves)
{
	gsize n_path = leaves->path->len;

	if (take(leaves, ']'))
		return TRUE;
	for (guint i = 0;; i++) {
		gchar index[16];

		g_string_truncate(leaves->path, n_path);
		g_string_append_len(leaves->path, index,
				    g_snprintf(index, sizeof(index), "[%u]", i));
		if (!read_value(leaves))
			return FALSE;
		if (!take(leaves, ','))
			return take(leaves, ']');
	}
}

/* Behind the brace. */
static gboolean read_object(struct leaves *leaves)
{
	gsize n_path = leaves->path->len, n_key;
	gboolean is_inner = leaves->n_levels > 1;
	const gchar *key;

	if (take(leaves, '}'))
		return TRUE;
	do {
		g_string_truncate(leaves->path, n_path);
		if (is_inner)
			g_string_append_c(leaves->path, '.');
		if (!read_string(leaves, &key, &n_key) || !take(leaves, ':'))
			return FALSE;
		g_string_append_len(leaves->path, key, (gssize)n_key);
		if (!read_value(leaves))
			return FALSE;
	} while (take(leaves, ','));
	return take(leaves, '}');
}

static gboolean read_nested(struct leaves *leaves)
{
	gboolean is_list = *leaves->at++ == '[', is_read;
	gsize n_path = leaves->path->len;

	if (leaves->n_levels >= MAX_LEVELS)
		return FALSE;
	leaves->n_levels++;
	is_read = is_list ? read_list(leaves) : read_object(leaves);
	leaves->n_levels--;
	g_string_truncate(leaves->path, n_path);
	return is_read;
}

static gboolean read_value(struct leaves *leaves)
{
	struct json_leaf leaf = { .type = JSON_LEAF_STRING };

	pass_space(leaves);
	switch (*leaves->at) {
	case '{':
	case '[':
		return read_nested(leaves);
	case '"':
		if (!read_string(leaves, &leaf.string, &leaf.n))
			return FALSE;
		tell(leaves, &leaf);
		return TRUE;
	case 't':
	case 'f':
	case 'n':
		return read_word(leaves);
	default:
		return read_integer(leaves);
	}
}

gboolean json_leaves_read(const gchar *json, GString *path, JsonLeafTold told, gpointer data)
{
	struct leaves leaves = { .at = json, .path = path, .told = told, .data = data };

	g_string_truncate(path, 0);
	return read_value(&leaves) && take(&leaves, '\0');
}
