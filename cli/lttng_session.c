#include "lttng_session.h"

#include <dlfcn.h>
#include <errno.h>
#include <glib/gstdio.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "job_environment.h"
#include "trace/trace_layout.h"

#define CHANNEL "tacho"
#define EVENTS	"tacho_record:*"
#define LIBRARY "libtacho_lttng.so"
#define FLUSH_US                                                                                   \
	"1000000" /* what is in buffers comes out that often, so that it can be read meanwhile */
#define BUFFER	  "1M" /* of each core so many: */
#define N_BUFFERS "8"

struct _LttngSession {
	gchar *name;
};

/* --- the library ---------------------------------------------------------------------------- */

/* In a process of its own: LTTng starts threads where it is loaded, and they stay. */
static gboolean does_load(const gchar *library)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		setenv("LTTNG_UST_REGISTER_TIMEOUT", "0", 1);
		_exit(dlopen(library, RTLD_NOW | RTLD_LOCAL) ? 0 : 1);
	}
	if (pid < 0)
		return TRUE; /* who is recorded will say it */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

gchar *lttng_session_find_library(GError **error)
{
	g_autofree gchar *library = g_build_filename(cli_prefix(), "lib", "tacho", LIBRARY, NULL);

	if (!g_file_test(library, G_FILE_TEST_EXISTS))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "this tacho was built without LTTng-UST; install liblttng-ust-dev and "
			    "build it again (%s is missing)",
			    library);
	else if (!job_environment_is_safe("record", library))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM, "%s is not to be trusted",
			    library);
	else if (!does_load(library))
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "%s cannot be loaded; install liblttng-ust1 (2.13 or later)", library);
	else
		return g_steal_pointer(&library);
	return NULL;
}

/* --- the program lttng ----------------------------------------------------------------------- */

/* What it said went wrong: its "Error:" lines in one. */
static gchar *complaint(const gchar *said)
{
	g_auto(GStrv) lines = g_strsplit(said, "\n", -1);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; lines[i]; i++) {
		const gchar *line = g_strstrip(lines[i]);

		if (g_str_has_prefix(line, "Error: "))
			line += strlen("Error: ");
		else if (!g_str_has_prefix(line, "error: "))
			continue;
		g_string_append_printf(text, "%s%s", text->len ? "; " : "", line);
	}
	return text->len ? g_string_free(g_steal_pointer(&text), FALSE)
			 : g_strdup("it does not say why");
}

/* Run `lttng` with these words, up to a NULL. */
static gboolean run_lttng(GError **error, ...)
{
	g_autoptr(GPtrArray) argv = g_ptr_array_new();
	g_autofree gchar *out = NULL, *said = NULL, *both = NULL, *why = NULL;
	g_autoptr(GError) cause = NULL;
	gchar *word;
	va_list words;
	gint status;

	g_ptr_array_add(argv, (gchar *)"lttng");
	va_start(words, error);
	while ((word = va_arg(words, gchar *)))
		if (*word)
			g_ptr_array_add(argv, word);
	va_end(words);
	g_ptr_array_add(argv, NULL);
	if (!g_spawn_sync(NULL, (gchar **)argv->pdata, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &out,
			  &said, &status, &cause)) {
		if (g_error_matches(cause, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
			g_set_error(
				error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
				"there is no program lttng; install lttng-tools (2.13 or later)");
		else
			g_propagate_error(error, g_steal_pointer(&cause));
		return FALSE;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return TRUE;
	both = g_strconcat(said, "\n", out, NULL);
	why = complaint(both);
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "lttng %s: %s",
		    (const gchar *)argv->pdata[1], why);
	return FALSE;
}

/* --- the session ----------------------------------------------------------------------------- */

/* A name that nobody else has: of the run and of this process. */
static gchar *name_of(const gchar *run)
{
	g_autofree gchar *base = g_path_get_basename(run);

	g_strcanon(base, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.", '_');
	return g_strdup_printf("tacho-%s-%d", base, (int)getpid());
}

/* `lttng create` makes its session the user's current one, by a file: that stays as it was. */
static gboolean create(const gchar *name, const gchar *run, const gchar *url, GError **error)
{
	g_autofree gchar *target =
		url ? g_strconcat("--set-url=", url, NULL)
		    : g_strconcat("--output=", run, "/" TRACE_LTTNG_FOLDER, NULL);
	const gchar *home = g_getenv("LTTNG_HOME");
	g_autofree gchar *current =
		g_build_filename(home ? home : g_get_home_dir(), ".lttngrc", NULL);
	g_autofree gchar *before = NULL;
	gboolean is_created;
	gsize n;

	g_file_get_contents(current, &before, &n, NULL);
	is_created = run_lttng(error, "create", name, target, url ? "--live=" FLUSH_US : "", NULL);
	if (before)
		g_file_set_contents(current, before, (gssize)n, NULL);
	else
		g_unlink(current);
	return is_created;
}

static gboolean fill(const gchar *name, gboolean is_live, GError **error)
{
	g_autofree gchar *session = g_strconcat("--session=", name, NULL);

	/* what events are is in a channel of its own, which comes out with the others */
	if (!is_live && !run_lttng(error, "enable-channel", "--userspace", session,
				   "--switch-timer=" FLUSH_US, "metadata", NULL))
		return FALSE;
	return run_lttng(error, "enable-channel", "--userspace", session, "--subbuf-size=" BUFFER,
			 "--num-subbuf=" N_BUFFERS, is_live ? "" : "--switch-timer=" FLUSH_US,
			 CHANNEL, NULL) &&
	       run_lttng(error, "add-context", "--userspace", session, "--channel=" CHANNEL,
			 "--type=vpid", "--type=vtid", NULL) &&
	       run_lttng(error, "enable-event", "--userspace", session, "--channel=" CHANNEL,
			 EVENTS, NULL) &&
	       run_lttng(error, "start", name, NULL);
}

LttngSession *lttng_session_start(const gchar *run, const gchar *url, GError **error)
{
	g_autofree gchar *name = name_of(run);
	LttngSession *session;

	if (!create(name, run, url, error))
		return NULL;
	if (!fill(name, url != NULL, error)) {
		run_lttng(NULL, "destroy", name, NULL);
		return NULL;
	}
	session = g_new0(LttngSession, 1);
	session->name = g_steal_pointer(&name);
	return session;
}

const gchar *lttng_session_name(const LttngSession *session)
{
	return session->name;
}

gboolean lttng_session_stop(LttngSession *session, GError **error)
{
	gboolean is_stopped;

	if (!session)
		return TRUE;
	is_stopped = run_lttng(error, "stop", session->name, NULL) &&
		     run_lttng(error, "destroy", session->name, NULL);
	g_free(session->name);
	g_free(session);
	return is_stopped;
}
