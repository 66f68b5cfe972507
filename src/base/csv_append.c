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

void csv_append_text(GString *line, const gchar *text, gsize n)
{
	const gchar *end = text + n, *quote;

	if (!needs_quotes(text, n)) {
		g_string_append_len(line, text, (gssize)n);
		return;
	}
	g_string_append_c(line, '"');
	while ((quote = memchr(text, '"', (gsize)(end - text)))) {
		g_string_append_len(line, text, quote + 1 - text);
		g_string_append_c(line, '"');
		text = quote + 1;
	}
	g_string_append_len(line, text, end - text);
	g_string_append_c(line, '"');
}
