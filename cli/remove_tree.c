#include "remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static gboolean fail(GError **error, const gchar *path)
{
	int cause = errno;

	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "cannot remove %s: %s",
		    path, g_strerror(cause));
	return FALSE;
}

static gboolean remove_in(int parent, const gchar *name, const gchar *path, GError **error)
{
	g_autoptr(GDir) entries = NULL;
	const gchar *entry;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return unlinkat(parent, name, 0) == 0 || fail(error, path);
	entries = g_dir_open(path, 0, error);
	while (entries && (entry = g_dir_read_name(entries))) {
		g_autofree gchar *child = g_build_filename(path, entry, NULL);

		if (!remove_in(fd, entry, child, error)) {
			close(fd);
			return FALSE;
		}
	}
	close(fd);
	return entries && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || fail(error, path));
}

gboolean remove_tree(const gchar *path, GError **error)
{
	return remove_in(AT_FDCWD, path, path, error);
}
