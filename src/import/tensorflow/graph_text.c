/* The text form of protocol buffers: `name: value` and `name { ... }`, strings in quotes with backslashes, comments
 * from # on. A field is known by the names of the messages it is in: "node/attr/value/shape/dim". */
#include "import/tensorflow/graph_text.h"

#include <string.h>

#include "base/byte_stream.h"
#include "base/for_each.h"

enum {
	BUFFER_BYTES = 64 * 1024,
	MAX_TOKEN_BYTES = 4096, /* kept; of constants' values there is more */
	MAX_DEPTH = 32,
	MAX_NODES = 1 << 22,
};

enum token_kind {
	TOKEN_END,
	TOKEN_WORD, /* a name or a number */
	TOKEN_STRING,
	TOKEN_MARK, /* one of {}:[],;<> */
};

struct graph_text {
	struct tf_ops *ops;
	ByteStream *stream;
	gchar buffer[BUFFER_BYTES];
	gsize at, n;
	guint64 offset; /* of buffer[n] */
	GError *failure;
	GString *token;
	enum token_kind kind;
	GString *path;		  /* "/node/attr" */
	guint lengths[MAX_DEPTH]; /* of the path, by depth */
	guint depth;
	/* The node that is being read: */
	GString *name, *type, *key;
	GPtrArray *inputs;
	GArray *shape; /* gint64: of the attribute "shape" */
	gboolean has_shape;
	guint64 broken_offset;
	gboolean is_broken;
};

/* --- tokens --------------------------------------------------------------------------------- */

/* The next character without taking it; -1: there is none. */
static gint peek(struct graph_text *text)
{
	gssize n;

	if (text->at < text->n)
		return (guchar)text->buffer[text->at];
	if (text->failure)
		return -1;
	n = byte_stream_read(text->stream, text->buffer, BUFFER_BYTES, &text->failure);
	if (n <= 0)
		return -1;
	text->at = 0;
	text->n = (gsize)n;
	text->offset += (guint64)n;
	return (guchar)text->buffer[0];
}

static guint64 offset_of_next(const struct graph_text *text)
{
	return text->offset - (text->n - text->at);
}

static void keep(struct graph_text *text, gint c)
{
	if (text->token->len < MAX_TOKEN_BYTES)
		g_string_append_c(text->token, (gchar)c);
}

static void skip_space(struct graph_text *text)
{
	gint c;

	while ((c = peek(text)) >= 0 && (g_ascii_isspace((gchar)c) || c == '#')) {
		if (c == '#')
			while ((c = peek(text)) >= 0 && c != '\n')
				text->at++;
		else
			text->at++;
	}
}

/* Behind the opening quote. An escaped character stands for itself: names have none that do not. */
static void read_string(struct graph_text *text, gint quote)
{
	gint c;

	while ((c = peek(text)) >= 0 && c != quote) {
		text->at++;
		if (c == '\\') {
			c = peek(text);
			text->at += c >= 0;
		}
		if (c >= 0)
			keep(text, c);
	}
	if (c < 0)
		text->is_broken = TRUE;
	text->at += c >= 0;
}

static gboolean is_word(gint c)
{
	return c > 0 && (g_ascii_isalnum((gchar)c) || strchr("_-+.", c));
}

static void next_token(struct graph_text *text)
{
	gint c;

	g_string_truncate(text->token, 0);
	skip_space(text);
	text->broken_offset = offset_of_next(text);
	c = peek(text);
	text->kind = c < 0 ? TOKEN_END : TOKEN_MARK;
	if (c < 0)
		return;
	if (is_word(c)) {
		text->kind = TOKEN_WORD;
		for (; is_word(c); c = peek(text)) {
			keep(text, c);
			text->at++;
		}
		return;
	}
	text->at++;
	if (c == '"' || c == '\'') {
		text->kind = TOKEN_STRING;
		read_string(text, c);
	} else {
		keep(text, c);
	}
}

static gboolean is_mark(const struct graph_text *text, gchar mark)
{
	return text->kind == TOKEN_MARK && text->token->str[0] == mark;
}

/* --- nodes ---------------------------------------------------------------------------------- */

static void begin_node(struct graph_text *text)
{
	g_string_truncate(text->name, 0);
	g_string_truncate(text->type, 0);
	g_ptr_array_set_size(text->inputs, 0);
	text->has_shape = FALSE;
}

/* The inputs that carry data, or those of control ("^node"). */
static struct tf_rows add_inputs(struct graph_text *text, gboolean is_control)
{
	struct tf_ops *ops = text->ops;
	struct tf_rows inputs = { .first = ops->inputs->len };

	FOR_EACH_POINTER(const gchar, name, text->inputs) {
		struct tf_input input;

		if ((*name == '^') != is_control)
			continue;
		input = tf_ops_input(ops, name, strlen(name));
		g_array_append_val(ops->inputs, input);
		inputs.n++;
	}
	return inputs;
}

static void end_node(struct graph_text *text)
{
	struct tf_ops *ops = text->ops;
	struct tf_rows inputs, controls;
	guint32 node;

	if (!text->name->len || ops->nodes->len >= MAX_NODES)
		return;
	node = tf_ops_find(ops, tacho_timeline_intern(ops->timeline, text->name->str, -1));
	if (text->type->len)
		tf_ops_node(ops, node)->type =
			tacho_timeline_intern(ops->timeline, text->type->str, -1);
	inputs = add_inputs(text, FALSE);
	controls = add_inputs(text, TRUE);
	if (inputs.n)
		tf_ops_node(ops, node)->inputs = inputs;
	tf_ops_node(ops, node)->controls = controls;
	if (text->has_shape && tf_ops_is_variable(ops, node))
		tf_ops_node(ops, node)->parameters =
			tf_ops_elements(ops, tf_ops_tuple(ops, (const gint64 *)text->shape->data,
							  text->shape->len));
}

static gboolean is_at(const struct graph_text *text, const gchar *path)
{
	return strcmp(text->path->str, path) == 0;
}

static void take_value(struct graph_text *text, const gchar *field)
{
	const gchar *value = text->token->str;
	gint64 size;

	if (is_at(text, "/node") && strcmp(field, "name") == 0) {
		g_string_assign(text->name, value);
	} else if (is_at(text, "/node") && strcmp(field, "op") == 0) {
		g_string_assign(text->type, value);
	} else if (is_at(text, "/node") && strcmp(field, "input") == 0) {
		g_ptr_array_add(text->inputs, g_strdup(value));
	} else if (is_at(text, "/node/attr") && strcmp(field, "key") == 0) {
		g_string_assign(text->key, value);
	} else if (is_at(text, "/node/attr/value/shape/dim") && strcmp(field, "size") == 0 &&
		   strcmp(text->key->str, "shape") == 0) {
		size = g_ascii_strtoll(value, NULL, 10);
		g_array_append_val(text->shape, size);
	}
}

static void open_message(struct graph_text *text, const gchar *field)
{
	if (text->depth == MAX_DEPTH) {
		text->is_broken = TRUE;
		return;
	}
	text->lengths[text->depth++] = (guint)text->path->len;
	g_string_append_printf(text->path, "/%s", field);
	if (is_at(text, "/node")) {
		begin_node(text);
	} else if (is_at(text, "/node/attr/value/shape") && strcmp(text->key->str, "shape") == 0) {
		g_array_set_size(text->shape, 0);
		text->has_shape = TRUE;
	}
}

static void close_message(struct graph_text *text)
{
	if (!text->depth) {
		text->is_broken = TRUE;
		return;
	}
	if (is_at(text, "/node"))
		end_node(text);
	g_string_truncate(text->path, text->lengths[--text->depth]);
}

/* A field: its name is the token. */
static void read_field(struct graph_text *text)
{
	g_autofree gchar *field = g_strdup(text->token->str);
	gboolean is_list;

	next_token(text);
	if (is_mark(text, ':'))
		next_token(text);
	is_list = is_mark(text, '[');
	if (is_list)
		next_token(text);
	if (is_mark(text, '{') || is_mark(text, '<')) {
		open_message(text, field);
		return;
	}
	if (text->kind != TOKEN_WORD && text->kind != TOKEN_STRING) {
		text->is_broken = TRUE;
		return;
	}
	take_value(text, field);
	while (is_list && text->kind != TOKEN_END && !is_mark(text, ']'))
		next_token(text);
}

static void read_text(struct graph_text *text)
{
	for (next_token(text); text->kind != TOKEN_END && !text->is_broken; next_token(text)) {
		if (is_mark(text, '}') || is_mark(text, '>'))
			close_message(text);
		else if (text->kind == TOKEN_WORD)
			read_field(text);
		else if (!is_mark(text, ',') && !is_mark(text, ';') && !is_mark(text, ']'))
			text->is_broken = TRUE;
	}
}

static void report(const struct graph_text *text, const gchar *path)
{
	if (text->failure)
		tacho_timeline_add_problem(text->ops->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s", text->failure->message);
	else if (text->is_broken)
		tacho_timeline_add_problem(text->ops->timeline, TACHO_PROBLEM_CORRUPT_RECORD, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the text from here on is not a graph",
					   path, text->broken_offset);
	else if (text->depth)
		tacho_timeline_add_problem(text->ops->timeline, TACHO_PROBLEM_TRUNCATED_FILE, 1,
					   "%s: byte %" G_GUINT64_FORMAT
					   ": the file ends inside a node",
					   path, text->broken_offset);
}

gboolean graph_text_read(struct tf_ops *ops, const gchar *path, GError **error)
{
	ByteStream *stream = byte_stream_open(path, error);
	struct graph_text *text;

	if (!stream)
		return FALSE;
	text = g_new0(struct graph_text, 1);
	text->ops = ops;
	text->stream = stream;
	text->token = g_string_new(NULL);
	text->path = g_string_new(NULL);
	text->name = g_string_new(NULL);
	text->type = g_string_new(NULL);
	text->key = g_string_new(NULL);
	text->inputs = g_ptr_array_new_with_free_func(g_free);
	text->shape = g_array_new(FALSE, FALSE, sizeof(gint64));
	read_text(text);
	report(text, path);
	g_string_free(text->token, TRUE);
	g_string_free(text->path, TRUE);
	g_string_free(text->name, TRUE);
	g_string_free(text->type, TRUE);
	g_string_free(text->key, TRUE);
	g_ptr_array_unref(text->inputs);
	g_array_unref(text->shape);
	g_clear_error(&text->failure);
	byte_stream_close(stream);
	g_free(text);
	return TRUE;
}
