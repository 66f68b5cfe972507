#include "query/arg_list.h"

#include <string.h>

#define FOREIGN_PREFIX "args." /* as Perfetto's for JSON traces */
#define INPUT	       "input"
#define OUTPUT	       "output"

void arg_list_init(struct arg_list *list)
{
	list->args = g_array_new(FALSE, FALSE, sizeof(struct arg));
	list->text = g_string_new(NULL);
}

void arg_list_release(struct arg_list *list)
{
	g_clear_pointer(&list->args, g_array_unref);
	if (list->text)
		g_string_free(list->text, TRUE);
	list->text = NULL;
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

const struct arg *arg_list_find(const struct arg_list *list, const gchar *key)
{
	for (guint i = 0; i < list->args->len; i++) {
		const struct arg *arg = arg_list_borrow(list, i);

		if (strcmp(list->text->str + arg->key, key) == 0)
			return arg;
	}
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

static guint32 keep(struct arg_list *list, const gchar *text)
{
	guint32 at = (guint32)list->text->len;

	g_string_append_len(list->text, text, (gssize)strlen(text) + 1);
	return at;
}

/* `key` without its [N]. */
static guint32 keep_flat(struct arg_list *list, const gchar *key)
{
	guint32 at = (guint32)list->text->len;

	while (*key) {
		gsize n_digits = *key == '[' ? strspn(key + 1, "0123456789") : 0;

		if (n_digits && key[1 + n_digits] == ']')
			key += n_digits + 2;
		else
			g_string_append_c(list->text, *key++);
	}
	g_string_append_c(list->text, '\0');
	return at;
}

static struct arg *add(struct arg_list *list, const gchar *key, enum arg_type type)
{
	struct arg arg = { .type = type, .number = list->next_number++ };

	arg.key = keep(list, key);
	arg.flat_key = strchr(key, '[') ? keep_flat(list, key) : arg.key;
	g_array_append_val(list->args, arg);
	return &g_array_index(list->args, struct arg, list->args->len - 1);
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

static void add_tensors(struct arg_list *list, const TachoTimeline *timeline, guint32 slice)
{
	TachoTensor tensor;

	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		add_tensor(list, INPUT, i, &tensor);
	for (guint32 i = 0; tacho_slice_output(timeline, slice, i, &tensor); i++)
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
static void add_foreign(struct arg_list *list, struct query_data *data, guint32 slice)
{
	g_autofree gchar *json = tacho_slice_args_json(data->timeline, slice);

	if (!json || !prepare_leaves(data))
		return;
	sqlite3_bind_text(data->json_leaves, 1, json, -1, SQLITE_STATIC);
	while (sqlite3_step(data->json_leaves) == SQLITE_ROW)
		add_leaf(list, data->json_leaves);
	sqlite3_reset(data->json_leaves);
	sqlite3_clear_bindings(data->json_leaves);
}

/* --- the list ---------------------------------------------------------------------------------- */

/* The first numbers of the parts; those that columns know have the ones before. */
#define FIRST_TENSOR  64
#define FIRST_FOREIGN (1 << 19)
G_STATIC_ASSERT(N_SLICE_ARGS <= FIRST_TENSOR);

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
