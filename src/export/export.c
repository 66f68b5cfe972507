#include <tacho/export.h>

#include <string.h>

G_DEFINE_QUARK(tacho - export - error - quark, tacho_export_error)

static const TachoExportTarget targets[] = {
#define TARGET(name, ending, is_text, description)                                                 \
	{ #name, ending, description, is_text, tacho_export_##name },
	TACHO_EXPORTS(TARGET)
#undef TARGET
};

const TachoExportTarget *tacho_export_targets(guint *ret_n)
{
	*ret_n = G_N_ELEMENTS(targets);
	return targets;
}

const TachoExportTarget *tacho_export_find(const gchar *name, GError **error)
{
	g_autoptr(GString) names = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
		if (strcmp(targets[i].name, name) == 0)
			return &targets[i];
		g_string_append_printf(names, "%s%s", names->len ? ", " : "", targets[i].name);
	}
	g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_UNKNOWN_TARGET,
		    "'%s' is not a format to export to; there are: %s", name, names->str);
	return NULL;
}
