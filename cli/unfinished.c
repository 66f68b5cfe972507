#include "unfinished.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int ending_signals[] = { SIGHUP, SIGINT, SIGTERM };
static const gchar *volatile path_to_remove; /* for the signal handler */

static sigset_t ending_signal_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (guint i = 0; i < G_N_ELEMENTS(ending_signals); i++)
		sigaddset(&set, ending_signals[i]);
	return set;
}

/* readdir() takes memory, which a signal handler must not: the kernel's own call does not. Removing while reading
 * may skip names: again, until there are none. */
static void remove_files(int folder)
{
	static gchar buffer[16384];
	glong n, at;
	gboolean has_removed = TRUE;

	while (has_removed) {
		has_removed = FALSE;
		lseek(folder, 0, SEEK_SET);
		while ((n = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0) {
			for (at = 0; at < n;) {
				const struct dirent64 *entry =
					(const struct dirent64 *)(gpointer)(buffer + at);

				has_removed |= unlinkat(folder, entry->d_name, 0) == 0;
				at += entry->d_reclen;
			}
		}
	}
}

static void remove_and_end(int signal_number)
{
	const gchar *path = path_to_remove;

	if (path && unlink(path) < 0) {
		int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (folder >= 0) {
			remove_files(folder);
			close(folder);
			rmdir(path);
		}
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void handle_signals(gboolean is_handling)
{
	struct sigaction action = { .sa_handler = is_handling ? remove_and_end : SIG_DFL };

	action.sa_mask = ending_signal_set();
	for (guint i = 0; i < G_N_ELEMENTS(ending_signals); i++) {
		struct sigaction old;

		/* One that is ignored (nohup) stays so. */
		if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(ending_signals[i], &action, NULL);
	}
}

void unfinished_hold(sigset_t *ret_usual)
{
	sigset_t ending = ending_signal_set();

	pthread_sigmask(SIG_BLOCK, &ending, ret_usual);
}

void unfinished_let_go(const sigset_t *usual)
{
	pthread_sigmask(SIG_SETMASK, usual, NULL);
}

void unfinished_note(const gchar *path)
{
	path_to_remove = path;
	handle_signals(path != NULL);
}

void unfinished_set_error(GError **error, const gchar *path)
{
	gint code = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "cannot write '%s': %s",
		    path, g_strerror(code));
}
