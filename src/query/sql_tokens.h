/* sql_tokens: the words, numbers and marks of a statement that SQLite has found nothing wrong with. */
#ifndef TACHO_SQL_TOKENS_H
#define TACHO_SQL_TOKENS_H

#include <glib.h>

enum sql_token_kind {
	SQL_WORD, /* a name or keyword */
	SQL_NUMBER,
	SQL_STRING, /* 'text' */
	SQL_QUOTED, /* "name" */
	SQL_MARK,   /* one character of all else: (, +, < ... */
};

struct sql_token {
	enum sql_token_kind kind;
	const gchar *text; /* in the statement */
	gsize length;
	guint depth; /* parentheses around it; those are outside of themselves */
};

/* The statement's tokens, up to its end or the first ';' (struct sql_token); the caller's. Comments are none. */
GArray *sql_tokens(const gchar *sql);

static inline const struct sql_token *sql_token_at(const GArray *tokens, guint i)
{
	return &g_array_index(tokens, struct sql_token, i);
}

/* Whether it is that word, in whatever case; or that mark. */
gboolean sql_token_is(const struct sql_token *token, const gchar *text);
/* Whether both say the same: words in whatever case. */
gboolean sql_tokens_equal(const struct sql_token *one, const struct sql_token *other);
/* What it names: without quotes, in small letters. The caller's. */
gchar *sql_token_name(const struct sql_token *token);
/* The text from token `first` to before `end`; the caller's. */
gchar *sql_tokens_text(const GArray *tokens, guint first, guint end);

#endif
