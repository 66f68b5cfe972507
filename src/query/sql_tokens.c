#include "query/sql_tokens.h"

#include <string.h>

static gboolean begins_word(gchar c)
{
	return g_ascii_isalpha(c) || c == '_' || (guchar)c >= 0x80;
}

static gboolean is_in_word(gchar c)
{
	return begins_word(c) || g_ascii_isdigit(c) || c == '$';
}

/* How long the blanks and comments are that `at` begins with. */
static gsize skip_nothing(const gchar *at)
{
	const gchar *begin = at, *end;

	for (;;) {
		at += strspn(at, " \t\r\n\f");
		if (g_str_has_prefix(at, "--")) {
			at += strcspn(at, "\n");
		} else if (g_str_has_prefix(at, "/*")) {
			end = strstr(at + 2, "*/");
			at = end ? end + 2 : at + strlen(at);
		} else {
			return (gsize)(at - begin);
		}
	}
}

/* A quote within is doubled. */
static gsize quoted_length(const gchar *at)
{
	gsize n = 1;

	while (at[n]) {
		if (at[n] == at[0] && at[n + 1] != at[0])
			return n + 1;
		n += at[n] == at[0] ? 2 : 1;
	}
	return n;
}

/* "1.5e-3"; what follows a digit is a number's, as SQLite has seen that it is one. */
static gsize number_length(const gchar *at)
{
	gsize n = 0;

	while (g_ascii_isalnum(at[n]) || at[n] == '.' || at[n] == '_' ||
	       ((at[n] == '+' || at[n] == '-') && n > 0 && g_ascii_tolower(at[n - 1]) == 'e' &&
		g_ascii_tolower(at[1]) != 'x'))
		n++;
	return n;
}

static struct sql_token read_token(const gchar *at)
{
	struct sql_token token = { SQL_MARK, at, 1, 0 };

	if (begins_word(*at)) {
		token.kind = SQL_WORD;
		while (is_in_word(at[token.length]))
			token.length++;
	} else if (g_ascii_isdigit(*at) || (*at == '.' && g_ascii_isdigit(at[1]))) {
		token.kind = SQL_NUMBER;
		token.length = number_length(at);
	} else if (*at == '\'' || *at == '"') {
		token.kind = *at == '"' ? SQL_QUOTED : SQL_STRING;
		token.length = quoted_length(at);
	}
	return token;
}

GArray *sql_tokens(const gchar *sql)
{
	GArray *tokens = g_array_new(FALSE, FALSE, sizeof(struct sql_token));
	guint depth = 0;

	for (sql += skip_nothing(sql); *sql && *sql != ';'; sql += skip_nothing(sql)) {
		struct sql_token token = read_token(sql);

		if (sql_token_is(&token, ")") && depth)
			depth--;
		token.depth = depth;
		depth += sql_token_is(&token, "(") != 0;
		g_array_append_val(tokens, token);
		sql += token.length;
	}
	return tokens;
}

gboolean sql_token_is(const struct sql_token *token, const gchar *text)
{
	return (token->kind == SQL_WORD || token->kind == SQL_MARK) &&
	       strlen(text) == token->length &&
	       g_ascii_strncasecmp(token->text, text, token->length) == 0;
}

gboolean sql_tokens_equal(const struct sql_token *one, const struct sql_token *other)
{
	if (one->kind != other->kind || one->length != other->length)
		return FALSE;
	return one->kind == SQL_WORD ? g_ascii_strncasecmp(one->text, other->text, one->length) == 0
				     : strncmp(one->text, other->text, one->length) == 0;
}

gchar *sql_token_name(const struct sql_token *token)
{
	gboolean is_quoted = token->kind == SQL_QUOTED || token->kind == SQL_STRING;

	return is_quoted ? g_ascii_strdown(token->text + 1, (gssize)token->length - 2)
			 : g_ascii_strdown(token->text, (gssize)token->length);
}

gchar *sql_tokens_text(const GArray *tokens, guint first, guint end)
{
	const struct sql_token *begin = sql_token_at(tokens, first), *last;

	if (first >= end)
		return g_strdup("");
	last = sql_token_at(tokens, end - 1);
	return g_strndup(begin->text, (gsize)(last->text + last->length - begin->text));
}
