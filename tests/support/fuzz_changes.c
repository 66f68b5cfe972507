#include "fuzz_changes.h"

#include <tacho/replay.h>

#include "edit/change.h"
#include "foreign_traces.h"

enum { MAX_CHANGES = 4 };

static gboolean can_be_made(const gchar *text, guint32 max_ranks)
{
	struct change change;
	gboolean is_read = change_parse(&change, text, NULL);
	gboolean can = is_read && change_needs(&change) == CHANGE_NEEDS_NOTHING &&
		       !(g_str_has_prefix(text, "ranks=") && change.value.count > max_ranks);

	change_release(&change);
	return can;
}

gchar **fuzz_changes_read(const guint8 *bytes, gsize n, guint32 max_ranks)
{
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) lines = tacho_what_ifs_read(foreign_fuzz_file("changes", bytes, n), &error);
	GStrvBuilder *changes = g_strv_builder_new();
	gchar **result;

	g_assert_true((lines == NULL) == (error != NULL));
	for (guint i = 0; lines && lines[i] && i < MAX_CHANGES; i++)
		if (can_be_made(lines[i], max_ranks))
			g_strv_builder_add(changes, lines[i]);
	result = g_strv_builder_end(changes);
	g_strv_builder_unref(changes);
	return result;
}
