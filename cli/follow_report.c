#include "follow_report.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <tacho/live.h>
#include <unistd.h>

#include "cli.h"

#define PAUSE_MS   200
#define PATIENCE_S 10 /* for a run that is not there yet */

/* Arrays so large are given back; smaller ones are kept for the next look, which takes about as much. */
#define KEPT_BYTES (1 << 20)

static volatile sig_atomic_t is_interrupted;

static void note_signal(int number)
{
	(void)number;
	is_interrupted = 1;
}

void follow_begin(void)
{
	struct sigaction action = { .sa_handler = note_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* else each look has its arrays mapped, filled with zeros by the kernel, and given back */
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
}

gboolean follow_is_interrupted(void)
{
	return is_interrupted;
}

void follow_pause(guint milliseconds)
{
	if (!is_interrupted)
		usleep(milliseconds * 1000);
}

/* Text has a head above the first rows alone. */
static void print_rows(TachoTable *table, gboolean is_json, gboolean *has_head)
{
	if (is_json) {
		tacho_table_print_json_lines(table, stdout);
	} else {
		g_autofree gchar *text = NULL;
		gsize length = 0;
		FILE *memory = open_memstream(&text, &length);
		const gchar *body;

		tacho_table_print(table, memory, cli_width(stdout), cli_has_colour(stdout));
		fclose(memory);
		body = text;
		if (*has_head && strchr(body, '\n'))
			body = strchr(body, '\n') + 1;
		fputs(body, stdout);
		*has_head = TRUE;
	}
	fflush(stdout);
}

static void print_new(TachoFollow *follow, gboolean is_json, gboolean *has_head)
{
	g_autoptr(TachoTable) table = NULL;

	if (!tacho_follow_n_new(follow))
		return;
	table = tacho_follow_step_table(follow, TRUE, FALSE);
	if (table)
		print_rows(table, is_json, has_head);
}

/* A run may be named before `tacho record` has made it. */
static gboolean wait_for(TachoFollow *follow, GError **error)
{
	gint64 until_us = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

	for (;;) {
		g_autoptr(GError) cause = NULL;

		if (tacho_follow_look(follow, &cause))
			return TRUE;
		if (g_get_monotonic_time() > until_us || follow_is_interrupted()) {
			g_propagate_error(error, g_steal_pointer(&cause));
			return FALSE;
		}
		follow_pause(PAUSE_MS);
	}
}

static void print_summary(TachoFollow *follow)
{
	g_autoptr(TachoTable) table = tacho_follow_step_table(follow, FALSE, TRUE);

	if (!table)
		return;
	putchar('\n');
	cli_print_table(table);
}

int follow_report_run(const gchar *command, gboolean is_json, int argc, char **argv)
{
	g_autoptr(TachoFollow) follow = NULL;
	GError *error = NULL;
	gboolean has_head = FALSE;
	guint n_beginnings = 0;

	if (argc < 2)
		return cli_fail(command, "name the run to follow (see 'tacho %s --help')", command);
	follow_begin();
	follow = tacho_follow_new((const gchar *const *)argv + 1, (guint)argc - 1);
	if (!wait_for(follow, &error))
		return cli_fail_error(command, error);
	for (;;) {
		if (tacho_follow_n_beginnings(follow) != n_beginnings) {
			n_beginnings = tacho_follow_n_beginnings(follow);
			fprintf(stderr,
				"tacho %s: the steps are others than they seemed; all are told "
				"again\n",
				command);
		}
		print_new(follow, is_json, &has_head);
		if (tacho_follow_is_over(follow) || follow_is_interrupted() || ferror(stdout))
			break;
		if (!tacho_follow_is_behind(follow))
			follow_pause(PAUSE_MS);
		if (!tacho_follow_look(follow, &error))
			return cli_fail_error(command, error);
	}
	if (!is_json)
		print_summary(follow);
	return cli_finish(command, CLI_DONE);
}
