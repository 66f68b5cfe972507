#include "import/byteprofile/byteps_keys.h"

#include <string.h>

#include "base/text_file.h"

enum {
	MAX_BYTES = 64 * 1024 * 1024,
	MAX_KEYS = 1 << 20,
};

static void free_key(gpointer data)
{
	struct byteps_key *key = data;

	g_free(key->tensors);
	g_free(key);
}

/* "3+4" of "...BytePSPushPull.3_4" and "byteps.gradient_3"; else the name. */
static gchar *tensors_of(const gchar *name)
{
	static const gchar *const words[] = { "BytePSPushPull.", "BytePSPushPull_", "gradient_" };
	const gchar *numbers = NULL;
	GString *text;

	for (guint i = 0; i < G_N_ELEMENTS(words) && !numbers; i++) {
		const gchar *found = g_strrstr(name, words[i]);

		if (found && g_ascii_isdigit(found[strlen(words[i])]))
			numbers = found + strlen(words[i]);
	}
	if (!numbers || numbers[strspn(numbers, "0123456789_+")])
		return g_strdup(name);
	text = g_string_new(numbers);
	for (gchar *at = text->str; *at; at++)
		if (*at == '_')
			*at = '+';
	return g_string_free(text, FALSE);
}

/* "NAME: KEY KEY ...": the last colon is it, as names may have some. */
static void read_line(GHashTable *keys, gchar *line)
{
	gchar *colon = strrchr(line, ':');
	g_auto(GStrv) words = NULL;
	g_autofree gchar *tensors = NULL;
	guint n;

	if (!colon)
		return;
	*colon = '\0';
	tensors = tensors_of(g_strstrip(line));
	words = g_strsplit_set(g_strstrip(colon + 1), " \t,", -1);
	n = g_strv_length(words);
	for (guint i = 0; i < n && g_hash_table_size(keys) < MAX_KEYS; i++) {
		struct byteps_key *key;
		guint64 number;

		if (!g_ascii_string_to_unsigned(words[i], 10, 0, G_MAXUINT32 - 1, &number, NULL))
			continue;
		key = g_new(struct byteps_key, 1);
		*key = (struct byteps_key){ g_strdup(tensors), i, n };
		g_hash_table_insert(keys, GUINT_TO_POINTER((guint)number), key);
	}
}

GHashTable *byteps_keys_read(const gchar *const *folders)
{
	for (; *folders; folders++) {
		g_autofree gchar *path = g_build_filename(*folders, "key_dict.txt", NULL);
		g_autofree gchar *text = NULL;
		g_auto(GStrv) lines = NULL;
		GHashTable *keys;
		gsize length;

		if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
			continue;
		text = text_file_read(path, MAX_BYTES, &length, NULL);
		if (!text || !g_utf8_validate(text, -1, NULL))
			continue;
		keys = g_hash_table_new_full(NULL, NULL, NULL, free_key);
		lines = g_strsplit(text, "\n", -1);
		for (guint i = 0; lines[i]; i++)
			read_line(keys, lines[i]);
		return keys;
	}
	return NULL;
}

gchar *byteps_keys_name(GHashTable *keys, guint32 key)
{
	const struct byteps_key *known =
		keys ? g_hash_table_lookup(keys, GUINT_TO_POINTER(key)) : NULL;

	if (!known)
		return g_strdup_printf("%u", key);
	if (known->n_parts < 2)
		return g_strdup(known->tensors);
	return g_strdup_printf("%s~PART%u", known->tensors, known->part);
}
