#include "import/sniff_evidence.h"

#include <string.h>

enum {
	MAX_DEPTH = 64,
	MAX_LINE_BYTES = 4096,
	MAX_PREFIX_BYTES = 200, /* that launchers and loggers put before a line */
};

/* --- JSON ----------------------------------------------------------------------------------- */

/* What comes next: in an object a key or its end, behind a key a value. */
struct walk {
	const gchar *at, *end;
	gchar open[MAX_DEPTH]; /* '{' or '[' */
	guint depth;
};

struct member {
	const gchar *key, *value;
	gsize n_key;
	guint depth;
};

static void skip_space(struct walk *walk)
{
	while (walk->at < walk->end && (guchar)*walk->at <= ' ')
		walk->at++;
}

/* Past a string that begins here; false: it is not complete. */
static gboolean skip_string(struct walk *walk)
{
	for (walk->at++; walk->at < walk->end && *walk->at != '"'; walk->at++)
		if (*walk->at == '\\')
			walk->at++;
	if (walk->at >= walk->end)
		return FALSE;
	walk->at++;
	return TRUE;
}

/* A number, or one of the words that stand for themselves, as writers of traces have them too. */
static gboolean skip_word(struct walk *walk)
{
	static const gchar *const words[] = { "true", "false",	  "null", "nan",
					      "inf",  "infinity", "none", "undefined" };
	const gchar *begin = walk->at;
	gsize n_sign;

	while (walk->at < walk->end && (g_ascii_isalnum(*walk->at) || strchr("+-.", *walk->at)))
		walk->at++;
	n_sign = begin < walk->at && strchr("+-", *begin) ? 1 : 0;
	if (walk->at > begin + n_sign && (g_ascii_isdigit(begin[n_sign]) || begin[n_sign] == '.'))
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if ((gsize)(walk->at - begin) == n_sign + strlen(words[i]) &&
		    g_ascii_strncasecmp(begin + n_sign, words[i], strlen(words[i])) == 0)
			return TRUE;
	return FALSE;
}

/* Into an object or an array, or past a plain value. */
static gboolean enter_value(struct walk *walk)
{
	skip_space(walk);
	if (walk->at >= walk->end)
		return FALSE;
	if (*walk->at == '{' || *walk->at == '[') {
		if (walk->depth == MAX_DEPTH)
			return FALSE;
		walk->open[walk->depth++] = *walk->at++;
		return TRUE;
	}
	return *walk->at == '"' ? skip_string(walk) : skip_word(walk);
}

/* Past commas and ends of objects and arrays; false: something ends that never began. */
static gboolean leave_values(struct walk *walk)
{
	for (skip_space(walk); walk->at < walk->end; skip_space(walk)) {
		if (*walk->at == '}' || *walk->at == ']') {
			if (!walk->depth ||
			    walk->open[walk->depth - 1] != (*walk->at == '}' ? '{' : '['))
				return FALSE;
			walk->depth--;
		} else if (*walk->at != ',') {
			return TRUE;
		}
		walk->at++;
	}
	return FALSE;
}

/* The next member anywhere, entered where its value has members of its own. */
static gboolean next_member(struct walk *walk, struct member *member)
{
	while (leave_values(walk)) {
		gboolean is_object = walk->depth && walk->open[walk->depth - 1] == '{';

		if (!walk->depth && *walk->at != '{' && *walk->at != '[')
			return FALSE;
		if (!is_object) {
			if (!enter_value(walk))
				return FALSE;
			continue;
		}
		if (*walk->at != '"')
			return FALSE;
		member->key = walk->at + 1;
		member->depth = walk->depth;
		if (!skip_string(walk))
			return FALSE;
		member->n_key = (gsize)(walk->at - 1 - member->key);
		skip_space(walk);
		if (walk->at >= walk->end || *walk->at++ != ':')
			return FALSE;
		skip_space(walk);
		member->value = walk->at;
		if (walk->at >= walk->end)
			return FALSE;
		enter_value(walk); /* one that is cut ends the walk next time */
		return TRUE;
	}
	return FALSE;
}

static gboolean find_member(const struct sniff_input *input, const gchar *key, guint max_depth,
			    const gchar *begins, const gchar *prefix)
{
	struct walk walk = { .at = input->head, .end = input->head + input->n_head };
	gsize n_key = strlen(key), n_prefix = prefix ? strlen(prefix) : 0;
	struct member member;

	if (input->is_folder || !memmem(input->head, input->n_head, key, n_key))
		return FALSE; /* most have no such word */
	if (g_str_has_prefix(walk.at, "\xef\xbb\xbf"))
		walk.at += 3;
	while (next_member(&walk, &member)) {
		gsize n_left = (gsize)(walk.end - member.value);

		if (member.depth > max_depth || member.n_key != n_key ||
		    memcmp(member.key, key, n_key) != 0)
			continue;
		if (begins && strchr(begins, *member.value) && *member.value)
			return TRUE;
		if (prefix && n_left > n_prefix && *member.value == '"' &&
		    memcmp(member.value + 1, prefix, n_prefix) == 0)
			return TRUE;
	}
	return FALSE;
}

gboolean json_head_has(const struct sniff_input *input, const gchar *key, guint max_depth,
		       const gchar *begins)
{
	return find_member(input, key, max_depth, begins, NULL);
}

gboolean json_head_has_text(const struct sniff_input *input, const gchar *key, guint max_depth,
			    const gchar *prefix)
{
	return find_member(input, key, max_depth, NULL, prefix);
}

/* --- logs ----------------------------------------------------------------------------------- */

gboolean sniff_is_document(const struct sniff_input *input)
{
	static const gchar *const endings[] = {
		".md",	  ".markdown", ".rst",	".adoc", ".html", ".htm",   ".tex",  ".org",
		".py",	  ".pyi",      ".c",	".h",	 ".cc",	  ".cpp",   ".hpp",  ".cu",
		".cuh",	  ".js",       ".ts",	".go",	 ".rs",	  ".jl",    ".java", ".sh",
		".yml",	  ".yaml",     ".toml", ".ini",	 ".cfg",  ".cmake", ".diff", ".patch",
		".ipynb", ".css",      ".svg",	".xml",	 ".1",
	};

	for (guint i = 0; i < G_N_ELEMENTS(endings); i++)
		if (g_str_has_suffix(input->name, endings[i]))
			return TRUE;
	return g_str_has_prefix(input->head, "```") || strstr(input->head, "\n```") ||
	       g_str_has_prefix(input->head, "#!");
}

/* Whether `mark`, in the line from `line` on, stands there in quotes, in a comment, a list or a table. */
static gboolean is_quoted(const gchar *line, const gchar *mark)
{
	static const gchar *const begins[] = { "//", "> ", "* ", "- ", "|", "$ ", "+", "<" };
	const gchar *text = line + strspn(line, " \t");

	if (mark - line > MAX_PREFIX_BYTES)
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(begins); i++)
		if (mark > text && g_str_has_prefix(text, begins[i]))
			return TRUE;
	for (; line < mark; line++)
		if (*line == '`' || *line == '"' || *line == '\'')
			return TRUE;
	return FALSE;
}

/* The first mark in [line, end); NULL: there is none. */
static const gchar *find_mark(const gchar *line, const gchar *end, const gchar *const *marks,
			      guint n_marks)
{
	const gchar *first = NULL;

	for (guint i = 0; i < n_marks; i++) {
		const gchar *found = memmem(line, (gsize)(end - line), marks[i], strlen(marks[i]));

		if (found && (!first || found < first))
			first = found;
	}
	return first;
}

static gboolean is_evidence(const gchar *line, const gchar *end, const gchar *const *marks,
			    guint n_marks, gboolean (*is_line)(gchar *line))
{
	const gchar *mark = find_mark(line, end, marks, n_marks);
	g_autofree gchar *copy = NULL;

	if (!mark || is_quoted(line, mark) || end - mark > MAX_LINE_BYTES)
		return FALSE;
	copy = g_strndup(mark, (gsize)(end - mark));
	return is_line(copy);
}

gboolean sniff_log_lines(const struct sniff_input *input, const gchar *const *marks, guint n_marks,
			 guint n_least, guint max_apart, gboolean (*is_line)(gchar *line))
{
	const gchar *end = input->head + input->n_head, *line = input->head;
	guint n_found = 0, n_lines = 0; /* from the first found one on */
	gboolean is_first = TRUE, has_first = FALSE;

	if (input->is_folder || !find_mark(line, end, marks, n_marks) || sniff_is_document(input))
		return FALSE;
	while (line < end) {
		const gchar *newline = memchr(line, '\n', (gsize)(end - line));
		const gchar *line_end = newline ? newline : end;
		gboolean is_blank = line + strspn(line, " \t\r") >= line_end;
		gboolean is_found =
			!is_blank && is_evidence(line, line_end, marks, n_marks, is_line);

		has_first |= is_found && is_first;
		is_first &= is_blank;
		n_found += is_found;
		n_lines += n_found && !is_blank;
		line = line_end + 1;
	}
	return (n_found >= n_least || has_first) &&
	       (!max_apart || (guint64)n_found * max_apart >= n_lines);
}
