/* The commands are run as the user would: what they say on stderr is the answer. A recording that is begun here goes on when
 * `top` is left. */
#include "top_action.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define PATIENCE_S 20

/* The main process of a rank that is there on this host, and is recorded or not; 0: there is none. */
static guint32 find_process(const TachoJob *job, gboolean is_recorded)
{
	const GArray *ranks = tacho_follow_borrow_ranks(job->follow);

	for (guint i = 0; i < ranks->len; i++) {
		const TachoLiveRank *rank = &g_array_index(ranks, TachoLiveRank, i);

		if (rank->end == (is_recorded ? TACHO_END_RUNNING : TACHO_END_STOPPED) &&
		    rank->pid && g_strcmp0(rank->host, g_get_host_name()) == 0 &&
		    kill((pid_t)rank->pid, 0) == 0)
			return rank->pid;
	}
	return 0;
}

/* Its last line: what went wrong, or that it did what it should. */
static gchar *last_line(const gchar *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	const gchar *last = "";

	for (guint i = 0; lines[i]; i++)
		if (*lines[i])
			last = lines[i];
	return g_strdup(last);
}

static void be_usual(gpointer unused)
{
	(void)unused;
	cli_restore_write_signals();
	setsid(); /* Ctrl-C is for top */
}

static gchar *program(void)
{
	return g_build_filename(cli_prefix(), "bin", "tacho", NULL);
}

static gchar *stop(const gchar *pid)
{
	g_autofree gchar *tacho = program(), *said = NULL;
	const gchar *const arguments[] = { tacho, "stop", "--job", pid, NULL };
	g_autoptr(GError) error = NULL;

	if (!g_spawn_sync(NULL, (gchar **)arguments, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, be_usual,
			  NULL, NULL, &said, NULL, &error))
		return g_strdup(error->message);
	return last_line(said);
}

/* The first line that comes, or NULL where none does for so long. */
static gchar *first_line(int fd)
{
	struct pollfd waited = { .fd = fd, .events = POLLIN };
	g_autoptr(GString) line = g_string_new(NULL);
	gint64 until_us = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;
	gchar byte;

	while (poll(&waited, 1, (int)MAX((until_us - g_get_monotonic_time()) / 1000, 0)) > 0 &&
	       read(fd, &byte, 1) == 1) {
		if (byte == '\n')
			return g_string_free(g_steal_pointer(&line), FALSE);
		g_string_append_c(line, byte);
	}
	return NULL;
}

/* It lasts until somebody stops it: nobody waits for it here, so that its run is one of the registry's. */
static gchar *start(const gchar *pid)
{
	g_autofree gchar *tacho = program();
	const gchar *const arguments[] = { tacho, "attach", "--job", pid, NULL };
	g_autoptr(GError) error = NULL;
	gchar *said;
	int fd;

	if (!g_spawn_async_with_pipes(NULL, (gchar **)arguments, NULL, G_SPAWN_STDOUT_TO_DEV_NULL,
				      be_usual, NULL, NULL, NULL, NULL, &fd, &error))
		return g_strdup(error->message);
	said = first_line(fd);
	close(fd);
	return said ? said
		    : g_strdup_printf("'tacho attach --job %s' says nothing for %d s: it may still "
				      "begin to record.",
				      pid, PATIENCE_S);
}

gchar *top_action(const TachoJob *job, TachoTopAction action)
{
	guint32 process = find_process(job, action == TACHO_TOP_STOP);
	g_autofree gchar *pid = g_strdup_printf("%u", process);

	if (!process && action == TACHO_TOP_STOP)
		return g_strdup("No process of this job on this host is being recorded.");
	if (!process)
		return g_strdup("No process of this job on this host had its recording stopped.");
	return action == TACHO_TOP_STOP ? stop(pid) : start(pid);
}
