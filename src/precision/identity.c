#include "precision/identity.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/text_file.h"
#include "import/read/strict_json.h"

/* Source: a rule: longer names than any module has; what is longer is refused. */
#define MAX_NAME_BYTES 4096u
#define MAX_INPUTS     (1u << 22)
#define VERSION	       1

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
	identity->kept_bytes = -1;
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

static gboolean read_name(StrictJson *json, const gchar *what, gchar **ret_name)
{
	*ret_name = strict_json_text(json, what, MAX_NAME_BYTES);
	return *ret_name != NULL;
}

static gboolean read_whole(StrictJson *json, const gchar *what, gdouble most, gdouble *ret_value)
{
	gdouble value;

	if (!strict_json_number(json, what, -G_MAXDOUBLE, G_MAXDOUBLE, &value))
		return FALSE;
	if (!(value >= 0 && value <= most) || value != floor(value))
		return strict_json_refuse(json, "%s is not a whole number from 0 to %.0f", what,
					  most);
	*ret_value = value;
	return TRUE;
}

static gboolean read_format(StrictJson *json, enum number_format *ret_format)
{
	g_autofree gchar *name = strict_json_text(json, "a format of numbers", MAX_NAME_BYTES);

	*ret_format = name ? number_format_find(name, strlen(name)) : N_NUMBER_FORMATS;
	return *ret_format < N_NUMBER_FORMATS ||
	       strict_json_refuse(json, "this format of numbers is not known");
}

static gboolean read_allowed(StrictJson *json, struct identity_operation *operation)
{
	enum number_format format;

	if (!strict_json_enter(json, '[', "'allowed'"))
		return FALSE;
	while (strict_json_element(json)) {
		if (!read_format(json, &format))
			return FALSE;
		operation->allowed |= 1u << format;
	}
	return !json->error;
}

/* [2, 1024]; a producer that is null, or less than 0, is outside. */
static gboolean read_producer(StrictJson *json, guint32 own, guint32 *ret_producer)
{
	gdouble value;

	*ret_producer = IDENTITY_OUTSIDE;
	if (json_peek(&json->scan) == 'n') {
		json_skip(&json->scan);
		return TRUE;
	}
	if (!strict_json_number(json, "an input's producer", -G_MAXDOUBLE, G_MAXDOUBLE, &value))
		return FALSE;
	if (value != floor(value) || value >= own)
		return strict_json_refuse(json, "an input is not of an operation before this one");
	if (value >= 0)
		*ret_producer = (guint32)value;
	return TRUE;
}

static gboolean read_input(StrictJson *json, struct identity *identity)
{
	struct identity_input input;

	if (!strict_json_enter(json, '[', "an input"))
		return FALSE;
	if (!strict_json_element(json) ||
	    !read_producer(json, identity->operations->len, &input.producer) ||
	    !strict_json_element(json) ||
	    !read_whole(json, "the size of an input", IDENTITY_MAX_ELEMENTS, &input.elements) ||
	    strict_json_element(json))
		return strict_json_refuse(json, "an input is not written as [PRODUCER, ELEMENTS]");
	if (identity->inputs->len == MAX_INPUTS)
		return strict_json_refuse(json, "there are more than %u inputs", MAX_INPUTS);
	g_array_append_val(identity->inputs, input);
	return TRUE;
}

static gboolean read_inputs(StrictJson *json, struct identity *identity,
			    struct identity_operation *operation)
{
	if (!strict_json_enter(json, '[', "'inputs'"))
		return FALSE;
	for (; strict_json_element(json); operation->n_inputs++)
		if (!read_input(json, identity))
			return FALSE;
	return !json->error;
}

static gboolean read_rule(StrictJson *json, struct identity_operation *operation)
{
	static const gchar *const words[] = { [PRECISION_CHOSEN] = "chosen",
					      [PRECISION_PROMOTED] = "promoted",
					      [PRECISION_FIXED] = "fixed" };
	g_autofree gchar *word = strict_json_text(json, "'rule'", MAX_NAME_BYTES);

	for (guint i = 0; word && i < G_N_ELEMENTS(words); i++)
		if (strcmp(word, words[i]) == 0) {
			operation->rule = (enum precision_rule)i;
			return TRUE;
		}
	return strict_json_refuse(json, "'rule' is none of chosen, promoted and fixed");
}

static const gchar *const operation_keys[] = { "module",       "kind",	 "ordinal",
					       "rule",	       "calls",	 "elements_in",
					       "elements_out", "weight", "allowed",
					       "inputs",       NULL };
enum operation_key {
	KEY_MODULE,
	KEY_KIND,
	KEY_ORDINAL,
	KEY_RULE,
	KEY_CALLS,
	KEY_ELEMENTS_IN,
	KEY_ELEMENTS_OUT,
	KEY_WEIGHT,
	KEY_ALLOWED,
	KEY_INPUTS
};

static gboolean read_member(StrictJson *json, enum operation_key key, struct identity *identity,
			    struct identity_operation *operation)
{
	gdouble count = 0;

	switch (key) {
	case KEY_MODULE:
		return read_name(json, "'module'", &operation->module);
	case KEY_KIND:
		return read_name(json, "'kind'", &operation->kind);
	case KEY_ORDINAL:
		if (!read_whole(json, "'ordinal'", PRECISION_MAX_OPERATIONS, &count))
			return FALSE;
		operation->ordinal = (guint32)count;
		return TRUE;
	case KEY_RULE:
		return read_rule(json, operation);
	case KEY_CALLS:
		if (!read_whole(json, "'calls'", G_MAXUINT32, &count))
			return FALSE;
		operation->n_calls = MAX((guint32)count, 1u);
		return TRUE;
	case KEY_ELEMENTS_IN:
		return read_whole(json, "'elements_in'", IDENTITY_MAX_ELEMENTS,
				  &operation->elements_in);
	case KEY_ELEMENTS_OUT:
		return read_whole(json, "'elements_out'", IDENTITY_MAX_ELEMENTS,
				  &operation->elements_out);
	case KEY_WEIGHT:
		return read_whole(json, "'weight'", IDENTITY_MAX_ELEMENTS, &operation->weight);
	case KEY_ALLOWED:
		return read_allowed(json, operation);
	case KEY_INPUTS:
		return read_inputs(json, identity, operation);
	}
	return FALSE;
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

/* The operation is to be cleared, whatever is returned. */
static gboolean read_operation(StrictJson *json, struct identity *identity,
			       struct identity_operation *operation)
{
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "an operation"))
		return FALSE;
	while ((key = strict_json_known_key(json, operation_keys, &seen)) >= 0)
		if (!read_member(json, (enum operation_key)key, identity, operation))
			return FALSE;
	if (!strict_json_leave(json, operation_keys, seen, 1u << KEY_MODULE | 1u << KEY_KIND))
		return FALSE;
	if (!(seen & 1u << KEY_RULE))
		operation->rule = rule_of(operation->allowed);
	return *operation->kind || strict_json_refuse(json, "an operation's 'kind' is empty");
}

static gboolean add_operation(StrictJson *json, struct identity *identity, GHashTable *seen)
{
	struct identity_operation operation = { .first_input = identity->inputs->len,
						.n_calls = 1 };
	gboolean is_good = read_operation(json, identity, &operation);

	if (is_good && identity->operations->len == PRECISION_MAX_OPERATIONS)
		is_good = strict_json_refuse(json, "there are more than %u operations",
					     PRECISION_MAX_OPERATIONS);
	if (is_good && !is_new(seen, &operation))
		is_good = strict_json_refuse(json, "an operation stands twice");
	if (is_good)
		g_array_append_val(identity->operations, operation);
	else
		clear_operation(&operation);
	return is_good;
}

static gboolean read_operations(StrictJson *json, struct identity *identity)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	if (!strict_json_enter(json, '[', "'operations'"))
		return FALSE;
	while (strict_json_element(json))
		if (!add_operation(json, identity, seen))
			return FALSE;
	return !json->error;
}

/* {"name": "Critic", "kind": "Critic"}; the first of a class counts. */
static gboolean read_root(StrictJson *json, struct identity *identity)
{
	static const gchar *const keys[] = { "name", "kind", NULL };
	g_autofree gchar *name = NULL, *kind = NULL;
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "a root"))
		return FALSE;
	while ((key = strict_json_known_key(json, keys, &seen)) >= 0)
		if (key == 0 ? !read_name(json, "'name'", &name)
			     : !read_name(json, "'kind'", &kind))
			return FALSE;
	if (!strict_json_leave(json, keys, seen, 0x3))
		return FALSE;
	if (!g_hash_table_contains(identity->roots, kind))
		g_hash_table_insert(identity->roots, g_steal_pointer(&kind),
				    g_steal_pointer(&name));
	return TRUE;
}

static gboolean read_roots(StrictJson *json, struct identity *identity)
{
	if (!strict_json_enter(json, '[', "'roots'"))
		return FALSE;
	while (strict_json_element(json))
		if (!read_root(json, identity))
			return FALSE;
	return !json->error;
}

/* That of the whole run; "plan" is none. */
static gboolean read_precision(StrictJson *json, struct identity *identity)
{
	g_autofree gchar *name = strict_json_text(json, "'precision'", MAX_NAME_BYTES);

	if (!name)
		return FALSE;
	identity->format = number_format_find(name, strlen(name));
	return strcmp(name, "plan") == 0 || identity->format < N_NUMBER_FORMATS ||
	       strict_json_refuse(json, "'precision' is no format of numbers that is known");
}

static gboolean read_file(StrictJson *json, struct identity *identity)
{
	static const gchar *const keys[] = { "tacho_precision_run", "precision", "roots",
					     "operations",	    "kept",	 NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "the file"))
		return FALSE;
	while ((key = strict_json_known_key(json, keys, &seen)) >= 0)
		if (key == 0   ? !strict_json_version(json, keys[0], VERSION,
						      TACHO_PRECISION_ERROR_VERSION)
		    : key == 1 ? !read_precision(json, identity)
		    : key == 2 ? !read_roots(json, identity)
		    : key == 3 ? !read_operations(json, identity)
			       : !read_whole(json, "'kept'", IDENTITY_MAX_ELEMENTS,
					     &identity->kept_bytes))
			return FALSE;
	return strict_json_leave(json, keys, seen, 1);
}

struct identity *identity_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(identity) identity = identity_new();
	g_auto(StrictJson) json = { 0 };

	strict_json_init(&json, text, n, "the file", TACHO_PRECISION_ERROR,
			 TACHO_PRECISION_ERROR_FORMAT);
	read_file(&json, identity);
	return strict_json_finish(&json, error) ? g_steal_pointer(&identity) : NULL;
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
