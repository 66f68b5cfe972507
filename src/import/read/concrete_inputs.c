#include "import/read/concrete_inputs.h"

#include "import/read/json_scan.h"

/* "[2, 2]", "[True, False]" or "False". */
static void parse_numbers(const struct json_text *text, TachoNumbers *numbers)
{
	g_autofree gchar *plain = g_strndup(text->bytes, text->n);
	g_auto(GStrv) words = g_strsplit_set(plain, "[], ", -1);

	for (guint i = 0; words[i] && numbers->n < TACHO_MAX_DIMS; i++)
		if (*words[i])
			numbers->values[numbers->n++] =
				strcmp(words[i], "True") == 0 ? 1
							      : g_ascii_strtoll(words[i], NULL, 10);
}

static gboolean read_list(struct json_scan *scan, guint n, TachoNumbers *numbers)
{
	gboolean is_any = FALSE;
	struct json_text text;

	if (!json_enter(scan, '['))
		return FALSE;
	for (guint i = 0; i < n; i++)
		numbers[i].n = 0;
	for (guint i = 0; i < n && json_element(scan); i++) {
		if (json_peek(scan) != '"') {
			json_skip(scan);
			continue;
		}
		if (!json_string(scan, &text))
			break;
		parse_numbers(&text, &numbers[i]);
		is_any |= numbers[i].n > 0;
	}
	return is_any;
}

gboolean concrete_inputs_numbers(struct foreign_reader *reader, guint64 place, guint n,
				 TachoNumbers *numbers)
{
	g_autofree gchar *json = reader->args_json(reader, place), *copy = NULL;
	struct json_scan scan;
	struct json_text key;

	if (!json)
		return FALSE;
	copy = json_scan_copy(&scan, json);
	if (!json_enter(&scan, '{'))
		return FALSE;
	while (json_member(&scan, &key)) {
		if (JSON_TEXT_IS(&key, "Concrete Inputs"))
			return read_list(&scan, n, numbers);
		json_skip(&scan);
	}
	return FALSE;
}
