#include "import/ctf/ctf_process.h"

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

#include "import/ctf/ctf_mend.h"
#include "import/ctf/ctf_records.h"

enum {
	MAX_MEMORY_MB = 4096, /* of the process: what a broken length may cost */
	FREE_MEMORY_MB = 512, /* of that for any trace; more where it is large */
	MAX_MEMORY_RATIO = 100,
	LOOK_INTERVAL_MS = 50,	/* how often that is looked at */
	MAX_IDLE_CPU_S = 30,	/* of work without a result; 200 ns more for each byte there is */
	MAX_IDLE_S = 120,	/* of waiting for a file that never tells anything, say */
	MAX_OUTPUT_RATIO = 256, /* of what it writes to what it reads */
	MAX_COMPLAINT_BYTES = 1000,
	EXIT_UNREAD = 3, /* or unwritten */
	PIPE_BYTES = 1 << 20,
};

#define FREE_OUTPUT_BYTES (G_GUINT64_CONSTANT(64) << 20) /* so much may come of any trace */

struct ctf_process {
	gchar *folder;	/* NULL: of a file */
	gchar *scratch; /* it mends the trace there; NULL: it decodes */
	guint part, n_parts;
	pid_t pid; /* 0: has ended */
	int out;   /* what it writes is read there, -1: nothing is */
	int complaints;
	gchar *failure;
	guint64 most_bytes, n_bytes; /* that it may write, and that it has written */
	guint64 most_memory_mb;	     /* with what it has of us */
	gint64 idle_since_us, idle_since_cpu_ns, most_idle_cpu_ns;
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

static void limit_process(const struct ctf_process *process, pid_t parent)
{
	struct rlimit none = { 0 };

	(void)process; /* a sanitizer takes more addresses than a limit would leave it */
	setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	{
		rlim_t most = (rlim_t)process->most_memory_mb << 20;
		struct rlimit memory = { .rlim_cur = most, .rlim_max = most };

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
	limit_process(process, parent);
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
	(void)out;
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

/* --- how far it may go ---------------------------------------------------------------------- */

/* What the process (0: we) has for data, in MiB; 0 where there is no /proc. */
static guint64 data_mb(pid_t pid)
{
	g_autofree gchar *path =
		pid ? g_strdup_printf("/proc/%d/statm", (gint)pid) : g_strdup("/proc/self/statm");
	g_autofree gchar *text = NULL;
	guint64 n_pages;

	if (!g_file_get_contents(path, &text, NULL, NULL) ||
	    sscanf(text, "%*u %*u %*u %*u %*u %" G_GUINT64_FORMAT, &n_pages) != 1)
		return 0;
	return n_pages * (guint64)sysconf(_SC_PAGESIZE) >> 20;
}

static guint64 folder_bytes(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	guint64 bytes = 0;
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);
		struct stat status;

		if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
			bytes += (guint64)status.st_size;
	}
	return MIN(bytes, G_MAXUINT64 / MAX_OUTPUT_RATIO - FREE_OUTPUT_BYTES);
}

/* Time that it has worked, on all threads; 0: not known. */
static gint64 cpu_ns(const struct ctf_process *process)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(process->pid, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return 0;
	return used.tv_sec * G_GINT64_CONSTANT(1000000000) + used.tv_nsec;
}

static void note_progress(struct ctf_process *process)
{
	process->idle_since_us = g_get_monotonic_time();
	process->idle_since_cpu_ns = cpu_ns(process);
}

static void stop(struct ctf_process *process, const gchar *why)
{
	if (!process->failure)
		process->failure = g_strdup(why);
	kill(process->pid, SIGKILL);
}

/* Where it does not get on: then its end. Damage can make libbabeltrace2 read in circles. */
static void check_progress(struct ctf_process *process)
{
	if (cpu_ns(process) - process->idle_since_cpu_ns > process->most_idle_cpu_ns)
		stop(process, "libbabeltrace2 worked on it for long and found nothing more");
	else if (g_get_monotonic_time() - process->idle_since_us >
		 MAX_IDLE_S * G_GINT64_CONSTANT(1000000))
		stop(process, "nothing more could be read of it for two minutes");
}

static void note_output(struct ctf_process *process, gsize n)
{
	note_progress(process);
	process->n_bytes += n;
	if (process->n_bytes > process->most_bytes && process->pid)
		stop(process, "it tells of more events than can be in files of that size");
}

/* Begin the process, which writes to `out`; `keep` is the end of a pipe that is not its own, or -1. */
static gboolean start(struct ctf_process *process, int out, int keep, GError **error)
{
	pid_t parent = getpid();
	guint64 n_bytes;

	process->complaints = memfd_create("tacho-ctf", MFD_CLOEXEC);
	n_bytes = folder_bytes(process->folder);
	process->most_bytes = FREE_OUTPUT_BYTES + MAX_OUTPUT_RATIO * n_bytes;
	process->most_memory_mb =
		data_mb(0) +
		MIN(MAX_MEMORY_MB, FREE_MEMORY_MB + (n_bytes >> 20) * MAX_MEMORY_RATIO);
	process->most_idle_cpu_ns =
		MAX_IDLE_CPU_S * G_GINT64_CONSTANT(1000000000) + (gint64)(n_bytes / 5 * 1000);
	fflush(NULL); /* else the process would print again what is waiting to be printed */
	process->pid = fork();
	if (process->pid == 0) {
		if (keep >= 0)
			close(keep);
		run_process(process, out, parent);
	}
	if (process->pid > 0) {
		note_progress(process);
		return TRUE;
	}
	process->pid = 0;
	return fail(error, "cannot start a process");
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
		fail(error, "cannot make a pipe");
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

static gboolean is_too_large(const struct ctf_process *process)
{
	return data_mb(process->pid) > process->most_memory_mb;
}

gsize ctf_process_read(struct ctf_process *process, void *bytes, gsize n)
{
	while (process->out >= 0) {
		struct pollfd ready = { .fd = process->out, .events = POLLIN };
		gssize n_read;

		if (poll(&ready, 1, LOOK_INTERVAL_MS) == 0) {
			if (process->pid)
				check_progress(process);
			if (process->pid && is_too_large(process)) {
				stop(process, "reading it takes more memory than files of that "
					      "size can need");
			}
			continue;
		}
		n_read = read(process->out, bytes, n);
		if (n_read > 0) {
			note_output(process, (gsize)n_read);
			return (gsize)n_read;
		}
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

/* Until the process has written all of the file, or is stopped. */
static void watch_file(struct ctf_process *process, int file)
{
	siginfo_t ended = { 0 };
	struct stat status;

	while (waitid(P_PID, (id_t)process->pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       !ended.si_pid) {
		if (fstat(file, &status) == 0 && (guint64)status.st_size > process->n_bytes)
			note_output(process, (gsize)((guint64)status.st_size - process->n_bytes));
		else
			check_progress(process);
		g_usleep(LOOK_INTERVAL_MS * 1000);
	}
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
	if (start(again, file, -1, NULL)) {
		watch_file(again, file);
		end_process(again);
	}
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
