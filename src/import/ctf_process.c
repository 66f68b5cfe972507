#include "import/ctf_process.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tacho/import.h>
#include <unistd.h>

#include "import/ctf_mend.h"
#include "import/ctf_records.h"

enum {
	MAX_MEMORY_MB = 4096,  /* of the process: what a broken length may cost */
	LOOK_INTERVAL_MS = 50, /* how often that is looked at */
	MAX_COMPLAINT_BYTES = 1000,
	EXIT_UNREAD = 3, /* or unwritten */
	PIPE_BYTES = 1 << 20,
};

struct ctf_process {
	gchar *folder;	/* NULL: of a file */
	gchar *scratch; /* it mends the trace there; NULL: it decodes */
	guint part, n_parts;
	pid_t pid; /* 0: has ended */
	int out;   /* what it writes is read there, -1: nothing is */
	int complaints;
	gchar *failure;
};

static gboolean fail(GError **error, const gchar *what)
{
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", what,
		    g_strerror(errno));
	return FALSE;
}

/* A file without a name in the folder for temporary files, so that its pages can be written out. */
static int open_nameless(void)
{
	g_autofree gchar *path = NULL;
	int file = open(g_get_tmp_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (file >= 0)
		return file;
	path = g_build_filename(g_get_tmp_dir(), "tacho-ctf-XXXXXX", NULL);
	file = g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0)
		g_unlink(path);
	return file;
}

/* --- in the process ------------------------------------------------------------------------- */

static void limit_process(pid_t parent)
{
	struct rlimit none = { 0 };

	setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	{
		struct rlimit memory = { .rlim_cur = (rlim_t)MAX_MEMORY_MB << 20,
					 .rlim_max = (rlim_t)MAX_MEMORY_MB << 20 };

		setrlimit(RLIMIT_DATA, &memory);
	}
#endif
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

/* What it has to say goes where its parent finds it, and nowhere else. */
static void run_process(const struct ctf_process *process, int out, pid_t parent)
{
	limit_process(parent);
	signal(SIGPIPE, SIG_DFL);
	if (process->complaints >= 0) {
		dup2(process->complaints, STDERR_FILENO);
		dup2(process->complaints, STDOUT_FILENO);
	}
#ifdef TACHO_HAVE_BABELTRACE
	if (process->scratch)
		_exit(ctf_mend(process->folder, process->scratch, out) ? 0 : EXIT_UNREAD);
	_exit(ctf_decode(process->folder, process->part, process->n_parts, out) ? 0 : EXIT_UNREAD);
#else
	_exit(EXIT_UNREAD);
#endif
}

/* --- outside -------------------------------------------------------------------------------- */

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Begin the process, which writes to `out`; `keep` is the end of a pipe that is not its own, or -1. */
static gboolean start(struct ctf_process *process, int out, int keep, GError **error)
{
	pid_t parent = getpid();

	process->complaints = memfd_create("tacho-ctf", MFD_CLOEXEC);
	fflush(NULL); /* else the process would print again what is waiting to be printed */
	process->pid = fork();
	if (process->pid == 0) {
		if (keep >= 0)
			close(keep);
		run_process(process, out, parent);
	}
	if (process->pid > 0)
		return TRUE;
	process->pid = 0;
	return fail(error, "no process can be made");
}

static struct ctf_process *new_process(const gchar *folder, guint part, guint n_parts, int out)
{
	struct ctf_process *process = g_new0(struct ctf_process, 1);

	process->folder = g_strdup(folder);
	process->part = part;
	process->n_parts = n_parts;
	process->out = out;
	process->complaints = -1;
	return process;
}

/* Begin it with a pipe to read from. Takes over `process`. */
static struct ctf_process *start_piped(struct ctf_process *process, GError **error)
{
	gboolean is_started;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0) {
		fail(error, "no pipe can be made");
		ctf_process_free(process);
		return NULL;
	}
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* a wish */
	process->out = ends[0];
	is_started = start(process, ends[1], ends[0], error);
	close(ends[1]);
	if (is_started)
		return process;
	ctf_process_free(process);
	return NULL;
}

struct ctf_process *ctf_process_start(const gchar *folder, guint part, guint n_parts,
				      GError **error)
{
	return start_piped(new_process(folder, part, n_parts, -1), error);
}

struct ctf_process *ctf_process_start_mending(const gchar *folder, const gchar *scratch,
					      GError **error)
{
	struct ctf_process *process = new_process(folder, 0, 1, -1);

	process->scratch = g_strdup(scratch);
	return start_piped(process, error);
}

struct ctf_process *ctf_process_of_file(int file)
{
	return new_process(NULL, 0, 1, file);
}

void ctf_process_free(struct ctf_process *process)
{
	if (!process)
		return;
	if (process->pid) {
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	close_descriptor(&process->out);
	close_descriptor(&process->complaints);
	g_free(process->failure);
	g_free(process->folder);
	g_free(process->scratch);
	g_free(process);
}

/* --- how it ends ---------------------------------------------------------------------------- */

/* The last line it printed. */
static gchar *read_complaint(const struct ctf_process *process)
{
	gchar text[MAX_COMPLAINT_BYTES + 1];
	struct stat status;
	gssize n;
	gchar *line;

	if (process->complaints < 0 || fstat(process->complaints, &status) != 0)
		return g_strdup("");
	n = pread(process->complaints, text, MAX_COMPLAINT_BYTES,
		  MAX(status.st_size - MAX_COMPLAINT_BYTES, 0));
	text[MAX(n, 0)] = '\0';
	g_strchomp(text);
	line = strstr(text, "┻━┻"); /* how libbabeltrace2 begins what is its own fault */
	if (line)
		return g_utf8_make_valid(g_strchug(line + strlen("┻━┻")), -1);
	line = strrchr(text, '\n');
	return g_utf8_make_valid(line ? line + 1 : text, -1);
}

static void end_process(struct ctf_process *process)
{
	g_autofree gchar *complaint = NULL;
	int status = 0;

	if (!process->pid)
		return;
	while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
		;
	process->pid = 0;
	complaint = read_complaint(process);
	if (process->failure || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_UNREAD)
		return; /* its records say why */
	process->failure =
		g_strdup_printf("libbabeltrace2 gave up%s%s", *complaint ? ": " : "", complaint);
}

/* Whether it takes more memory than any trace should: then its end. */
static gboolean is_too_large(struct ctf_process *process)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/statm", (gint)process->pid);
	g_autofree gchar *text = NULL;
	guint64 n_pages = 0;
	gchar *end;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return FALSE;
	g_ascii_strtoull(text, &end, 10); /* all its addresses */
	n_pages = g_ascii_strtoull(end, NULL, 10);
	return n_pages * (guint64)sysconf(_SC_PAGESIZE) >> 20 > MAX_MEMORY_MB;
}

gsize ctf_process_read(struct ctf_process *process, void *bytes, gsize n)
{
	while (process->out >= 0) {
		struct pollfd ready = { .fd = process->out, .events = POLLIN };
		gssize n_read;

		if (poll(&ready, 1, LOOK_INTERVAL_MS) == 0) {
			if (process->pid && is_too_large(process)) {
				process->failure =
					g_strdup_printf("reading it takes more than %d MiB of "
							"memory",
							MAX_MEMORY_MB);
				kill(process->pid, SIGKILL);
			}
			continue;
		}
		n_read = read(process->out, bytes, n);
		if (n_read > 0)
			return (gsize)n_read;
		if (n_read < 0 && errno == EINTR)
			continue;
		if (process->folder)
			close_descriptor(&process->out);
		end_process(process);
		break;
	}
	return 0;
}

const gchar *ctf_process_failure(const struct ctf_process *process)
{
	return process->failure;
}

int ctf_process_open_all(const struct ctf_process *process)
{
	struct ctf_process *again;
	int file;

	if (!process->folder)
		return fcntl(process->out, F_DUPFD_CLOEXEC, 0);
	file = open_nameless();
	if (file < 0)
		return -1;
	again = new_process(process->folder, process->part, process->n_parts, -1);
	if (start(again, file, -1, NULL))
		end_process(again);
	ctf_process_free(again);
	return file;
}

void ctf_process_library_version(guint *ret_major, guint *ret_minor)
{
	*ret_major = *ret_minor = 0;
#ifdef TACHO_HAVE_BABELTRACE
	ctf_library_version(ret_major, ret_minor);
#endif
}
