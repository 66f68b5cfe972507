/* symbol_name: names of C++ functions, as people call them.
 *
 *     void at::native::reduce_kernel<512, 1, at::native::Sum<float> >(at::native::Sum<float>)
 *     ---- ------------ ------------- ---------------------------- --------------------------
 *     returns  scope         name             arguments                  parameters
 *
 * Brackets of all kinds nest; what is in them belongs to what they follow. A name whose brackets do not close is left
 * as it is. */
#include "base/symbol_name.h"

#include <string.h>

#include "base/for_each.h"
#include "base/text_groups.h"

#define ANONYMOUS "(anonymous namespace)"

struct symbol {
	const gchar *name;	/* behind what it returns and its scope */
	gsize name_length;	/* without arguments */
	const gchar *arguments; /* between the outermost < and >; NULL: none */
	gsize arguments_length;
};

static gboolean is_word(gchar c)
{
	return g_ascii_isalnum(c) || c == '_' || c == '$';
}

/* Where the bracket at `open` closes, or NULL. */
static const gchar *find_close(const gchar *open)
{
	gint depth = 0;

	for (const gchar *at = open; *at; at++) {
		if (strchr("<([{", *at))
			depth++;
		else if (strchr(")]}", *at) || (*at == '>' && at > open && at[-1] != '-'))
			depth--;
		if (depth == 0)
			return at;
	}
	return NULL;
}

/* Whether "(", "<" and their like at `at` are part of "operator()", "operator<" ... */
static gboolean is_operator(const gchar *text, const gchar *at)
{
	gsize length = strlen("operator");

	return (gsize)(at - text) >= length && strncmp(at - length, "operator", length) == 0;
}

static const gchar *skip_operator(const gchar *at)
{
	if (g_str_has_prefix(at, "()"))
		return at + 1;
	while (at[1] == '<' || at[1] == '=')
		at++;
	return at;
}

/* Whether nothing follows parameters but what compilers write there. */
static gboolean ends_after(const gchar *close)
{
	return close[1] == '\0' || g_str_has_prefix(close, ") const") ||
	       g_str_has_prefix(close, ") [clone") || g_str_has_prefix(close, ") (.kd)");
}

/* Take the name apart. False: it is none of C++, or its brackets do not close. */
static gboolean parse(const gchar *text, struct symbol *symbol)
{
	gboolean has_sign = FALSE; /* of more than a scope: "aten::mm" is whole */

	*symbol = (struct symbol){ .name = text };
	for (const gchar *at = text; *at; at++) {
		const gchar *close;

		if (*at == ' ' || (at[0] == ':' && at[1] == ':')) {
			has_sign |= at == text + strlen("void") && g_str_has_prefix(text, "void ");
			at += *at == ':';
			*symbol = (struct symbol){ .name = at + 1 };
			continue;
		}
		if (!strchr("<([{", *at))
			continue;
		if (is_operator(text, at)) {
			at = skip_operator(at);
			continue;
		}
		close = find_close(at);
		if (!close)
			return FALSE;
		if (*at == '(' && !g_str_has_prefix(at, ANONYMOUS) && at > symbol->name) {
			/* Parameters follow the name at once; "Memcpy HtoD (Pageable -> Device)" has none. */
			if (symbol->name_length == 0)
				symbol->name_length = (gsize)(at - symbol->name);
			return is_word(*symbol->name) && ends_after(close);
		}
		if (*at == '<' && at > symbol->name) {
			symbol->name_length = (gsize)(at - symbol->name);
			symbol->arguments = at + 1;
			symbol->arguments_length = (gsize)(close - at - 1);
			has_sign = TRUE;
		}
		at = close;
	}
	if (symbol->name_length == 0)
		symbol->name_length = strlen(symbol->name);
	return has_sign && is_word(*symbol->name);
}

/* --- arguments ---------------------------------------------------------------------------------- */

/* Where an argument that goes on at `at` is over: at the comma or bracket that ends it, or `end`. */
static const gchar *find_argument_end(const gchar *at, const gchar *end)
{
	while (at < end && !strchr(",>)]}", *at)) {
		const gchar *close = strchr("<([{", *at) ? find_close(at) : NULL;

		at = (close && close < end ? close : at) + 1;
	}
	return at;
}

/* Without the scopes of the names in it; with `is_brief` also without what is inside functions (their lambdas), and
 * their parameters. */
static void append_without_scopes(GString *to, const gchar *text, gsize length, gboolean is_brief)
{
	const gchar *end = text + length;
	gsize begin = to->len; /* of the word, in `to` */

	for (const gchar *at = text; at < end; at++) {
		if (g_str_has_prefix(at, ANONYMOUS "::") && at + strlen(ANONYMOUS "::") < end) {
			at += strlen(ANONYMOUS "::") - 1;
			continue;
		}
		if (at[0] == ':' && at[1] == ':' && at + 1 < end) {
			g_string_truncate(to, begin);
			at++;
			continue;
		}
		if (*at == ' ' && at + 1 < end && at[1] == '>')
			continue;
		if (is_brief && *at == '(' && to->len > 0 &&
		    (is_word(to->str[to->len - 1]) || to->str[to->len - 1] == '>')) {
			at = find_argument_end(at, end) - 1;
			continue;
		}
		g_string_append_c(to, *at);
		if (!is_word(*at))
			begin = to->len;
	}
}

/* The arguments, gchar * each, without scopes. */
static GPtrArray *split_arguments(const struct symbol *symbol, gboolean is_brief)
{
	GPtrArray *arguments = g_ptr_array_new_with_free_func(g_free);
	const gchar *end = symbol->arguments + symbol->arguments_length, *begin = symbol->arguments;

	for (const gchar *at = begin; begin && at <= end; at++) {
		GString *argument;

		if (at < end && *at != ',') {
			if (strchr("<([{", *at))
				at = find_close(at);
			if (!at || at >= end) /* an operator's sign among them */
				at = end - 1;
			continue;
		}
		while (begin < at && *begin == ' ')
			begin++;
		argument = g_string_new(NULL);
		append_without_scopes(argument, begin, (gsize)(at - begin), is_brief);
		g_ptr_array_add(arguments, g_strchomp(g_string_free(argument, FALSE)));
		begin = at + 1;
	}
	return arguments;
}

/* Names that say nothing without their arguments. */
static gboolean is_general(const struct symbol *symbol)
{
	static const gchar *const names[] = { "Kernel",	      "Kernel2", "kernel",
					      "kernel_impl",  "run",	 "device_kernel",
					      "operator()",   "invoke",	 "type",
					      "DefaultKernel" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strlen(names[i]) == symbol->name_length &&
		    strncmp(names[i], symbol->name, symbol->name_length) == 0)
			return TRUE;
	return FALSE;
}

/* With the arguments at the places that are wanted (NULL: all); of none the name alone. */
static gchar *with_arguments(const struct symbol *symbol, const GPtrArray *arguments,
			     const gboolean *is_wanted)
{
	GString *text = g_string_new_len(symbol->name, (gssize)symbol->name_length);
	const gchar *comma = "<";

	for (guint i = 0; i < arguments->len; i++) {
		if (is_wanted && !is_wanted[i])
			continue;
		g_string_append_printf(text, "%s%s", comma,
				       (const gchar *)g_ptr_array_index(arguments, i));
		comma = ", ";
	}
	if (*comma == ',')
		g_string_append_c(text, '>');
	return g_string_free(text, FALSE);
}

gchar *symbol_name_short(const gchar *name)
{
	g_autoptr(GPtrArray) arguments = NULL;
	struct symbol symbol;

	if (!parse(name, &symbol))
		return g_strdup(name);
	if (!is_general(&symbol))
		return g_strndup(symbol.name, symbol.name_length);
	arguments = split_arguments(&symbol, TRUE);
	return with_arguments(&symbol, arguments, NULL);
}

/* --- several ------------------------------------------------------------------------------------ */

/* Different names that are the same in short: places in `names`. */
struct twins {
	const GPtrArray *names;
	GArray *places; /* guint */
};

static const gchar *twin_name(const struct twins *twins, guint i)
{
	return g_ptr_array_index(twins->names, g_array_index(twins->places, guint, i));
}

/* Whether the twins differ in the argument at each place; NULL: they have not the same number of them. */
static gboolean *find_differences(const struct twins *twins, const GPtrArray *first)
{
	gboolean *differs = g_new0(gboolean, first->len + 1);

	for (guint i = 1; i < twins->places->len; i++) {
		g_autoptr(GPtrArray) arguments = NULL;
		struct symbol symbol;

		if (!parse(twin_name(twins, i), &symbol))
			continue;
		arguments = split_arguments(&symbol, TRUE);
		if (arguments->len != first->len) {
			g_free(differs);
			return NULL;
		}
		for (guint k = 0; k < first->len; k++)
			differs[k] |= strcmp(g_ptr_array_index(first, k),
					     g_ptr_array_index(arguments, k)) != 0;
	}
	return differs;
}

/* Give each twin its arguments: those in which they differ, or all. */
static void name_with_arguments(const struct twins *twins, gboolean with_all, GPtrArray *shorts)
{
	g_autoptr(GPtrArray) first = NULL;
	g_autofree gboolean *differs = NULL;
	struct symbol symbol;

	if (!parse(twin_name(twins, 0), &symbol))
		return;
	first = split_arguments(&symbol, TRUE);
	if (!with_all)
		differs = find_differences(twins, first);
	for (guint i = 0; i < twins->places->len; i++) {
		gchar **text = (gchar **)&g_ptr_array_index(shorts,
							    g_array_index(twins->places, guint, i));
		g_autoptr(GPtrArray) arguments = NULL;

		if (!parse(twin_name(twins, i), &symbol))
			continue;
		arguments = split_arguments(&symbol, !with_all);
		g_free(*text);
		*text = with_arguments(&symbol, arguments, differs);
	}
}

static void name_whole(const struct twins *twins, GPtrArray *shorts)
{
	for (guint i = 0; i < twins->places->len; i++) {
		gchar **text = (gchar **)&g_ptr_array_index(shorts,
							    g_array_index(twins->places, guint, i));

		g_free(*text);
		*text = g_strdup(twin_name(twins, i));
	}
}

static gboolean has_different(const struct twins *twins)
{
	for (guint i = 1; i < twins->places->len; i++)
		if (strcmp(twin_name(twins, 0), twin_name(twins, i)) != 0)
			return TRUE;
	return FALSE;
}

/* The last twice: a whole name may be what another is in short. */
enum effort { DIFFERING_ARGUMENTS, ALL_ARGUMENTS, WHOLE, WHOLE_AGAIN, N_EFFORTS };

static void tell_apart(const GPtrArray *names, GPtrArray *shorts, enum effort effort)
{
	g_autoptr(GHashTable) places = text_groups(shorts);

	FOR_EACH_ENTRY(entry, places) {
		struct twins twins = { names, entry.value };

		if (!has_different(&twins))
			continue;
		if (effort >= WHOLE)
			name_whole(&twins, shorts);
		else
			name_with_arguments(&twins, effort == ALL_ARGUMENTS, shorts);
	}
}

GPtrArray *symbol_names_short(const GPtrArray *names)
{
	GPtrArray *shorts = g_ptr_array_new_full(names->len, g_free);

	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(shorts, symbol_name_short(g_ptr_array_index(names, i)));
	for (enum effort effort = DIFFERING_ARGUMENTS; effort < N_EFFORTS; effort++)
		tell_apart(names, shorts, effort);
	return shorts;
}
