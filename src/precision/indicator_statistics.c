#include "precision/indicator_statistics.h"

#include <math.h>
#include <string.h>

#include "base/text_file.h"
#include "import/read/strict_json.h"

#define VERSION	  1
#define MAX_BYTES (256u << 20)
/* Source: a rule: longer than any module's path. If wrong, such a file is refused. */
#define MAX_NAME_BYTES 4096

static const gchar *const tensor_names[N_STATISTICS_TENSORS] = {
	"input", "weight", "output", "output_gradient", "input_gradient", "weight_gradient"
};

static void operation_clear(gpointer data)
{
	struct operation_statistics *operation = data;

	g_free(operation->module);
	g_free(operation->kind);
	g_free(operation->direct);
	for (guint i = 0; i < N_STATISTICS_TENSORS; i++)
		g_free(operation->tensors[i].formats);
}

void tacho_precision_statistics_free(TachoPrecisionStatistics *statistics)
{
	if (!statistics)
		return;
	g_hash_table_unref(statistics->rows);
	g_array_unref(statistics->operations);
	g_free(statistics);
}

/* --- read --------------------------------------------------------------------------------------- */

static gboolean read_whole(StrictJson *json, const gchar *what, guint64 least, gdouble *ret)
{
	guint64 count;

	if (!strict_json_count(json, what, least, STRICT_JSON_MAX_COUNT, &count))
		return FALSE;
	*ret = (gdouble)count;
	return TRUE;
}

static gboolean read_positive(StrictJson *json, const gchar *what, gdouble *ret)
{
	return strict_json_number(json, what, 0, G_MAXDOUBLE, ret);
}

static gboolean read_signed(StrictJson *json, const gchar *what, gdouble *ret)
{
	return strict_json_number(json, what, -G_MAXDOUBLE, G_MAXDOUBLE, ret);
}

static gboolean next_format(StrictJson *json, guint *seen, enum number_format *ret_format)
{
	g_autofree gchar *name = strict_json_any_key(json);

	if (!name)
		return FALSE;
	*ret_format = number_format_find(name, strlen(name));
	if (*ret_format == N_NUMBER_FORMATS)
		return strict_json_refuse(json, "there is no number format '%.40s'", name);
	if (*seen & 1u << *ret_format)
		return strict_json_refuse(json, "'%s' stands twice", name);
	*seen |= 1u << *ret_format;
	return TRUE;
}

static gboolean read_rounding(StrictJson *json, struct tensor_rounding *rounding)
{
	static const gchar *const keys[] = { "error2",	"error2_spread", "overflow", "underflow",
					     "abs_sum", "laplacian",	 NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "what a format does"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		gdouble *const members[] = { &rounding->error2,	  &rounding->error2_spread,
					     &rounding->overflow, &rounding->underflow,
					     &rounding->abs_sum,  &rounding->laplacian };

		if (key == 5 ? !read_signed(json, keys[key], members[key])
		    : key == 2 || key == 3
			    ? !strict_json_number(json, keys[key], 0, 1, members[key])
			    : !read_positive(json, keys[key], members[key]))
			return FALSE;
	}
	return strict_json_leave(json, keys, seen, 1);
}

static gboolean read_roundings(StrictJson *json, struct tensor_statistics *tensor)
{
	enum number_format format;
	guint seen = 0;

	if (!strict_json_enter(json, '{', "'formats'"))
		return FALSE;
	while (next_format(json, &seen, &format)) {
		if (!tensor->formats) {
			tensor->formats = g_new(struct tensor_rounding, N_NUMBER_FORMATS);
			for (guint i = 0; i < N_NUMBER_FORMATS; i++)
				tensor->formats[i] =
					(struct tensor_rounding){ NAN, NAN, NAN, NAN, NAN, NAN };
		}
		if (!read_rounding(json, &tensor->formats[format]))
			return FALSE;
	}
	return !json->error;
}

static gboolean read_tensor(StrictJson *json, const gchar *what, struct tensor_statistics *tensor)
{
	static const gchar *const keys[] = { "elements", "norm2",	"norm2_spread", "norm",
					     "max_abs",	 "scale_norm2", "abs_sum",	"laplacian",
					     "formats",	 NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', what))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		gdouble *const members[] = { &tensor->elements,	    &tensor->norm2,
					     &tensor->norm2_spread, &tensor->norm,
					     &tensor->max_abs,	    &tensor->scale_norm2,
					     &tensor->abs_sum,	    &tensor->laplacian };

		if (key == 0   ? !read_whole(json, keys[key], 1, members[key])
		    : key == 7 ? !read_signed(json, keys[key], members[key])
		    : key == 8 ? !read_roundings(json, tensor)
			       : !read_positive(json, keys[key], members[key]))
			return FALSE;
	}
	return strict_json_leave(json, keys, seen, 3);
}

static gboolean read_pair(StrictJson *json, const gchar *what, const gchar *const *keys,
			  gboolean has_sign, gdouble *first, gdouble *second)
{
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', what))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		gdouble ignored;

		if (key == 0   ? !(has_sign ? read_signed(json, keys[0], first)
					    : read_positive(json, keys[0], first))
		    : key == 1 ? !read_positive(json, keys[1], second)
			       : !read_whole(json, keys[key], 1, &ignored))
			return FALSE;
	}
	return strict_json_leave(json, keys, seen, 1);
}

static gboolean read_direct(StrictJson *json, struct operation_statistics *operation)
{
	static const gchar *const keys[] = { "loss_change", "gradient_change2", NULL };
	enum number_format format;
	guint seen = 0;

	if (!strict_json_enter(json, '{', "'direct'"))
		return FALSE;
	while (next_format(json, &seen, &format)) {
		if (!operation->direct) {
			operation->direct = g_malloc(N_NUMBER_FORMATS * sizeof(*operation->direct));
			for (guint i = 0; i < N_NUMBER_FORMATS; i++)
				operation->direct[i].loss_change =
					operation->direct[i].gradient_change2 = NAN;
		}
		if (!read_pair(json, "'direct'", keys, FALSE,
			       &operation->direct[format].loss_change,
			       &operation->direct[format].gradient_change2))
			return FALSE;
	}
	return !json->error;
}

static gboolean read_form(StrictJson *json, struct operation_statistics *operation)
{
	g_autofree gchar *form = strict_json_text(json, "'form'", MAX_NAME_BYTES);

	if (!form)
		return FALSE;
	operation->is_product = strcmp(form, "product") == 0;
	return operation->is_product || strcmp(form, "map") == 0 ||
	       strict_json_refuse(json, "a form is neither \"product\" nor \"map\"");
}

enum { KEY_MODULE, KEY_KIND, KEY_ORDINAL, KEY_FORM, KEY_N, KEY_K, KEY_M, KEY_GROUPS, KEY_TENSORS };
enum {
	KEY_ACCUMULATED = KEY_TENSORS + N_STATISTICS_TENSORS,
	KEY_HESSIAN,
	KEY_DIRECT,
};

static gboolean read_member(StrictJson *json, gint key, const gchar *name,
			    struct operation_statistics *operation)
{
	static const gchar *const accumulated[] = { "norm", "max_abs", NULL };
	static const gchar *const hessian[] = { "mean", "spread", "probes", NULL };
	gdouble *const sizes[] = { &operation->n, &operation->k, &operation->m,
				   &operation->groups };
	guint64 ordinal;

	switch (key) {
	case KEY_MODULE:
		operation->module = strict_json_text(json, name, MAX_NAME_BYTES);
		return operation->module != NULL;
	case KEY_KIND:
		operation->kind = strict_json_text(json, name, MAX_NAME_BYTES);
		return operation->kind != NULL;
	case KEY_ORDINAL:
		if (!strict_json_count(json, name, 0, G_MAXUINT32 - 1, &ordinal))
			return FALSE;
		operation->ordinal = (guint32)ordinal;
		return TRUE;
	case KEY_FORM:
		return read_form(json, operation);
	case KEY_N:
	case KEY_K:
	case KEY_M:
	case KEY_GROUPS:
		return read_whole(json, name, 1, sizes[key - KEY_N]);
	case KEY_ACCUMULATED:
		return read_pair(json, name, accumulated, FALSE, &operation->accumulated_norm,
				 &operation->accumulated_max_abs);
	case KEY_HESSIAN:
		return read_pair(json, name, hessian, TRUE, &operation->hessian_mean,
				 &operation->hessian_spread);
	case KEY_DIRECT:
		return read_direct(json, operation);
	default:
		return read_tensor(json, name, &operation->tensors[key - KEY_TENSORS]);
	}
}

static void operation_init(struct operation_statistics *operation)
{
	*operation = (struct operation_statistics){ .groups = 1,
						    .accumulated_norm = NAN,
						    .accumulated_max_abs = NAN,
						    .hessian_mean = NAN,
						    .hessian_spread = NAN };
	for (guint i = 0; i < N_STATISTICS_TENSORS; i++)
		operation->tensors[i] =
			(struct tensor_statistics){ 0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL };
}

static gboolean read_operation(StrictJson *json, TachoPrecisionStatistics *statistics)
{
	const gchar *keys[KEY_DIRECT + 2] = { "module", "kind", "ordinal", "form",
					      "n",	"k",	"m",	   "groups" };
	struct operation_statistics *operation;
	GArray *operations = statistics->operations;
	guint64 seen = 0;
	gint key;

	for (guint i = 0; i < N_STATISTICS_TENSORS; i++)
		keys[KEY_TENSORS + i] = tensor_names[i];
	keys[KEY_ACCUMULATED] = "accumulated_weight_gradient";
	keys[KEY_HESSIAN] = "hessian_trace";
	keys[KEY_DIRECT] = "direct";
	if (operations->len == STATISTICS_MAX_OPERATIONS)
		return strict_json_refuse(json, "there are more than %u operations",
					  STATISTICS_MAX_OPERATIONS);
	g_array_set_size(operations, operations->len + 1);
	operation = &g_array_index(operations, struct operation_statistics, operations->len - 1);
	operation_init(operation);
	if (!strict_json_enter(json, '{', "an operation"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0)
		if (!read_member(json, key, keys[key], operation))
			return FALSE;
	return strict_json_leave(json, keys, seen, 0xf | (operation->is_product ? 0x70 : 0));
}

static gboolean read_operations(StrictJson *json, TachoPrecisionStatistics *statistics)
{
	if (!strict_json_enter(json, '[', "'operations'"))
		return FALSE;
	while (strict_json_element(json))
		if (!read_operation(json, statistics))
			return FALSE;
	return !json->error;
}

static gboolean read_reference(StrictJson *json, TachoPrecisionStatistics *statistics)
{
	g_autofree gchar *name = strict_json_text(json, "'reference'", MAX_NAME_BYTES);

	if (!name)
		return FALSE;
	statistics->reference = number_format_find(name, strlen(name));
	return (statistics->reference < N_NUMBER_FORMATS &&
		number_format_significand(statistics->reference) > 0) ||
	       strict_json_refuse(json, "'reference' is no floating format");
}

static gboolean read_all(StrictJson *json, TachoPrecisionStatistics *statistics)
{
	static const gchar *const keys[] = { "tacho_precision_statistics",
					     "reference",
					     "steps",
					     "samples",
					     "loss",
					     "operations",
					     NULL };
	static const gchar *const loss[] = { "mean", "spread", NULL };
	guint64 seen = 0;
	gint key;

	if (!strict_json_enter(json, '{', "the statistics"))
		return FALSE;
	while ((key = strict_json_key(json, keys, &seen)) >= 0) {
		/* the version stands first, so that a later one's members are not held against it */
		if (!(seen & 1))
			return strict_json_refuse(
				json, "'tacho_precision_statistics' does not stand first");
		if (key == 0   ? !strict_json_version(json, "tacho_precision_statistics", VERSION,
						      TACHO_PRECISION_ERROR_VERSION)
		    : key == 1 ? !read_reference(json, statistics)
		    : key == 2 ? !read_whole(json, keys[2], 1, &statistics->steps)
		    : key == 3 ? !read_whole(json, keys[3], 1, &statistics->samples)
		    : key == 4 ? !read_pair(json, "'loss'", loss, TRUE, &statistics->loss_mean,
					    &statistics->loss_spread)
			       : !read_operations(json, statistics))
			return FALSE;
	}
	return strict_json_leave(json, keys, seen, 0x2f);
}

static guint hash_identity(gconstpointer data)
{
	const struct operation_statistics *operation = data;

	return g_str_hash(operation->module) * 31 + g_str_hash(operation->kind) +
	       operation->ordinal;
}

static gboolean is_same_identity(gconstpointer a, gconstpointer b)
{
	const struct operation_statistics *one = a, *other = b;

	return one->ordinal == other->ordinal && strcmp(one->module, other->module) == 0 &&
	       strcmp(one->kind, other->kind) == 0;
}

static gboolean index_operations(TachoPrecisionStatistics *statistics, GError **error)
{
	for (guint i = 0; i < statistics->operations->len; i++) {
		struct operation_statistics *operation =
			&g_array_index(statistics->operations, struct operation_statistics, i);

		if (g_hash_table_insert(statistics->rows, operation, GUINT_TO_POINTER(i + 1)))
			continue;
		g_set_error(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_FORMAT,
			    "operation %u (%s %s %u) stands twice", i, operation->module,
			    operation->kind, operation->ordinal);
		return FALSE;
	}
	return TRUE;
}

guint32 precision_statistics_find(const TachoPrecisionStatistics *statistics, const gchar *module,
				  const gchar *kind, guint32 ordinal)
{
	struct operation_statistics wanted = { .module = (gchar *)module,
					       .kind = (gchar *)kind,
					       .ordinal = ordinal };

	return GPOINTER_TO_UINT(g_hash_table_lookup(statistics->rows, &wanted)) - 1;
}

TachoPrecisionStatistics *precision_statistics_parse(const gchar *text, gsize n, GError **error)
{
	g_autoptr(TachoPrecisionStatistics) statistics = g_new0(TachoPrecisionStatistics, 1);
	g_auto(StrictJson) json = { .begin = NULL };

	statistics->loss_mean = statistics->loss_spread = NAN;
	statistics->operations = g_array_new(FALSE, TRUE, sizeof(struct operation_statistics));
	g_array_set_clear_func(statistics->operations, operation_clear);
	statistics->rows = g_hash_table_new(hash_identity, is_same_identity);
	strict_json_init(&json, text, n, "the statistics", TACHO_PRECISION_ERROR,
			 TACHO_PRECISION_ERROR_FORMAT);
	read_all(&json, statistics);
	if (!strict_json_finish(&json, error) || !index_operations(statistics, error))
		return NULL;
	return g_steal_pointer(&statistics);
}

TachoPrecisionStatistics *tacho_precision_statistics_read(const gchar *path, GError **error)
{
	gsize n;
	g_autofree gchar *text = text_file_read(path, MAX_BYTES, &n, error);
	TachoPrecisionStatistics *statistics =
		text ? precision_statistics_parse(text, n, error) : NULL;

	if (text && !statistics)
		g_prefix_error(error, "%s: ", path);
	return statistics;
}
