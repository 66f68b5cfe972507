/* trusted_path: may a file be brought into a process: nobody but root and this user could have put it there or
 * changed it.
 *
 * (1) The file and every folder above it, with no symbolic link left, belong to root or this user, and nobody
 *     else may write to them. A folder that is sticky, as /tmp is, may be written to by all: what is in it
 *     cannot be exchanged by others.
 * (2) A group may write where it has the owner's number: by convention nobody else is in it.
 * (3) Since others can change none of it, what was true when it was asked is true when the file is loaded. */
#ifndef TACHO_TRUSTED_PATH_H
#define TACHO_TRUSTED_PATH_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline bool trusted_path_is_safe(const struct stat *status, uid_t also)
{
	if (status->st_uid != 0 && status->st_uid != geteuid() && status->st_uid != also)
		return false;
	if (S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX))
		return true;
	if ((status->st_mode & S_IWGRP) && status->st_gid != status->st_uid)
		return false;
	return !(status->st_mode & S_IWOTH);
}

/* Whether `path` may be brought in; `also` is another user who is as good as this one. Then `real` is the path to
 * use, without symbolic links; else it is what others could change, or, where errno is not 0, what is not
 * there. */
static inline bool trusted_path(const char *path, uid_t also, char real[PATH_MAX])
{
	struct stat status;

	errno = 0;
	if (!realpath(path, real))
		return false;
	for (;;) { /* from the file up */
		char *last = strrchr(real, '/');

		if (lstat(real, &status) < 0 || !trusted_path_is_safe(&status, also))
			return false;
		if (!last || !last[1])
			break;
		last[last == real] = '\0';
	}
	return realpath(path, real) != NULL;
}

#endif
