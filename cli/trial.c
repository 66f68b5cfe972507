#include "trial.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "cli.h"

#define TICK_US	       (5 * 1000)
#define GRACE_US       (2 * 1000 * 1000)
#define MAX_READ_BYTES (4 << 20)

/* All that was written to `file`, up to a limit. */
static gchar *read_all(FILE *file)
{
	gchar *text = g_malloc(MAX_READ_BYTES + 1);
	gsize length;

	rewind(file);
	length = fread(text, 1, MAX_READ_BYTES, file);
	text[length] = '\0';
	return g_realloc(text, length + 1);
}

/* Wait for the process, and end it when its time is over. False: it was. */
static gboolean wait_in_time(GPid pid, gint64 limit_us, int *ret_status)
{
	gint64 end_us = g_get_monotonic_time() + limit_us;
	gboolean is_in_time = TRUE;

	while (waitpid(pid, ret_status, WNOHANG) == 0) {
		gint64 over_us = g_get_monotonic_time() - end_us;

		if (over_us > 0) {
			kill(pid, over_us > GRACE_US ? SIGKILL : SIGTERM);
			is_in_time = FALSE;
		}
		g_usleep(TICK_US);
	}
	return is_in_time;
}

static gchar *why_not_done(const gchar *program, gboolean is_in_time, int status, guint limit_s)
{
	if (!is_in_time)
		return g_strdup_printf("%s was not done after %u s", program, limit_s);
	if (WIFSIGNALED(status))
		return g_strdup_printf("%s was ended by signal %d", program, WTERMSIG(status));
	if (WEXITSTATUS(status))
		return g_strdup_printf("%s ended with exit status %d", program,
				       WEXITSTATUS(status));
	return NULL;
}

Trial *trial_run(const gchar *const *command, guint limit_s)
{
	Trial *trial = g_new0(Trial, 1);
	FILE *output = tmpfile(), *said = tmpfile();
	GError *error = NULL;
	int status = 0;
	GPid pid;

	if (!output || !said) {
		trial->why =
			g_strdup_printf("no temporary file can be made: %s", g_strerror(errno));
	} else if (g_spawn_async_with_fds(NULL, (gchar **)command, NULL,
					  G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL,
					  NULL, &pid, -1, fileno(output), fileno(said), &error)) {
		gboolean is_in_time =
			wait_in_time(pid, limit_s * G_GINT64_CONSTANT(1000000), &status);

		trial->why = why_not_done(command[0], is_in_time, status, limit_s);
	} else {
		trial->why = g_strdup(error->message);
		g_error_free(error);
	}
	trial->is_done = !trial->why;
	trial->output = output ? read_all(output) : g_strdup("");
	trial->said = said ? read_all(said) : g_strdup("");
	if (output)
		fclose(output);
	if (said)
		fclose(said);
	return trial;
}

void trial_free(Trial *trial)
{
	if (!trial)
		return;
	g_free(trial->output);
	g_free(trial->said);
	g_free(trial->why);
	g_free(trial);
}

Trial *trial_record(const gchar *const *command, const gchar *run, guint limit_s,
		    TachoTimeline **ret_timeline)
{
	g_autofree gchar *self = g_build_filename(cli_prefix(), "bin", "tacho", NULL);
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autoptr(GError) error = NULL;
	Trial *trial;

	g_ptr_array_add(argv, self);
	g_ptr_array_add(argv, (gpointer) "record");
	g_ptr_array_add(argv, (gpointer) "-o");
	g_ptr_array_add(argv, (gpointer)run);
	g_ptr_array_add(argv, (gpointer) "--");
	for (guint i = 0; command[i]; i++)
		g_ptr_array_add(argv, (gpointer)command[i]);
	g_ptr_array_add(argv, NULL);
	trial = trial_run((const gchar *const *)argv->pdata, limit_s);
	*ret_timeline = tacho_run_open(&run, 1, NULL, NULL, &error);
	if (*ret_timeline)
		tacho_correlate(*ret_timeline);
	else if (trial->is_done) {
		trial->is_done = FALSE;
		trial->why = g_strdup(error->message);
	}
	return trial;
}

gchar *trial_complaint(const Trial *trial)
{
	static const gchar voice[] = "tacho: ";
	g_auto(GStrv) lines = g_strsplit(trial->said, "\n", -1);
	static const gchar *const usual[] = { "recording ", "recorded ", "next: ", "not seen: " };

	for (guint i = 0; lines[i]; i++) {
		const gchar *text = lines[i] + strlen(voice);
		gboolean is_usual = FALSE;

		if (!g_str_has_prefix(lines[i], voice))
			continue;
		for (guint n = 0; n < G_N_ELEMENTS(usual); n++)
			is_usual |= g_str_has_prefix(text, usual[n]);
		if (!is_usual)
			return g_strdup(text);
	}
	return NULL;
}
