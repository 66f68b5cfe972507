#include "query/query_split.h"

#include <string.h>

#include <tacho/query.h>

#include "base/for_each.h"
#include "query/sql_tokens.h"

enum clause {
	CLAUSE_SELECT,
	CLAUSE_FROM,
	CLAUSE_WHERE,
	CLAUSE_GROUP,
	CLAUSE_HAVING,
	CLAUSE_ORDER,
	CLAUSE_LIMIT,
	N_CLAUSES
};

static const gchar *const clause_words[N_CLAUSES] = { "select", "from",	 "where", "group",
						      "having", "order", "limit" };

/* Tokens from `first` to before `end`. */
struct range {
	guint first, end;
};

struct output {
	struct range expression;
	gchar *alias; /* in small letters; NULL: none */
};

struct splitter {
	const GArray *tokens;
	GHashTable *columns;
	struct range clauses[N_CLAUSES]; /* without their words; empty: there is none */
	GArray *outputs;		 /* struct output */
	GArray *groups;			 /* struct range */
	GPtrArray *parts;		 /* gchar *: the columns of the part */
	GArray *is_sum;
	GError **error;
};

/* What no statement may have that is split: rows depend on each other in another way, or in an order. */
static const gchar *const refused_words[] = {
	"with",	   "union",   "intersect", "except", "values",	"distinct", "over",
	"filter",  "window",  "exists",	   "left",   "right",	"full",	    "outer",
	"natural", "collate", "explain",   "cross",  "indexed", "raise",
};

/* Words of an expression that are no names. */
static const gchar *const keywords[] = {
	"and",	  "or",	     "not",	"is",	 "null", "in",	    "like",
	"glob",	  "between", "case",	"when",	 "then", "else",    "end",
	"cast",	  "as",	     "integer", "real",	 "text", "asc",	    "desc",
	"isnull", "notnull", "nulls",	"first", "last", "numeric", "escape",
};

/* Functions that SQLite has by itself, and whose result hangs on nothing but what they are given. */
static const gchar *const functions[] = {
	"abs",	  "round", "length", "lower",  "upper",	 "substr", "replace", "coalesce", "ifnull",
	"nullif", "iif",   "instr",  "printf", "format", "trim",   "cast",    "in",
};

static const gchar *const aggregates[] = { "count", "sum", "min", "max", "avg" };

static gboolean is_among(const struct sql_token *token, const gchar *const *words, gsize n)
{
	for (gsize i = 0; i < n; i++)
		if (sql_token_is(token, words[i]))
			return TRUE;
	return FALSE;
}

static gboolean refuse(struct splitter *splitter, const struct sql_token *token,
		       const gchar *reason)
{
	g_set_error(splitter->error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
		    "several processes cannot answer this: '%.*s' %s; run it as one process, "
		    "without the launcher",
		    (int)MIN(token->length, 200), token->text, reason);
	return FALSE;
}

static const struct sql_token *at(const struct splitter *splitter, guint i)
{
	return sql_token_at(splitter->tokens, i);
}

static gboolean is_empty(struct range range)
{
	return range.first >= range.end;
}

/* --- clauses ------------------------------------------------------------------------------------ */

/* Where the clause's word is, from `from` on; the end where there is none. */
static guint find_clause(const struct splitter *splitter, enum clause clause, guint from)
{
	while (from < splitter->tokens->len &&
	       !(at(splitter, from)->depth == 0 &&
		 sql_token_is(at(splitter, from), clause_words[clause])))
		from++;
	return from;
}

static gboolean find_clauses(struct splitter *splitter)
{
	guint n = splitter->tokens->len, last = N_CLAUSES;

	for (guint i = 0; i < n; i++) {
		if (is_among(at(splitter, i), refused_words, G_N_ELEMENTS(refused_words)))
			return refuse(splitter, at(splitter, i), "is more than sums of slices");
		if (i && sql_token_is(at(splitter, i), "select"))
			return refuse(splitter, at(splitter, i), "stands within another statement");
	}
	if (!n || !sql_token_is(at(splitter, 0), "select"))
		return n ? refuse(splitter, at(splitter, 0), "is not SELECT") : FALSE;
	for (guint clause = 0; clause < N_CLAUSES; clause++) {
		guint from = last == N_CLAUSES ? 0 : splitter->clauses[last].first;
		guint word = find_clause(splitter, clause, from);

		if (word == n)
			continue;
		if (last != N_CLAUSES)
			splitter->clauses[last].end = word;
		/* GROUP BY and ORDER BY are two words */
		splitter->clauses[clause].first =
			word + (clause == CLAUSE_GROUP || clause == CLAUSE_ORDER ? 2 : 1);
		splitter->clauses[clause].end = n;
		last = clause;
	}
	return TRUE;
}

/* The next term of a list, up to a comma that is outside of parentheses; false: there is none. */
static gboolean next_term(const struct splitter *splitter, struct range *left, struct range *ret)
{
	guint i = left->first;

	if (is_empty(*left))
		return FALSE;
	while (i < left->end && !(at(splitter, i)->depth == at(splitter, left->first)->depth &&
				  sql_token_is(at(splitter, i), ",")))
		i++;
	*ret = (struct range){ left->first, i };
	left->first = i + 1;
	return TRUE;
}

/* Of tables there is `slice`, once. */
static gboolean check_tables(struct splitter *splitter)
{
	struct range from = splitter->clauses[CLAUSE_FROM];
	guint n_slices = 0;

	for (guint i = from.first; i < from.end; i++) {
		gboolean is_table =
			i == from.first || (at(splitter, i - 1)->depth == 0 &&
					    (sql_token_is(at(splitter, i - 1), ",") ||
					     sql_token_is(at(splitter, i - 1), "join")));

		/* however else a table can be written, it may be slices again */
		if (is_table && (at(splitter, i)->kind != SQL_WORD ||
				 (i + 1 < from.end && sql_token_is(at(splitter, i + 1), "."))))
			return refuse(splitter, at(splitter, i), "is no plain name of a table");
		n_slices += is_table && sql_token_is(at(splitter, i), "slice");
	}
	return n_slices == 1 ||
	       refuse(splitter, at(splitter, from.first), "does not begin with slices, once");
}

/* --- what is shown, and grouped by ------------------------------------------------------------------ */

static gboolean is_keyword(const struct sql_token *token)
{
	return is_among(token, keywords, G_N_ELEMENTS(keywords));
}

/* Whether a name behind the token is an alias, though AS is not said. */
static gboolean ends_expression(const struct sql_token *token)
{
	return token->kind == SQL_MARK ? sql_token_is(token, ")")
				       : !is_keyword(token) || sql_token_is(token, "end");
}

static struct output read_output(const struct splitter *splitter, struct range term)
{
	struct output output = { term, NULL };
	guint last = term.end - 1;

	if (term.end - term.first < 2 || at(splitter, last)->kind == SQL_MARK ||
	    at(splitter, last)->kind == SQL_NUMBER || is_keyword(at(splitter, last)))
		return output;
	if (term.end - term.first > 2 && sql_token_is(at(splitter, last - 1), "as"))
		output.expression.end = last - 1;
	else if (ends_expression(at(splitter, last - 1)))
		output.expression.end = last;
	else
		return output;
	output.alias = sql_token_name(at(splitter, last));
	return output;
}

static gboolean is_part_name(const gchar *alias)
{
	return alias[0] == 'c' && alias[1] && strspn(alias + 1, "0123456789") == strlen(alias + 1);
}

static gboolean read_outputs(struct splitter *splitter)
{
	struct range left = splitter->clauses[CLAUSE_SELECT], term;

	if (!is_empty(left) && sql_token_is(at(splitter, left.first), "all"))
		left.first++;
	while (next_term(splitter, &left, &term)) {
		struct output output;

		if (is_empty(term))
			return refuse(splitter, at(splitter, term.first), "is not understood");
		output = read_output(splitter, term);
		g_array_append_val(splitter->outputs, output);
		if (output.alias && is_part_name(output.alias))
			return refuse(splitter, at(splitter, term.end - 1),
				      "is what a column of the parts is called");
	}
	return TRUE;
}

/* NULL: none is called so. */
static const struct output *find_alias(const struct splitter *splitter,
				       const struct sql_token *token)
{
	g_autofree gchar *name = sql_token_name(token);

	if (token->kind != SQL_WORD && token->kind != SQL_QUOTED)
		return NULL;
	FOR_EACH(const struct output, output, splitter->outputs)
		if (g_strcmp0(output->alias, name) == 0)
			return output;
	return NULL;
}

static gboolean is_one_word(const struct splitter *splitter, struct range range,
			    const struct sql_token *word)
{
	return range.end - range.first == 1 && sql_tokens_equal(at(splitter, range.first), word);
}

/* A number in GROUP BY is that of a column, an alias the column's; see (2). */
static gboolean resolve_group(struct splitter *splitter, struct range *term)
{
	const struct sql_token *token = at(splitter, term->first);
	const struct output *output;
	g_autofree gchar *name = NULL;
	guint64 number;

	if (term->end - term->first != 1)
		return TRUE;
	if (token->kind == SQL_NUMBER) {
		number = g_ascii_strtoull(token->text, NULL, 10);
		if (!number || number > splitter->outputs->len)
			return refuse(splitter, token, "is no column of it");
		*term = g_array_index(splitter->outputs, struct output, number - 1).expression;
		return TRUE;
	}
	output = find_alias(splitter, token);
	if (!output || is_one_word(splitter, output->expression, token))
		return TRUE;
	name = sql_token_name(token);
	if (g_hash_table_contains(splitter->columns, name))
		return refuse(splitter, token, "is both an alias and a column");
	*term = output->expression;
	return TRUE;
}

static guint add_part(struct splitter *splitter, gchar *text, gboolean is_sum)
{
	g_ptr_array_add(splitter->parts, text);
	g_array_append_val(splitter->is_sum, is_sum);
	return splitter->parts->len - 1;
}

/* No sums; and a CAST compares as its type, which a column of the part would not. */
static gboolean can_be_grouped_by(const struct splitter *splitter, guint i, guint end)
{
	return i + 1 >= end || !sql_token_is(at(splitter, i + 1), "(") ||
	       !(sql_token_is(at(splitter, i), "cast") ||
		 is_among(at(splitter, i), aggregates, G_N_ELEMENTS(aggregates)));
}

static gboolean read_groups(struct splitter *splitter)
{
	struct range left = splitter->clauses[CLAUSE_GROUP], term;

	while (next_term(splitter, &left, &term)) {
		if (!resolve_group(splitter, &term))
			return FALSE;
		for (guint i = term.first; i < term.end; i++)
			if (!can_be_grouped_by(splitter, i, term.end))
				return refuse(splitter, at(splitter, i), "cannot be grouped by");
		g_array_append_val(splitter->groups, term);
		add_part(splitter, sql_tokens_text(splitter->tokens, term.first, term.end), FALSE);
	}
	return TRUE;
}

/* --- expressions --------------------------------------------------------------------------------- */

/* The token that closes the parenthesis. */
static guint find_close(const struct splitter *splitter, guint open)
{
	guint i = open + 1;

	while (i < splitter->tokens->len && !(at(splitter, i)->depth == at(splitter, open)->depth &&
					      sql_token_is(at(splitter, i), ")")))
		i++;
	return i;
}

/* Whether it is one operand, whatever stands around it: a name, a call, or something in parentheses. */
static gboolean is_operand(const struct splitter *splitter, struct range range)
{
	guint open = range.first + !sql_token_is(at(splitter, range.first), "(");

	if (is_keyword(at(splitter, range.first))) /* NOT (x) + 1 */
		return FALSE;
	for (guint i = range.first; i < range.end; i += 2)
		if (at(splitter, i)->kind == SQL_MARK ||
		    (i + 1 < range.end && !sql_token_is(at(splitter, i + 1), ".")))
			return open < range.end && sql_token_is(at(splitter, open), "(") &&
			       find_close(splitter, open) + 1 == range.end;
	return TRUE;
}

/* Whether no operator takes a part of [first, end) away, of an expression that ends at `all_end`. */
static gboolean stands_alone(const struct splitter *splitter, guint first, guint end, guint all_end)
{
	const struct sql_token *before = at(splitter, MAX(first, 1u) - 1);
	const struct sql_token *behind = end < all_end ? at(splitter, end) : NULL;

	return (sql_token_is(before, "(") || sql_token_is(before, ",") ||
		sql_token_is(before, "select") || sql_token_is(before, "by") ||
		sql_token_is(before, "having")) &&
	       (!behind || sql_token_is(behind, ")") || sql_token_is(behind, ",") ||
		sql_token_is(behind, "asc") || sql_token_is(behind, "desc"));
}

static gboolean is_group_at(const struct splitter *splitter, struct range group, guint i, guint end)
{
	guint n = group.end - group.first;

	for (guint k = 0; k < n; k++)
		if (i + k >= end ||
		    !sql_tokens_equal(at(splitter, i + k), at(splitter, group.first + k)))
			return FALSE;
	if (i && sql_token_is(at(splitter, i - 1), "."))
		return FALSE;
	if (i + n < end &&
	    (sql_token_is(at(splitter, i + n), ".") || sql_token_is(at(splitter, i + n), "(")))
		return FALSE;
	return is_operand(splitter, group) || stands_alone(splitter, i, i + n, end);
}

/* The number of the group that stands there, and where it ends; -1: none does. The longest counts. */
static gint find_group(const struct splitter *splitter, guint i, guint end, guint *ret_end)
{
	gint found = -1;

	FOR_EACH_AT(const struct range, group, number, splitter->groups) {
		guint n = group->end - group->first;

		if (is_group_at(splitter, *group, i, end) && (found < 0 || i + n > *ret_end)) {
			found = (gint)number;
			*ret_end = i + n;
		}
	}
	return found;
}

static guint part_of(struct splitter *splitter, const gchar *function, const gchar *argument)
{
	g_autofree gchar *text = g_strdup_printf("%s(%s)", function, argument);

	for (guint i = splitter->groups->len; i < splitter->parts->len; i++)
		if (strcmp(g_ptr_array_index(splitter->parts, i), text) == 0)
			return i;
	return add_part(splitter, g_steal_pointer(&text), strcmp(function, "sum") == 0);
}

/* Put what stands for the aggregate at token `i`, whose parenthesis closes at `close`. */
static gboolean put_aggregate(struct splitter *splitter, guint i, guint close, GString *out)
{
	g_autofree gchar *function = sql_token_name(at(splitter, i));
	g_autofree gchar *argument = sql_tokens_text(splitter->tokens, i + 2, close);
	struct range left = { i + 2, close }, term;

	if (is_empty(left) || (next_term(splitter, &left, &term) && term.end != close))
		return refuse(splitter, at(splitter, i), "is not of one value");
	if (strcmp(function, "avg") == 0) {
		guint sum = part_of(splitter, "sum", argument);
		guint count = part_of(splitter, "count", argument);

		g_string_append_printf(out, "(CAST(sum(c%u) AS REAL) / sum(c%u))", sum, count);
	} else {
		g_string_append_printf(out, "%s(c%u)",
				       strcmp(function, "count") == 0 ? "sum" : function,
				       part_of(splitter, function, argument));
	}
	return TRUE;
}

static void put_alias(GString *out, const gchar *alias)
{
	g_string_append_c(out, '"');
	for (; *alias; alias++)
		g_string_append_printf(out, *alias == '"' ? "\"%c" : "%c", *alias);
	g_string_append_c(out, '"');
}

/* One token that is neither a group nor an aggregate. */
static gboolean put_token(struct splitter *splitter, guint i, guint end, gboolean with_aliases,
			  GString *out)
{
	const struct sql_token *token = at(splitter, i);
	const struct output *output = with_aliases ? find_alias(splitter, token) : NULL;
	gboolean is_column = output && g_hash_table_contains(splitter->columns, output->alias);
	gboolean is_called = i + 1 < end && sql_token_is(at(splitter, i + 1), "(");

	if (token->kind == SQL_WORD && is_called) {
		if (!is_among(token, functions, G_N_ELEMENTS(functions)) && !is_keyword(token))
			return refuse(splitter, token, "is not a function that can be put on sums");
	} else if (is_column) { /* (2) */
		return refuse(splitter, token, "is both an alias and a column");
	} else if (output) {
		put_alias(out, output->alias);
		return TRUE;
	} else if ((token->kind == SQL_WORD && !is_keyword(token)) || token->kind == SQL_QUOTED ||
		   (token->kind == SQL_MARK && strchr("[`?:@$", *token->text))) {
		return refuse(splitter, token,
			      "stands neither in GROUP BY nor in count, sum, min, max or avg");
	}
	g_string_append_len(out, token->text, (gssize)token->length);
	return TRUE;
}

/* An expression as the whole has it. */
static gboolean put_expression(struct splitter *splitter, struct range range, gboolean with_aliases,
			       GString *out)
{
	for (guint i = range.first; i < range.end;) {
		const struct sql_token *token = at(splitter, i);
		guint next = i + 1;
		gint group;

		if (i > range.first &&
		    at(splitter, i - 1)->text + at(splitter, i - 1)->length != token->text)
			g_string_append_c(out, ' ');
		group = find_group(splitter, i, range.end, &next);
		if (group >= 0) {
			g_string_append_printf(out, "c%d", group);
		} else if (next < range.end && sql_token_is(at(splitter, next), "(") &&
			   is_among(token, aggregates, G_N_ELEMENTS(aggregates))) {
			guint close = find_close(splitter, next);

			if (!put_aggregate(splitter, i, close, out))
				return FALSE;
			next = close + 1;
		} else if (!put_token(splitter, i, range.end, with_aliases, out)) {
			return FALSE;
		}
		i = next;
	}
	return TRUE;
}

/* --- the whole ----------------------------------------------------------------------------------- */

static gboolean put_outputs(struct splitter *splitter, GString *out)
{
	FOR_EACH_AT(const struct output, output, i, splitter->outputs) {
		g_string_append(out, i ? ", " : "SELECT ");
		if (!put_expression(splitter, output->expression, FALSE, out))
			return FALSE;
		if (output->alias) {
			g_string_append(out, " AS ");
			put_alias(out, output->alias);
		}
	}
	g_string_append(out, " FROM part");
	for (guint i = 0; i < splitter->groups->len; i++)
		g_string_append_printf(out, "%sc%u", i ? ", " : " GROUP BY ", i);
	return TRUE;
}

/* A column's number or alias stands for the column; else it is an expression. */
static gboolean put_order_term(struct splitter *splitter, struct range term, GString *out)
{
	const struct sql_token *token = at(splitter, term.first);
	gboolean is_alone = term.end - term.first == 1 ||
			    sql_token_is(at(splitter, term.first + 1), "asc") ||
			    sql_token_is(at(splitter, term.first + 1), "desc") ||
			    sql_token_is(at(splitter, term.first + 1), "nulls");
	const struct output *output = is_alone ? find_alias(splitter, token) : NULL;

	if (!output)
		return put_expression(splitter, term, TRUE, out);
	put_alias(out, output->alias);
	g_string_append_c(out, ' ');
	term.first++;
	return put_expression(splitter, term, FALSE, out);
}

static gboolean put_order(struct splitter *splitter, GString *out)
{
	struct range left = splitter->clauses[CLAUSE_ORDER], term;
	const gchar *before = " ORDER BY ";

	while (next_term(splitter, &left, &term)) {
		g_string_append(out, before);
		if (is_empty(term) || !put_order_term(splitter, term, out))
			return FALSE;
		before = ", ";
	}
	return TRUE;
}

static gboolean put_whole(struct splitter *splitter, GString *out)
{
	struct range having = splitter->clauses[CLAUSE_HAVING];
	struct range limit = splitter->clauses[CLAUSE_LIMIT];
	g_autofree gchar *limit_text = sql_tokens_text(splitter->tokens, limit.first, limit.end);

	if (!put_outputs(splitter, out))
		return FALSE;
	if (!is_empty(having)) {
		g_string_append(out, " HAVING ");
		if (!put_expression(splitter, having, TRUE, out))
			return FALSE;
	}
	if (!put_order(splitter, out))
		return FALSE;
	if (!is_empty(limit))
		g_string_append_printf(out, " LIMIT %s", limit_text);
	return splitter->parts->len > 0 ||
	       refuse(splitter, at(splitter, 0), "lists slices and sums up nothing");
}

static gchar *make_part(const struct splitter *splitter)
{
	const struct range *clauses = splitter->clauses;
	g_autofree gchar *from = sql_tokens_text(splitter->tokens, clauses[CLAUSE_FROM].first,
						 clauses[CLAUSE_FROM].end);
	g_autofree gchar *where = sql_tokens_text(splitter->tokens, clauses[CLAUSE_WHERE].first,
						  clauses[CLAUSE_WHERE].end);
	GString *part = g_string_new("SELECT ");

	for (guint i = 0; i < splitter->parts->len; i++)
		g_string_append_printf(part, "%s%s", i ? ", " : "",
				       (const gchar *)g_ptr_array_index(splitter->parts, i));
	g_string_append_printf(part, " FROM %s", from);
	if (*where)
		g_string_append_printf(part, " WHERE %s", where);
	for (guint i = 0; i < splitter->groups->len; i++)
		g_string_append_printf(part, "%s%s", i ? ", " : " GROUP BY ",
				       (const gchar *)g_ptr_array_index(splitter->parts, i));
	return g_string_free(part, FALSE);
}

static void release_output(gpointer output)
{
	g_free(((struct output *)output)->alias);
}

static gboolean split_tokens(struct splitter *splitter, GString *whole)
{
	return find_clauses(splitter) && check_tables(splitter) && read_outputs(splitter) &&
	       read_groups(splitter) && put_whole(splitter, whole);
}

gboolean query_split_init(struct query_split *split, const gchar *sql, GHashTable *columns,
			  GError **error)
{
	g_autoptr(GArray) tokens = sql_tokens(sql);
	g_autoptr(GArray) outputs = g_array_new(FALSE, FALSE, sizeof(struct output));
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct range));
	g_autoptr(GArray) is_sum = g_array_new(FALSE, FALSE, sizeof(gboolean));
	g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GString) whole = g_string_new(NULL);
	struct splitter splitter = { .tokens = tokens,
				     .columns = columns,
				     .outputs = outputs,
				     .groups = groups,
				     .parts = parts,
				     .is_sum = is_sum,
				     .error = error };

	g_array_set_clear_func(outputs, release_output);
	if (!split_tokens(&splitter, whole))
		return FALSE;
	*split = (struct query_split){
		.part = make_part(&splitter),
		.whole = g_string_free(g_steal_pointer(&whole), FALSE),
		.n_groups = groups->len,
		.is_sum = g_steal_pointer(&is_sum),
	};
	return TRUE;
}

void query_split_release(struct query_split *split)
{
	g_free(split->part);
	g_free(split->whole);
	g_array_unref(split->is_sum);
}
