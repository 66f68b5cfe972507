#include "base/visible_names.h"

GPtrArray *visible_names(const gchar *folder)
{
	GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries)))
		if (*name != '.')
			g_ptr_array_add(names, g_strdup(name));
	return names;
}
