#include "base/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_OPEN_FILES = 16 };

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

static void remove_tree(const gchar *path)
{
	nftw(path, remove_one, MAX_OPEN_FILES, FTW_DEPTH | FTW_PHYS);
}

/* (1): nothing that ends us ends the keeper, and it holds nothing of ours open. */
static void keep(int waits, const gchar *scratch)
{
	gchar byte;

	setsid();
	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_IGN);
	dup2(waits, 0);
	close_range(1, ~0U, 0);
	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	remove_tree(scratch);
	_exit(0);
}

static void start_keeper(struct scratch_folder *folder)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		keep(ends[0], folder->path);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return;
	}
	folder->alive = ends[1];
	folder->keeper = pid;
}

struct scratch_folder *scratch_folder_new(const gchar *pattern, GError **error)
{
	gchar *path = g_dir_make_tmp(pattern, error);
	struct scratch_folder *folder;

	if (!path)
		return NULL;
	folder = g_new0(struct scratch_folder, 1);
	folder->path = path;
	folder->alive = -1;
	start_keeper(folder);
	return folder;
}

/* The keeper is ended by hand: processes that we have begun may hold its pipe open, too. */
void scratch_folder_free(struct scratch_folder *folder)
{
	if (!folder)
		return;
	remove_tree(folder->path);
	if (folder->alive >= 0) {
		close(folder->alive);
		kill(folder->keeper, SIGKILL);
		waitpid(folder->keeper, NULL, 0);
	}
	g_free(folder->path);
	g_free(folder);
}
