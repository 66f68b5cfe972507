#include "base/json_append.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static void append_character(GString *json, gunichar character)
{
	switch (character) {
	case '"':
	case '\\':
		g_string_append_c(json, '\\');
		g_string_append_c(json, (gchar)character);
		return;
	case '\n':
		g_string_append(json, "\\n");
		return;
	case '\t':
		g_string_append(json, "\\t");
		return;
	default:
		if (character < 0x20)
			g_string_append_printf(json, "\\u%04x", character);
		else
			g_string_append_unichar(json, character);
	}
}

void json_append_string(GString *json, const gchar *text, gsize n)
{
	const gchar *end = text + n;

	g_string_append_c(json, '"');
	while (text < end) {
		gunichar character = g_utf8_get_char_validated(text, end - text);

		if (*text == '\0' || character == (gunichar)-1 || character == (gunichar)-2) {
			append_character(json, *text == '\0' ? 0 : 0xfffd);
			text++;
			continue;
		}
		append_character(json, character);
		text = g_utf8_next_char(text);
	}
	g_string_append_c(json, '"');
}

void json_append_number(GString *json, gdouble value)
{
	gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

	if (!isfinite(value)) {
		g_string_append(json, "null");
		return;
	}
	g_string_append(json, number_digits(digits, 6, value));
}

void json_append_key(GString *json, const gchar *key)
{
	if (json->len && json->str[json->len - 1] != '{')
		g_string_append_c(json, ',');
	json_append_string(json, key, strlen(key));
	g_string_append_c(json, ':');
}
