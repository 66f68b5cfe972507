#include "precision/operation_kind.h"

#include <string.h>

static const struct {
	const gchar *name, *kind;
	guint keeps;
	gboolean is_product;
} kinds[] = {
#define NOTHING				    KEEPS_NOTHING
#define INPUTS				    KEEPS_INPUTS
#define WEIGHT				    KEEPS_WEIGHT
#define ALWAYS				    KEEPS_WEIGHT_ALWAYS
#define OUTPUT				    KEEPS_OUTPUT
#define MASK				    KEEPS_MASK
#define VIEW				    KEEPS_STORAGE
#define KIND(name, kind, keeps, is_product) { name, kind, keeps, is_product },
#include "precision/operation_kinds.def"
#undef KIND
#undef NOTHING
#undef INPUTS
#undef WEIGHT
#undef ALWAYS
#undef OUTPUT
#undef MASK
#undef VIEW
};

/* Without "aten::", and the underscores around it. */
static void strip(const gchar *name, gchar ret_kind[OPERATION_KIND_BYTES])
{
	const gchar *colons = g_strrstr(name, "::");
	gsize n;

	if (colons)
		name = colons + 2;
	while (*name == '_')
		name++;
	n = MIN(strlen(name), OPERATION_KIND_BYTES - 1);
	while (n > 0 && name[n - 1] == '_')
		n--;
	memcpy(ret_kind, name, n);
	ret_kind[n] = '\0';
}

void operation_kind_of_name(const gchar *name, gchar ret_kind[OPERATION_KIND_BYTES])
{
	strip(name, ret_kind);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].name, ret_kind) == 0) {
			g_strlcpy(ret_kind, kinds[i].kind, OPERATION_KIND_BYTES);
			return;
		}
}

guint operation_kind_keeps(const gchar *kind)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].keeps;
	return KEEPS_UNKNOWN;
}

gboolean operation_kind_is_product(const gchar *kind)
{
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0)
			return kinds[i].is_product;
	return FALSE;
}

enum cast_kind operation_cast_kind(const gchar *name)
{
	static const struct {
		const gchar *name;
		enum cast_kind kind;
	} casts[] = {
		{ "to", CAST_CONVERTS },
		{ "to_copy", CAST_CONVERTS },
		{ "copy", CAST_CONVERTS },
		{ "type_as", CAST_CONVERTS },
		{ "quantize_per_tensor", CAST_QUANTIZES },
		{ "quantize_per_tensor_dynamic", CAST_QUANTIZES },
		{ "quantize_per_channel", CAST_QUANTIZES },
		{ "dequantize", CAST_DEQUANTIZES },
	};
	gchar kind[OPERATION_KIND_BYTES];

	strip(name, kind);
	for (guint i = 0; i < G_N_ELEMENTS(casts); i++)
		if (strcmp(casts[i].name, kind) == 0)
			return casts[i].kind;
	return CAST_NONE;
}

gboolean operation_is_cast_node(const gchar *name)
{
	return g_str_has_prefix(name, "ToCopyBackward") || g_str_has_prefix(name, "ToBackward");
}

gchar *operation_module_type(const gchar *name)
{
	const gchar *space = strstr(name, " ("), *end = space ? strchr(space, ')') : NULL;

	return end ? g_strndup(space + 2, (gsize)(end - space - 2)) : g_strdup(name);
}

gchar *operation_module_path(const gchar *name, GHashTable *roots)
{
	const gchar *space = strstr(name, " ("), *point = strchr(name, '.');
	gsize n = space ? (gsize)(space - name) : strlen(name);
	gsize n_root = point && (gsize)(point - name) < n ? (gsize)(point - name) : n;
	g_autofree gchar *class = g_strndup(name, n_root);
	const gchar *root = g_hash_table_lookup(roots, class);
	g_autofree gchar *path =
		n_root < n ? g_strndup(name + n_root + 1, n - n_root - 1) : g_strdup("");

	return root && *root ? g_strconcat(root, ":", path, NULL) : g_steal_pointer(&path);
}
