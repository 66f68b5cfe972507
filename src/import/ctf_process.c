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

#include "import/ctf_records.h"

enum {
	MAX_MEMORY_MB = 4096,  /* of the process: what a broken length may cost */
	LOOK_INTERVAL_MS = 50, /* how often that is looked at */
	MAX_COMPLAINT_BYTES = 1000,
	EXIT_NO_ROOM = 3,
	LEAST_MAP_BYTES = 16 << 20,
};

struct ctf_process {
	pid_t pid;			/* 0: has ended */
	int file, progress, complaints; /* -1: none */
	guint64 n_bytes;
	gchar *failure;
	guint8 *map;
	gsize map_bytes;
};

static gboolean fail(GError **error, const gchar *what)
{
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", what,
		    g_strerror(errno));
	return FALSE;
}

/* A file without a name, (2). */
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
static void run_process(struct ctf_process *process, const gchar *folder, int progress,
			pid_t parent)
{
	gboolean is_read;

	limit_process(parent);
	signal(SIGPIPE, SIG_DFL);
	if (process->complaints >= 0) {
		dup2(process->complaints, STDERR_FILENO);
		dup2(process->complaints, STDOUT_FILENO);
	}
	is_read = ctf_decode(folder, process->file, progress);
	_exit(is_read ? 0 : EXIT_NO_ROOM);
}

/* --- outside -------------------------------------------------------------------------------- */

static gboolean start(struct ctf_process *process, const gchar *folder, GError **error)
{
	int ends[2];
	pid_t parent = getpid();

	process->file = open_nameless();
	if (process->file < 0)
		return fail(error, g_get_tmp_dir());
	process->complaints = memfd_create("tacho-ctf", MFD_CLOEXEC);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail(error, "no pipe can be made");
	fflush(NULL); /* else the process would print again what is waiting to be printed */
	process->pid = fork();
	if (process->pid == 0) {
		close(ends[0]);
		run_process(process, folder, ends[1], parent);
	}
	close(ends[1]);
	process->progress = ends[0];
	if (process->pid > 0)
		return TRUE;
	process->pid = 0;
	return fail(error, "no process can be made");
}

struct ctf_process *ctf_process_start(const gchar *folder, GError **error)
{
	struct ctf_process *process = g_new0(struct ctf_process, 1);

	process->file = process->progress = process->complaints = -1;
	if (start(process, folder, error))
		return process;
	ctf_process_free(process);
	return NULL;
}

struct ctf_process *ctf_process_of_file(int file, GError **error)
{
	struct ctf_process *process = g_new0(struct ctf_process, 1);
	struct stat status;

	process->file = file;
	process->progress = process->complaints = -1;
	if (fstat(file, &status) != 0) {
		fail(error, "a file of records");
		ctf_process_free(process);
		return NULL;
	}
	process->n_bytes = (guint64)MAX(status.st_size, 0);
	return process;
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void ctf_process_free(struct ctf_process *process)
{
	if (!process)
		return;
	if (process->pid) {
		kill(process->pid, SIGKILL);
		waitpid(process->pid, NULL, 0);
	}
	if (process->map)
		munmap(process->map, process->map_bytes);
	close_descriptor(&process->file);
	close_descriptor(&process->progress);
	close_descriptor(&process->complaints);
	g_free(process->failure);
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
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_ROOM && !*complaint)
		return; /* the last record says why; without one, ctf_process_failure() does */
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

/* Read how far it has come. False: it has ended. */
static gboolean read_progress(struct ctf_process *process)
{
	guint64 n_bytes[64];
	gssize n = read(process->progress, n_bytes, sizeof(n_bytes));

	if (n < 0)
		return errno == EINTR;
	/* each is written at once: never cut */
	if (n >= (gssize)sizeof(n_bytes[0]))
		process->n_bytes = n_bytes[(gsize)n / sizeof(n_bytes[0]) - 1];
	return n > 0;
}

gboolean ctf_process_wait(struct ctf_process *process, guint64 n_bytes, guint64 *ret_n_bytes)
{
	while (process->pid && process->n_bytes <= n_bytes) {
		struct pollfd ready = { .fd = process->progress, .events = POLLIN };
		int n = poll(&ready, 1, LOOK_INTERVAL_MS);

		if (n == 0 && is_too_large(process)) {
			process->failure = g_strdup_printf(
				"reading it takes more than %d MiB of memory", MAX_MEMORY_MB);
			kill(process->pid, SIGKILL);
		}
		if (n > 0 && !read_progress(process))
			end_process(process);
	}
	*ret_n_bytes = process->n_bytes;
	return process->n_bytes > n_bytes;
}

const gchar *ctf_process_failure(const struct ctf_process *process)
{
	return process->failure;
}

guint8 *ctf_process_map(struct ctf_process *process, guint64 n_bytes)
{
	gsize map_bytes = MAX(process->map_bytes, LEAST_MAP_BYTES);
	void *map;

	while (map_bytes < n_bytes)
		map_bytes *= 2;
	if (process->map && map_bytes == process->map_bytes)
		return process->map;
	if (process->map)
		map = mremap(process->map, process->map_bytes, map_bytes, MREMAP_MAYMOVE);
	else
		map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, process->file, 0);
	if (map == MAP_FAILED)
		return NULL;
	process->map = map;
	process->map_bytes = map_bytes;
	return process->map;
}
