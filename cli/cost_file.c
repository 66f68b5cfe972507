#include "cost_file.h"

#include <string.h>

#include "cli.h"
#include "new_file.h"

gchar *cost_file_path(const gchar *option)
{
	if (!option)
		return tacho_cost_default_path();
	return strcmp(option, "none") == 0 ? NULL : g_strdup(option);
}

TachoCostModel *cost_file_read(const gchar *command, const gchar *path)
{
	GError *error = NULL;
	TachoCostModel *model;

	if (!path || !g_file_test(path, G_FILE_TEST_EXISTS))
		return tacho_cost_model_new();
	model = tacho_cost_model_open(path, &error);
	if (!model)
		cli_fail_error(command, error);
	return model;
}

gboolean cost_file_write(const gchar *command, const gchar *path, const TachoCostModel *model,
			 gboolean is_forced)
{
	GError *error = NULL;
	g_autofree gchar *folder = g_path_get_dirname(path);
	g_autoptr(NewFile) file = NULL;

	g_mkdir_with_parents(folder, 0700); /* where it cannot be made, the file cannot either */
	file = new_file_open(path, is_forced, &error);
	if (file)
		tacho_cost_model_write(model, new_file_stream(file));
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error(command, error);
	return FALSE;
}
