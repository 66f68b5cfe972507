#include "precision/identity.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/text_file.h"
#include "import/read/json_scan.h"

/* Source: a rule: longer names than any module has; what is longer is refused. */
#define MAX_NAME_BYTES 4096u
#define MAX_INPUTS     (1u << 22)

static void clear_operation(gpointer data)
{
	struct identity_operation *operation = data;

	g_clear_pointer(&operation->module, g_free);
	g_clear_pointer(&operation->kind, g_free);
}

struct identity *identity_new(void)
{
	struct identity *identity = g_new0(struct identity, 1);

	identity->format = N_NUMBER_FORMATS;
	identity->operations = g_array_new(FALSE, TRUE, sizeof(struct identity_operation));
	g_array_set_clear_func(identity->operations, clear_operation);
	identity->inputs = g_array_new(FALSE, TRUE, sizeof(struct identity_input));
	identity->roots = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	return identity;
}

void identity_free(struct identity *identity)
{
	if (!identity)
		return;
	g_array_unref(identity->operations);
	g_array_unref(identity->inputs);
	g_hash_table_unref(identity->roots);
	g_free(identity);
}

gboolean identity_is_border(const struct identity_operation *operation)
{
	return strcmp(operation->kind, "input") == 0 || strcmp(operation->kind, "output") == 0;
}

guint32 identity_add(struct identity *identity, GHashTable *counts, const gchar *module,
		     const gchar *kind)
{
	gchar *key = g_strconcat(module, "\n", kind, NULL);
	guint32 ordinal = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key));
	struct identity_operation operation = { .module = g_strdup(module),
						.kind = g_strdup(kind),
						.ordinal = ordinal,
						.n_calls = 1,
						.first_input = identity->inputs->len };

	g_hash_table_insert(counts, key, GUINT_TO_POINTER(ordinal + 1));
	g_array_append_val(identity->operations, operation);
	return identity->operations->len - 1;
}

/* --- read --------------------------------------------------------------------------------------- */

struct reader {
	struct json_scan scan;
	const gchar *begin;
	struct identity *identity;
	GError **error;
};

static gboolean refuse(const struct reader *reader, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(const struct reader *reader, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *reason = NULL;

	if (*reader->error) /* the first counts */
		return FALSE;
	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error(reader->error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT,
		    "at byte %" G_GSIZE_FORMAT ": %s", (gsize)(reader->scan.at - reader->begin),
		    reason);
	return FALSE;
}

static gboolean read_text(struct reader *reader, const gchar *what, gchar **ret_text)
{
	struct json_text text;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "%s is not a text", what);
	if (text.n > MAX_NAME_BYTES)
		return refuse(reader, "%s is longer than %u bytes", what, MAX_NAME_BYTES);
	if (*ret_text)
		return refuse(reader, "%s stands twice", what);
	*ret_text = json_text_dup(&text);
	return TRUE;
}

static gboolean read_number(struct reader *reader, const gchar *what, gdouble most,
			    gdouble *ret_value)
{
	gdouble value;

	if (!g_ascii_isdigit(json_peek(&reader->scan)) || !json_number(&reader->scan, &value) ||
	    !(value <= most) || value != floor(value))
		return refuse(reader, "%s is not a whole number from 0 to %.0f", what, most);
	*ret_value = value;
	return TRUE;
}

static gboolean read_format(struct reader *reader, enum number_format *ret_format)
{
	struct json_text text;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "a format of numbers is not a text");
	*ret_format = number_format_find(text.bytes, text.n);
	return *ret_format < N_NUMBER_FORMATS ||
	       refuse(reader, "this format of numbers is not known");
}

static gboolean read_allowed(struct reader *reader, struct identity_operation *operation)
{
	enum number_format format = N_NUMBER_FORMATS;

	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'allowed' is not a list");
	while (json_element(&reader->scan)) {
		if (!read_format(reader, &format))
			return FALSE;
		operation->allowed |= 1u << format;
	}
	return TRUE;
}

/* [2, 1024]; a producer that is null, or less than 0, is outside. */
static gboolean read_producer(struct reader *reader, guint32 own, guint32 *ret_producer)
{
	gdouble value;
	gchar first = json_peek(&reader->scan);

	*ret_producer = IDENTITY_OUTSIDE;
	if (first == 'n') {
		json_skip(&reader->scan);
		return TRUE;
	}
	if (!json_number(&reader->scan, &value) || value != floor(value) || value >= own)
		return refuse(reader, "an input is not of an operation before this one");
	if (value >= 0)
		*ret_producer = (guint32)value;
	return TRUE;
}

static gboolean read_input(struct reader *reader, struct identity_operation *operation)
{
	struct identity *identity = reader->identity;
	struct identity_input input;

	if (!json_enter(&reader->scan, '[') || !json_element(&reader->scan) ||
	    !read_producer(reader, identity->operations->len, &input.producer) ||
	    !json_element(&reader->scan) ||
	    !read_number(reader, "the size of an input", IDENTITY_MAX_ELEMENTS, &input.elements) ||
	    json_element(&reader->scan))
		return refuse(reader, "an input is not written as [PRODUCER, ELEMENTS]");
	if (identity->inputs->len == MAX_INPUTS)
		return refuse(reader, "there are more than %u inputs", MAX_INPUTS);
	g_array_append_val(identity->inputs, input);
	operation->n_inputs++;
	return TRUE;
}

static gboolean read_inputs(struct reader *reader, struct identity_operation *operation)
{
	if (operation->n_inputs > 0)
		return refuse(reader, "'inputs' stands twice");
	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'inputs' is not a list");
	while (json_element(&reader->scan))
		if (!read_input(reader, operation))
			return FALSE;
	return TRUE;
}

static gboolean read_rule(struct reader *reader, struct identity_operation *operation,
			  gboolean *ret_is_told)
{
	g_autofree gchar *word = NULL;

	if (!read_text(reader, "'rule'", &word))
		return FALSE;
	*ret_is_told = TRUE;
	operation->rule = strcmp(word, "chosen") == 0	  ? PRECISION_CHOSEN
			  : strcmp(word, "promoted") == 0 ? PRECISION_PROMOTED
							  : PRECISION_FIXED;
	return strcmp(word, "fixed") == 0 || operation->rule != PRECISION_FIXED ||
	       refuse(reader, "'rule' is none of chosen, promoted and fixed");
}

static gboolean read_member(struct reader *reader, const struct json_text *key,
			    struct identity_operation *operation, gboolean *ret_has_rule)
{
	gdouble count;

	if (JSON_TEXT_IS(key, "module"))
		return read_text(reader, "'module'", &operation->module);
	if (JSON_TEXT_IS(key, "kind"))
		return read_text(reader, "'kind'", &operation->kind);
	if (JSON_TEXT_IS(key, "ordinal")) {
		if (!read_number(reader, "'ordinal'", PRECISION_MAX_OPERATIONS, &count))
			return FALSE;
		operation->ordinal = (guint32)count;
		return TRUE;
	}
	if (JSON_TEXT_IS(key, "calls")) {
		if (!read_number(reader, "'calls'", G_MAXUINT32, &count))
			return FALSE;
		operation->n_calls = MAX((guint32)count, 1u);
		return TRUE;
	}
	if (JSON_TEXT_IS(key, "elements_in"))
		return read_number(reader, "'elements_in'", IDENTITY_MAX_ELEMENTS,
				   &operation->elements_in);
	if (JSON_TEXT_IS(key, "elements_out"))
		return read_number(reader, "'elements_out'", IDENTITY_MAX_ELEMENTS,
				   &operation->elements_out);
	if (JSON_TEXT_IS(key, "weight"))
		return read_number(reader, "'weight'", IDENTITY_MAX_ELEMENTS, &operation->weight);
	if (JSON_TEXT_IS(key, "allowed"))
		return read_allowed(reader, operation);
	if (JSON_TEXT_IS(key, "inputs"))
		return read_inputs(reader, operation);
	if (JSON_TEXT_IS(key, "rule"))
		return read_rule(reader, operation, ret_has_rule);
	json_skip(&reader->scan); /* of a later writer */
	return TRUE;
}

/* Where the file does not say who decides: what is allowed in one format is fixed, in several chosen; in none, it goes by its inputs. */
static enum precision_rule rule_of(guint allowed)
{
	return allowed == 0			? PRECISION_PROMOTED
	       : (allowed & (allowed - 1)) != 0 ? PRECISION_CHOSEN
						: PRECISION_FIXED;
}

static gboolean is_new(GHashTable *seen, const struct identity_operation *operation)
{
	return g_hash_table_add(seen, g_strdup_printf("%s\n%s\n%u", operation->module,
						      operation->kind, operation->ordinal));
}

static gboolean read_operation(struct reader *reader, GHashTable *seen)
{
	struct identity *identity = reader->identity;
	struct identity_operation operation = { .first_input = identity->inputs->len,
						.n_calls = 1 };
	gboolean has_rule = FALSE, is_read = json_enter(&reader->scan, '{');
	struct json_text key;

	while (is_read && json_member(&reader->scan, &key))
		is_read = read_member(reader, &key, &operation, &has_rule);
	if (is_read && reader->scan.status != JSON_OK)
		is_read = FALSE;
	if (is_read && (!operation.module || !operation.kind || !*operation.kind))
		is_read = refuse(reader, "an operation has no 'module' or no 'kind'");
	if (is_read && identity->operations->len == PRECISION_MAX_OPERATIONS)
		is_read = refuse(reader, "there are more than %u operations",
				 PRECISION_MAX_OPERATIONS);
	if (is_read && !is_new(seen, &operation))
		is_read = refuse(reader, "an operation stands twice");
	if (!is_read) {
		clear_operation(&operation);
		return refuse(reader, "an operation is not an object of JSON");
	}
	if (!has_rule)
		operation.rule = rule_of(operation.allowed);
	g_array_append_val(identity->operations, operation);
	return TRUE;
}

static gboolean read_operations(struct reader *reader)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	if (reader->identity->operations->len > 0)
		return refuse(reader, "'operations' stands twice");
	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'operations' is not a list");
	while (json_element(&reader->scan))
		if (!read_operation(reader, seen))
			return FALSE;
	return TRUE;
}

/* {"name": "Critic", "kind": "Critic"}; the first of a class counts. */
static gboolean read_root(struct reader *reader)
{
	g_autofree gchar *name = NULL, *kind = NULL;
	struct json_text key;
	gboolean is_read = json_enter(&reader->scan, '{');

	while (is_read && json_member(&reader->scan, &key)) {
		if (JSON_TEXT_IS(&key, "name"))
			is_read = read_text(reader, "'name'", &name);
		else if (JSON_TEXT_IS(&key, "kind"))
			is_read = read_text(reader, "'kind'", &kind);
		else
			json_skip(&reader->scan);
	}
	if (!is_read || !name || !kind)
		return refuse(reader, "a root is not an object with 'name' and 'kind'");
	if (!g_hash_table_contains(reader->identity->roots, kind))
		g_hash_table_insert(reader->identity->roots, g_steal_pointer(&kind),
				    g_steal_pointer(&name));
	return TRUE;
}

static gboolean read_roots(struct reader *reader)
{
	if (!json_enter(&reader->scan, '['))
		return refuse(reader, "'roots' is not a list");
	while (json_element(&reader->scan))
		if (!read_root(reader))
			return FALSE;
	return TRUE;
}

/* That of the whole run; "plan" is none. */
static gboolean read_precision(struct reader *reader)
{
	struct json_text text;

	if (json_peek(&reader->scan) != '"' || !json_string(&reader->scan, &text))
		return refuse(reader, "'precision' is not a text");
	if (JSON_TEXT_IS(&text, "plan"))
		return TRUE;
	reader->identity->format = number_format_find(text.bytes, text.n);
	return reader->identity->format < N_NUMBER_FORMATS ||
	       refuse(reader, "'precision' is no format of numbers that is known");
}

static gboolean read_version(struct reader *reader)
{
	gdouble version;

	if (!read_number(reader, "the version", IDENTITY_MAX_ELEMENTS, &version))
		return FALSE;
	if (version == 1)
		return TRUE;
	g_set_error(reader->error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_VERSION,
		    "it is of version %.0f, and only version 1 is known", version);
	return FALSE;
}

static gboolean read_file(struct reader *reader)
{
	gboolean has_version = FALSE, is_read = TRUE;
	struct json_text key;

	if (json_peek(&reader->scan) != '{' || !json_take(&reader->scan, '{'))
		return refuse(reader, "this is no object of JSON");
	while (is_read && json_member(&reader->scan, &key)) {
		if (JSON_TEXT_IS(&key, "tacho_precision_run")) {
			is_read = has_version = read_version(reader);
		} else if (JSON_TEXT_IS(&key, "precision")) {
			is_read = read_precision(reader);
		} else if (JSON_TEXT_IS(&key, "roots")) {
			is_read = read_roots(reader);
		} else if (JSON_TEXT_IS(&key, "operations")) {
			is_read = read_operations(reader);
		} else {
			json_skip(&reader->scan);
		}
	}
	if (is_read && reader->scan.status != JSON_OK)
		return refuse(reader, "this is not JSON, or the file ends early");
	if (is_read && !has_version)
		return refuse(reader, "'tacho_precision_run' is missing");
	return is_read;
}

struct identity *identity_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(GError) cause = NULL;
	g_autoptr(identity) identity = identity_new();
	g_autofree gchar *copy = json_padded(text, n);
	struct reader reader = { .identity = identity, .error = &cause, .begin = copy };

	reader.scan = (struct json_scan){ .at = copy, .end = copy + n };
	if (read_file(&reader))
		return g_steal_pointer(&identity);
	g_propagate_error(error, g_steal_pointer(&cause));
	return NULL;
}

struct identity *identity_read(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *text = text_file_read(path, IDENTITY_MAX_BYTES, &n, error);
	struct identity *identity = text ? identity_parse(text, n, error) : NULL;

	if (text && !identity)
		g_prefix_error(error, "%s: this does not tell the operations of a run: ", path);
	return identity;
}
