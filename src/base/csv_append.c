#include "base/csv_append.h"

#include <string.h>

static gboolean needs_quotes(const gchar *text, gsize n)
{
	static const guint8 is_special[256] = { [','] = 1, ['"'] = 1, ['\r'] = 1, ['\n'] = 1 };
	guint8 found = n == 0;

	for (gsize i = 0; i < n; i++)
		found |= is_special[(guchar)text[i]];
	return found;
}

/* Whether a spreadsheet would compute it instead of showing it. What is a number is harmless. */
static gboolean would_run(const gchar *text, gsize n)
{
	gsize i = 1;

	if (n == 0 || !memchr("=+-@\t\r", text[0], 6))
		return FALSE;
	if (text[0] != '-' && text[0] != '+')
		return TRUE;
	while (i < n && (g_ascii_isdigit(text[i]) || text[i] == '.'))
		i++;
	return i < n || n == 1;
}

/* What would move a terminal's cursor or colour its text: C0 but for blanks, DEL, C1 in UTF-8. */
static gsize control_bytes(const gchar *at, const gchar *end)
{
	guchar c = (guchar)*at;

	if (c == 0xc2 && at + 1 < end && (guchar)at[1] >= 0x80 && (guchar)at[1] < 0xa0)
		return 2;
	return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
}

void csv_append_plain(GString *line, const gchar *text, gsize n)
{
	const gchar *end = text + n, *begin = text;

	while (text < end) {
		gsize n_control = control_bytes(text, end);

		if (!n_control) {
			text++;
			continue;
		}
		g_string_append_len(line, begin, text - begin);
		g_string_append_c(line, '?');
		text += n_control;
		begin = text;
	}
	g_string_append_len(line, begin, end - begin);
}

void csv_append_text(GString *line, const gchar *text, gsize n)
{
	const gchar *end = text + n, *quote;
	gboolean is_quoted = needs_quotes(text, n);

	if (is_quoted)
		g_string_append_c(line, '"');
	if (would_run(text, n))
		g_string_append_c(line, '\'');
	while (is_quoted && (quote = memchr(text, '"', (gsize)(end - text)))) {
		csv_append_plain(line, text, (gsize)(quote + 1 - text));
		g_string_append_c(line, '"');
		text = quote + 1;
	}
	csv_append_plain(line, text, (gsize)(end - text));
	if (is_quoted)
		g_string_append_c(line, '"');
}
