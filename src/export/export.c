#include <tacho/export.h>

#include <string.h>

#include <tacho/words.h>

G_DEFINE_QUARK(tacho - export - error - quark, tacho_export_error)

/* Targets that need what not every machine has: where it was not found, they are known, but not there. */
#ifndef TACHO_HAVE_HTML
#define tacho_export_html NULL
#endif
#ifndef TACHO_HAVE_XLSX
#define tacho_export_xlsx NULL
#endif

static const struct {
	const gchar *target, *needs;
} needs[] = {
	{ "html", "npm and its packages, which make the page," },
	{ "xlsx", "libxlsxwriter" },
};

static const TachoExportTarget targets[] = {
#define TARGET(name, ending, is_text, description)                                                 \
	{ #name, ending, description, is_text, tacho_export_##name, NULL, NULL },
	TACHO_EXPORTS(TARGET)
#undef TARGET
#define FOLDER_TARGET(name, ending, files, description)                                            \
	{ #name, ending, description, FALSE, NULL, tacho_export_##name, files },
		TACHO_FOLDER_EXPORTS(FOLDER_TARGET)
#undef FOLDER_TARGET
};

const TachoExportTarget *tacho_export_targets(guint *ret_n)
{
	*ret_n = G_N_ELEMENTS(targets);
	return targets;
}

static const TachoExportTarget *built(const TachoExportTarget *target, GError **error)
{
	if (target->write || target->write_folder)
		return target;
	for (guint i = 0; i < G_N_ELEMENTS(needs); i++)
		if (strcmp(needs[i].target, target->name) == 0)
			g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_NOT_BUILT,
				    "this tacho was built without %s, which the format '%s' needs; "
				    "build it again with that",
				    needs[i].needs, target->name);
	return NULL;
}

const TachoExportTarget *tacho_export_find(const gchar *name, GError **error)
{
	const gchar *names[G_N_ELEMENTS(targets) + 1] = { NULL };
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(targets); i++) {
		if (strcmp(targets[i].name, name) == 0)
			return built(&targets[i], error);
		names[i] = targets[i].name;
	}
	there = tacho_did_you_mean(name, names);
	g_set_error(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_UNKNOWN_TARGET,
		    "tacho cannot export to the format '%s'%s", name, there);
	return NULL;
}
