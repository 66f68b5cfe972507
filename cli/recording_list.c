#include "recording_list.h"

#include <string.h>

#include "cli.h"

/* The parts between commas; a file of that name is one. */
static gchar **split(const gchar *argument)
{
	const gchar *whole[] = { argument, NULL };

	if (g_file_test(argument, G_FILE_TEST_EXISTS))
		return g_strdupv((gchar **)whole);
	return g_strsplit(argument, ",", -1);
}

static gboolean check_parts(const gchar *command, const gchar *argument, gchar **parts)
{
	gboolean is_empty = !parts[0];

	for (guint i = 0; parts[i]; i++)
		is_empty |= !*parts[i];
	if (is_empty)
		cli_fail(command,
			 "'%s' has an empty name where a run must be named (see 'tacho %s --help')",
			 argument, command);
	return !is_empty;
}

/* The next recording, without runs. */
static GPtrArray *add_recording(RecordingList *list)
{
	GPtrArray *runs = g_ptr_array_new_with_free_func(g_free);

	g_ptr_array_add(list->paths, runs);
	return runs;
}

/* Each part is of another recording. */
static gboolean add_argument(RecordingList *list, const gchar *command, const gchar *argument,
			     gboolean is_first)
{
	g_auto(GStrv) parts = split(argument);
	guint n_parts = g_strv_length(parts);

	if (!check_parts(command, argument, parts))
		return FALSE;
	if (!is_first && n_parts != list->paths->len) {
		cli_fail(command,
			 "'%s' names %u %s, but each argument before it names %u; name equally "
			 "many in all",
			 argument, n_parts, n_parts == 1 ? "recording" : "recordings",
			 list->paths->len);
		return FALSE;
	}
	for (guint i = 0; i < n_parts; i++)
		g_ptr_array_add(is_first ? add_recording(list) : g_ptr_array_index(list->paths, i),
				g_strdup(parts[i]));
	return TRUE;
}

static gboolean add_more(RecordingList *list, const gchar *command, const gchar *argument)
{
	g_auto(GStrv) parts = split(argument);

	if (!check_parts(command, argument, parts))
		return FALSE;
	for (guint i = 0; parts[i]; i++)
		g_ptr_array_add(add_recording(list), g_strdup(parts[i]));
	return TRUE;
}

/* One recording is not several, however often it is named. */
static gboolean check_names(const RecordingList *list, const gchar *command)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

	for (guint i = 0; i < list->paths->len; i++) {
		const GPtrArray *runs = g_ptr_array_index(list->paths, i);
		const gchar *first = g_ptr_array_index(runs, 0);

		if (g_hash_table_add(seen, g_canonicalize_filename(first, NULL)))
			continue;
		cli_fail(command, "'%s' is given twice; name each recording once", first);
		return FALSE;
	}
	return TRUE;
}

/* By the first of its runs: "r0.tacho + 1" has one more. */
static void name_recordings(RecordingList *list)
{
	for (guint i = 0; i < list->paths->len; i++) {
		GPtrArray *runs = g_ptr_array_index(list->paths, i);
		const gchar *first = g_ptr_array_index(runs, 0);

		g_ptr_array_add(list->names,
				runs->len == 1 ? g_strdup(first)
					       : g_strdup_printf("%s + %u", first, runs->len - 1));
	}
}

gboolean recording_list_init(RecordingList *list, const gchar *command, int argc, char **argv,
			     gchar **more)
{
	list->paths = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	list->names = g_ptr_array_new_with_free_func(g_free);
	list->timelines = g_ptr_array_new_with_free_func((GDestroyNotify)tacho_timeline_free);
	if (argc < 2) {
		cli_fail(command, "name the run to read (see 'tacho %s --help')", command);
		return FALSE;
	}
	for (int i = 1; i < argc; i++)
		if (!add_argument(list, command, argv[i], i == 1))
			return FALSE;
	for (guint i = 0; more && more[i]; i++)
		if (!add_more(list, command, more[i]))
			return FALSE;
	if (list->paths->len > 1 && !check_names(list, command))
		return FALSE;
	name_recordings(list);
	return TRUE;
}

void recording_list_release(RecordingList *list)
{
	g_clear_pointer(&list->timelines, g_ptr_array_unref);
	g_clear_pointer(&list->names, g_ptr_array_unref);
	g_clear_pointer(&list->paths, g_ptr_array_unref);
}

gboolean recording_list_open(RecordingList *list, const gchar *command)
{
	for (guint i = 0; i < list->paths->len; i++) {
		const GPtrArray *runs = g_ptr_array_index(list->paths, i);
		g_autofree gchar **arguments = g_new0(gchar *, runs->len + 2);
		TachoTimeline *timeline;

		/* before them is the name of a command, behind them NULL */
		memcpy(arguments + 1, runs->pdata, runs->len * sizeof(gchar *));
		timeline = cli_open_runs(command, (int)runs->len + 1, arguments);
		if (!timeline)
			return FALSE;
		g_ptr_array_add(list->timelines, timeline);
	}
	return TRUE;
}

GArray *recording_list_recordings(const RecordingList *list)
{
	GArray *recordings = g_array_new(FALSE, FALSE, sizeof(TachoRecording));

	for (guint i = 0; i < list->timelines->len; i++) {
		TachoRecording recording = { .name = g_ptr_array_index(list->names, i),
					     .timeline = g_ptr_array_index(list->timelines, i) };

		g_array_append_val(recordings, recording);
	}
	return recordings;
}
