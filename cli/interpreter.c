#include "interpreter.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli.h"
#include "job_environment.h"

#define MAX_HEAD 4096

/* The first bytes of a file, as text. */
static gchar *read_head(const gchar *path)
{
	FILE *file = fopen(path, "rbe");
	gchar *head = g_malloc0(MAX_HEAD + 1);

	if (file) {
		if (fread(head, 1, MAX_HEAD, file) == 0)
			*head = '\0';
		fclose(file);
	}
	return head;
}

static gboolean is_python(const gchar *program)
{
	g_autofree gchar *name = g_path_get_basename(program);

	return g_regex_match_simple("^python[0-9.]*$", name, 0, 0);
}

/* The interpreter that the script's first line names; where its path is too long for such a line, installers write a shell
 * script with the path in the second:  '''exec' "PATH" "$0" "$@" */
static gchar *python_of_script(const gchar *script)
{
	g_autofree gchar *head = read_head(script);
	g_auto(GStrv) lines = g_strsplit(head, "\n", 3);
	g_auto(GStrv) words = NULL;
	guint at = 0;

	if (!g_str_has_prefix(head, "#!"))
		return NULL;
	words = g_strsplit_set(g_strstrip(lines[0] + 2), " \t", -1);
	if (*words && g_str_has_suffix(*words, "/env"))
		for (at = 1; words[at] && (*words[at] == '-' || !*words[at]);)
			at++;
	if (words[at] && is_python(words[at]))
		return g_find_program_in_path(words[at]);
	if (lines[1] && g_str_has_prefix(lines[1], "'''exec' ")) {
		g_auto(GStrv) quoted = g_strsplit_set(lines[1] + strlen("'''exec' "), "\" ", -1);

		for (guint i = 0; quoted[i]; i++)
			if (*quoted[i])
				return is_python(quoted[i]) ? g_find_program_in_path(quoted[i])
							    : NULL;
	}
	return NULL;
}

gchar *interpreter_of_command(gchar **command)
{
	for (guint i = 0; command[i]; i++) {
		g_autofree gchar *path = *command[i] == '-' || strchr(command[i], '=')
						 ? NULL
						 : g_find_program_in_path(command[i]);
		gchar *python;

		if (!path)
			continue;
		if (is_python(path))
			return g_steal_pointer(&path);
		python = python_of_script(path);
		if (python)
			return python;
	}
	return NULL;
}

gchar *interpreter_ask(gchar **command, const gchar *as, const gchar *script, const gchar *argument)
{
	g_autofree gchar *python = interpreter_of_command(command);
	g_autofree gchar *path = g_build_filename(cli_prefix(), "share", "tacho", "python",
						  "tacho_hook", script, NULL);
	gchar *arguments[] = { python, path, (gchar *)argument, NULL };
	g_autofree gchar *said = NULL;
	int wait_status;

	if (!python || !g_file_test(path, G_FILE_TEST_EXISTS) || !job_environment_is_safe(as, path))
		return NULL;
	if (!g_spawn_sync(NULL, arguments, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &said,
			  NULL, &wait_status, NULL) ||
	    !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 1 || !*g_strstrip(said))
		return NULL;
	return g_steal_pointer(&said);
}
