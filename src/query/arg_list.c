#include "query/arg_list.h"

#include <string.h>

#include "base/for_each.h"
#include "query/json_leaves.h"

#define FOREIGN_PREFIX "args." /* as Perfetto's for JSON traces */
#define INPUT	       "input"
#define OUTPUT	       "output"

/* The first numbers of the parts; those that columns know have the ones before. What does not fit is left
 * out, as what would take that much memory, for no event says so much. */
#define FIRST_TENSOR   64
#define FIRST_FOREIGN  (1 << 19)
#define MAX_TENSOR     64 /* args of one */
#define MAX_TEXT_BYTES (256 * 1024 * 1024)
G_STATIC_ASSERT(N_SLICE_ARGS <= FIRST_TENSOR && FIRST_FOREIGN < ARGS_OF_SLICE);
G_STATIC_ASSERT(TACHO_MAX_DIMS + 5 <= MAX_TENSOR);

void arg_list_init(struct arg_list *list)
{
	list->args = g_array_new(FALSE, FALSE, sizeof(struct arg));
	list->text = g_string_new(NULL);
	list->path = g_string_new(NULL);
}

void arg_list_release(struct arg_list *list)
{
	g_clear_pointer(&list->args, g_array_unref);
	if (list->text)
		g_string_free(list->text, TRUE);
	if (list->path)
		g_string_free(list->path, TRUE);
	list->text = list->path = NULL;
}

const gchar *arg_type_name(enum arg_type type)
{
	static const gchar *const names[] = { "int", "uint", "real", "string", "bool" };

	return names[type];
}

const struct arg *arg_list_borrow(const struct arg_list *list, guint index)
{
	return &g_array_index(list->args, struct arg, index);
}

G_STATIC_ASSERT(G_ASCII_DTOSTR_BUF_SIZE <= ARG_DIGITS_BYTES);

const gchar *arg_list_display(const struct arg_list *list, const struct arg *arg,
			      gchar digits[ARG_DIGITS_BYTES])
{
	switch (arg->type) {
	case ARG_TYPE_INT:
		g_snprintf(digits, ARG_DIGITS_BYTES, "%" G_GINT64_FORMAT, arg->integer);
		break;
	case ARG_TYPE_UINT:
		g_snprintf(digits, ARG_DIGITS_BYTES, "%" G_GUINT64_FORMAT, (guint64)arg->integer);
		break;
	case ARG_TYPE_REAL:
		g_ascii_dtostr(digits, ARG_DIGITS_BYTES, arg->real);
		break;
	case ARG_TYPE_BOOL:
		return arg->integer ? "true" : "false";
	case ARG_TYPE_STRING:
		return list->text->str + arg->string;
	}
	return digits;
}

const struct arg *arg_list_find(const struct arg_list *list, const gchar *key)
{
	FOR_EACH(const struct arg, arg, list->args)
		if (strcmp(list->text->str + arg->key, key) == 0)
			return arg;
	return NULL;
}

void arg_list_result(const struct arg_list *list, const struct arg *arg, sqlite3_context *result)
{
	switch (arg->type) {
	case ARG_TYPE_INT:
	case ARG_TYPE_UINT:
	case ARG_TYPE_BOOL:
		sqlite3_result_int64(result, arg->integer);
		break;
	case ARG_TYPE_REAL:
		sqlite3_result_double(result, arg->real);
		break;
	case ARG_TYPE_STRING:
		sqlite3_result_text(result, list->text->str + arg->string, -1, SQLITE_TRANSIENT);
		break;
	}
}

/* --- adding ----------------------------------------------------------------------------------- */

static guint32 keep_length(struct arg_list *list, const gchar *text, gsize n)
{
	guint32 at = (guint32)list->text->len;

	g_string_append_len(list->text, text, (gssize)n);
	g_string_append_c(list->text, '\0');
	return at;
}

static guint32 keep(struct arg_list *list, const gchar *text)
{
	return keep_length(list, text, strlen(text));
}

/* The key kept at `key` without its [N]. */
static guint32 keep_flat(struct arg_list *list, guint32 key)
{
	guint32 at = (guint32)list->text->len;
	gsize i = key;

	while (list->text->str[i]) {
		const gchar *digits = list->text->str + i + 1;
		gsize n_digits = digits[-1] == '[' ? strspn(digits, "0123456789") : 0;

		if (n_digits && digits[n_digits] == ']')
			i += n_digits + 2;
		else
			g_string_append_c(list->text, list->text->str[i++]);
	}
	g_string_append_c(list->text, '\0');
	return at;
}

static struct arg *add_kept(struct arg_list *list, guint32 key, enum arg_type type)
{
	struct arg arg = { .type = type, .number = list->next_number++, .key = key };
	const gchar *name = list->text->str + key;

	arg.flat_key = strchr(name, '[') ? keep_flat(list, key) : key;
	g_array_append_val(list->args, arg);
	return &g_array_index(list->args, struct arg, list->args->len - 1);
}

static struct arg *add(struct arg_list *list, const gchar *key, enum arg_type type)
{
	return add_kept(list, keep(list, key), type);
}

static void add_integer(struct arg_list *list, const gchar *key, gint64 value)
{
	add(list, key, ARG_TYPE_INT)->integer = value;
}

static void add_unsigned(struct arg_list *list, const gchar *key, guint64 value)
{
	gboolean is_int = value <= G_MAXINT64;

	add(list, key, is_int ? ARG_TYPE_INT : ARG_TYPE_UINT)->integer = (gint64)value;
}

static void add_string(struct arg_list *list, const gchar *key, const gchar *value)
{
	struct arg *arg = add(list, key, ARG_TYPE_STRING);

	arg->string = keep(list, value);
}

/* --- what the columns and accessors know ------------------------------------------------------ */

static void add_known(struct arg_list *list, const struct slice_arg *arg)
{
	const gchar *key = slice_arg_key_name(arg->key);

	switch (arg->type) {
	case SLICE_ARG_TYPE_TRUE:
		add(list, key, ARG_TYPE_BOOL)->integer = 1;
		break;
	case SLICE_ARG_TYPE_INTEGER:
		add_integer(list, key, arg->integer);
		break;
	case SLICE_ARG_TYPE_UNSIGNED:
		add_unsigned(list, key, arg->number);
		break;
	case SLICE_ARG_TYPE_STRING:
		add_string(list, key, arg->string);
		break;
	}
}

static void add_tensor(struct arg_list *list, const gchar *prefix, guint32 index,
		       const TachoTensor *tensor)
{
	gchar key[64];

	g_snprintf(key, sizeof(key), "%s[%u].dtype", prefix, index);
	add_string(list, key, tensor->dtype);
	for (guint32 i = 0; i < MIN(tensor->n_dims, TACHO_MAX_DIMS); i++) {
		g_snprintf(key, sizeof(key), "%s[%u].shape[%u]", prefix, index, i);
		add_integer(list, key, tensor->shape[i]);
	}
	g_snprintf(key, sizeof(key), "%s[%u].device", prefix, index);
	add_string(list, key, tensor->device);
	g_snprintf(key, sizeof(key), "%s[%u].argument", prefix, index);
	add_integer(list, key, tensor->argument);
	if (!tensor->storage)
		return;
	g_snprintf(key, sizeof(key), "%s[%u].storage", prefix, index);
	add_unsigned(list, key, tensor->storage);
	g_snprintf(key, sizeof(key), "%s[%u].offset_bytes", prefix, index);
	add_unsigned(list, key, tensor->offset_bytes);
}

static gboolean has_tensor_room(const struct arg_list *list)
{
	return list->next_number + MAX_TENSOR <= FIRST_FOREIGN;
}

static void add_tensors(struct arg_list *list, const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;

	for (guint32 i = 0; has_tensor_room(list) && tacho_slice_input(timeline, slice, i, &tensor);
	     i++)
		add_tensor(list, INPUT, i, &tensor);
	for (guint32 i = 0;
	     has_tensor_room(list) && tacho_slice_output(timeline, slice, i, &tensor); i++)
		add_tensor(list, OUTPUT, i, &tensor);
}

/* --- what a foreign trace said ---------------------------------------------------------------- */

/* $.a."b c"[2] as args.a.b c[2]. */
static gchar *foreign_key(const gchar *path)
{
	GString *key = g_string_new(FOREIGN_PREFIX);

	path += strspn(path, "$.");
	for (; *path; path++)
		if (*path != '"')
			g_string_append_c(key, *path);
	return g_string_free(key, FALSE);
}

static gboolean has_leaf_room(const struct arg_list *list)
{
	return list->next_number < ARGS_OF_SLICE && list->text->len < MAX_TEXT_BYTES;
}

static void add_leaf(struct arg_list *list, sqlite3_stmt *leaves)
{
	const gchar *path = (const gchar *)sqlite3_column_text(leaves, 0);
	const gchar *type = (const gchar *)sqlite3_column_text(leaves, 1);
	g_autofree gchar *key = foreign_key(path ? path : "");

	switch (sqlite3_column_type(leaves, 2)) {
	case SQLITE_INTEGER:
		if (g_strcmp0(type, "integer") == 0)
			add_integer(list, key, sqlite3_column_int64(leaves, 2));
		else
			add(list, key, ARG_TYPE_BOOL)->integer = sqlite3_column_int64(leaves, 2);
		break;
	case SQLITE_FLOAT:
		add(list, key, ARG_TYPE_REAL)->real = sqlite3_column_double(leaves, 2);
		break;
	case SQLITE_TEXT:
		add_string(list, key, (const gchar *)sqlite3_column_text(leaves, 2));
		break;
	default:
		break;
	}
}

static gboolean prepare_leaves(struct query_data *data)
{
	static const gchar sql[] = "SELECT fullkey, type, atom FROM json_tree(?1)"
				   " WHERE atom IS NOT NULL";

	return data->json_leaves || sqlite3_prepare_v3(data->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
						       &data->json_leaves, NULL) == SQLITE_OK;
}

/* Text that is no JSON ends the leaves; those before it are kept. */
static void add_any_json(struct arg_list *list, struct query_data *data, const gchar *json)
{
	if (!prepare_leaves(data))
		return;
	sqlite3_bind_text(data->json_leaves, 1, json, -1, SQLITE_STATIC);
	while (has_leaf_room(list) && sqlite3_step(data->json_leaves) == SQLITE_ROW)
		add_leaf(list, data->json_leaves);
	sqlite3_reset(data->json_leaves);
	sqlite3_clear_bindings(data->json_leaves);
}

static void add_plain_leaf(const struct json_leaf *leaf, gpointer data)
{
	struct arg_list *list = data;
	struct arg *arg;
	guint32 key;

	if (!has_leaf_room(list))
		return;
	key = keep(list, FOREIGN_PREFIX);
	g_string_truncate(list->text, list->text->len - 1);
	keep(list, leaf->path);
	switch (leaf->type) {
	case JSON_LEAF_INTEGER:
		add_kept(list, key, ARG_TYPE_INT)->integer = leaf->integer;
		break;
	case JSON_LEAF_TRUTH:
		add_kept(list, key, ARG_TYPE_BOOL)->integer = leaf->integer;
		break;
	case JSON_LEAF_STRING:
		arg = add_kept(list, key, ARG_TYPE_STRING);
		arg->string = keep_length(list, leaf->string, leaf->n);
		break;
	}
}

/* False: the list is as it was. */
static gboolean add_plain_json(struct arg_list *list, const gchar *json)
{
	guint n_args = list->args->len;
	guint32 number = list->next_number;
	gsize n_text = list->text->len;

	if (json_leaves_read(json, list->path, add_plain_leaf, list))
		return TRUE;
	g_array_set_size(list->args, n_args);
	g_string_truncate(list->text, n_text);
	list->next_number = number;
	return FALSE;
}

/* SQLite reads what is rare. */
static void add_foreign(struct arg_list *list, struct query_data *data, guint32 slice)
{
	g_autofree gchar *json = tacho_slice_args_json(data->timeline, slice);

	if (json && !add_plain_json(list, json))
		add_any_json(list, data, json);
}

/* --- the list ---------------------------------------------------------------------------------- */

enum arg_parts arg_list_part_of(const gchar *key)
{
	if (g_str_has_prefix(key, FOREIGN_PREFIX))
		return ARG_PARTS_FOREIGN;
	if (g_str_has_prefix(key, INPUT "[") || g_str_has_prefix(key, OUTPUT "["))
		return ARG_PARTS_TENSORS;
	return ARG_PARTS_KNOWN;
}

void arg_list_fill(struct arg_list *list, struct query_data *data, guint32 slice,
		   enum arg_parts parts)
{
	g_array_set_size(list->args, 0);
	g_string_truncate(list->text, 0);
	list->next_number = 0;
	if (parts & ARG_PARTS_KNOWN) {
		const struct slice_args *known = query_data_args(data, slice);

		for (guint i = 0; i < known->n; i++)
			add_known(list, &known->args[i]);
	}
	list->next_number = FIRST_TENSOR;
	if (parts & ARG_PARTS_TENSORS)
		add_tensors(list, data->timeline, slice);
	list->next_number = FIRST_FOREIGN;
	if (parts & ARG_PARTS_FOREIGN)
		add_foreign(list, data, slice);
}
