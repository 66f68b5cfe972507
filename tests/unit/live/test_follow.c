/* A run followed in small pieces has the steps, with the figures, that it has when it is read whole. TACHO_FOLLOW_RUNS names
 * more runs, separated by colons, to try that with; folders of one run have commas between them. */
#include <stdio.h>
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "live/live_internal.h"

#define PIECE_BYTES 200000

static gchar *table_text(TachoTable *table)
{
	gchar *text = NULL;
	gsize length = 0;
	FILE *file = open_memstream(&text, &length);
	gchar *copy;

	tacho_table_print_json_lines(table, file);
	fclose(file);
	copy = g_strdup(text);
	free(text);
	return copy;
}

static gchar *steps_of_whole(const gchar *path)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_auto(GStrv) paths = g_strsplit(path, ",", -1);
	g_autoptr(TachoTimeline) timeline =
		tacho_timeline_open((const gchar *const *)paths, g_strv_length(paths), NULL);
	g_autoptr(TachoTable) table = NULL;

	g_assert_nonnull(timeline);
	tacho_correlate(timeline);
	table = tacho_view_step(timeline, &filter);
	return table_text(table);
}

static gchar *steps_of_pieces(const gchar *path, guint64 piece_bytes)
{
	g_auto(GStrv) paths = g_strsplit(path, ",", -1);
	g_autoptr(TachoFollow) follow =
		tacho_follow_new((const gchar *const *)paths, g_strv_length(paths));
	g_autoptr(TachoTable) table = NULL;
	guint n_told = 0, n_looks = 0, n_beginnings = 0;

	follow_set_look_bytes(follow, piece_bytes);
	while (!tacho_follow_is_over(follow)) {
		g_assert_true(tacho_follow_look(follow, NULL));
		g_assert_cmpuint(n_looks++, <, 100000);
		if (tacho_follow_n_beginnings(follow) != n_beginnings)
			n_told = 0;
		n_beginnings = tacho_follow_n_beginnings(follow);
		n_told += tacho_follow_n_new(follow);
	}
	g_assert_cmpuint(n_told, ==, tacho_follow_borrow_steps(follow, NULL)->len);
	table = tacho_follow_step_table(follow, FALSE, FALSE);
	return table_text(table);
}

/* Fails with the first line that differs. */
static void compare(const gchar *text, const gchar *expected)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1), others = g_strsplit(expected, "\n", -1);

	for (guint i = 0; lines[i] && others[i]; i++) {
		if (strcmp(lines[i], others[i]) == 0)
			continue;
		g_test_message("line %u of %u and %u:\n%s\n%s", i, g_strv_length(lines),
			       g_strv_length(others), lines[i], others[i]);
		g_test_fail();
		return;
	}
	g_assert_cmpuint(g_strv_length(lines), ==, g_strv_length(others));
}

static void check_run(gconstpointer data)
{
	g_autofree gchar *whole = steps_of_whole(data);
	g_autofree gchar *at_once = steps_of_pieces(data, 1 << 30);
	g_autofree gchar *in_pieces = steps_of_pieces(data, PIECE_BYTES);

	g_assert_cmpuint(strlen(whole), >, 0);
	compare(at_once, whole);
	compare(in_pieces, whole);
}

int main(int argc, char **argv)
{
	g_auto(GStrv) more = g_strsplit(g_getenv("TACHO_FOLLOW_RUNS") ?: "", ":", -1);
	int status;

	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/follow/two_ranks", TACHO_TEST_DATA "/two_ranks", check_run);
	for (guint i = 0; more[i]; i++) {
		g_autofree gchar *base = g_path_get_basename(more[i]);
		g_autofree gchar *name = g_strdup_printf("/follow/%u_%s", i, base);

		g_test_add_data_func(name, more[i], check_run);
	}
	status = g_test_run();
	return status;
}
