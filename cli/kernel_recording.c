#include "kernel_recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define EVENTS	    "events"
#define SUMS	    "sums "
#define MISSING	    "events, but "
#define MAX_LINE    1024
#define WITH_HELPER "lib", "tacho", "tacho-kernel"

struct _KernelRecording {
	GPid pid;
	int input; /* it ends when this does */
};

static gchar *find_program(void)
{
	gchar *program = g_build_filename(cli_prefix(), WITH_HELPER, NULL);

	if (g_file_test(program, G_FILE_TEST_IS_EXECUTABLE))
		return program;
	g_free(program);
	return NULL;
}

/* What it says before it is ready, without the end of the line. */
static gchar *read_line(int fd)
{
	g_autoptr(GString) line = g_string_new(NULL);
	gchar byte;

	while (line->len < MAX_LINE) {
		gssize n = read(fd, &byte, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || byte == '\n')
			break;
		g_string_append_c(line, byte);
	}
	return g_string_free(g_steal_pointer(&line), FALSE);
}

static KernelAmount amount_of(const gchar *line, gchar **ret_why)
{
	*ret_why = NULL;
	if (strcmp(line, EVENTS) == 0)
		return KERNEL_RECORDS_EVENTS;
	if (g_str_has_prefix(line, MISSING)) {
		*ret_why =
			g_strdup_printf("this kernel does not tell of %s", line + strlen(MISSING));
		return KERNEL_RECORDS_EVENTS;
	}
	if (g_str_has_prefix(line, SUMS)) {
		*ret_why = g_strdup(line + strlen(SUMS));
		return KERNEL_RECORDS_SUMS;
	}
	*ret_why = g_strdup(*line ? line : "tacho-kernel did not start");
	return KERNEL_RECORDS_NOTHING;
}

/* `ret_input` NULL: it has none. FALSE with the reason. */
static gboolean start(gchar **argv, GPid *ret_pid, gint *ret_input, gchar **ret_line,
		      gchar **ret_why)
{
	g_autoptr(GError) error = NULL;
	gint output;

	if (!g_spawn_async_with_pipes(NULL, argv, NULL,
				      G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_CLOEXEC_PIPES, NULL, NULL,
				      ret_pid, ret_input, &output, NULL, &error)) {
		*ret_why = g_strdup(error->message);
		return FALSE;
	}
	*ret_line = read_line(output);
	close(output);
	return TRUE;
}

static void await_end(GPid pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		; /* launch_run() may have seen it end before: then there is nothing to wait for */
}

KernelAmount kernel_recording_check(gchar **ret_why)
{
	g_autofree gchar *program = find_program(), *line = NULL;
	gchar *argv[] = { program, (gchar *)"--check", NULL };
	GPid pid;

	if (!program) {
		*ret_why = g_strdup("tacho-kernel is not installed");
		return KERNEL_RECORDS_NOTHING;
	}
	if (!start(argv, &pid, NULL, &line, ret_why))
		return KERNEL_RECORDS_NOTHING;
	await_end(pid);
	return amount_of(line, ret_why);
}

static void say(const gchar *command, KernelAmount amount, const gchar *why)
{
	if (!why)
		return;
	if (amount == KERNEL_RECORDS_EVENTS)
		fprintf(stderr, "tacho %s: of the kernel, not all is recorded: %s\n", command, why);
	else if (amount == KERNEL_RECORDS_SUMS)
		fprintf(stderr,
			"tacho %s: of the kernel, only sums by thread are recorded: %s; next: "
			"tacho doctor\n",
			command, why);
	else
		fprintf(stderr, "tacho %s: nothing of the kernel is recorded: %s\n", command, why);
}

KernelRecording *kernel_recording_start(const gchar *command, const gchar *run, const GArray *pids,
					gboolean is_quiet)
{
	g_autofree gchar *program = find_program(), *line = NULL, *why = NULL;
	g_autoptr(GPtrArray) argv = g_ptr_array_new_with_free_func(g_free);
	KernelAmount amount = KERNEL_RECORDS_NOTHING;
	KernelRecording *recording = g_new0(KernelRecording, 1);

	g_ptr_array_add(argv, g_strdup(program));
	g_ptr_array_add(argv, g_strdup("--run"));
	g_ptr_array_add(argv, g_strdup(run));
	for (guint i = 0; pids && i < pids->len; i++)
		g_ptr_array_add(argv, g_strdup_printf("%d", (int)g_array_index(pids, pid_t, i)));
	g_ptr_array_add(argv, NULL);
	if (!program)
		why = g_strdup("tacho-kernel is not installed");
	else if (start((gchar **)argv->pdata, &recording->pid, &recording->input, &line, &why))
		amount = amount_of(line, &why);
	if (!is_quiet)
		say(command, amount, why);
	if (amount != KERNEL_RECORDS_NOTHING)
		return recording;
	if (recording->pid) {
		close(recording->input);
		await_end(recording->pid);
	}
	g_free(recording);
	return NULL;
}

gint64 kernel_recording_pid(const KernelRecording *recording)
{
	return recording ? recording->pid : 0;
}

void kernel_recording_stop(KernelRecording *recording)
{
	if (!recording)
		return;
	close(recording->input);
	await_end(recording->pid);
	g_free(recording);
}
