/* text_file: nothing that a path may name (a device without end, a folder, a program) does harm: no more is read
 * than is wanted, and one byte that tells whether there is more. */
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define BLOCK_BYTES 65536

static void set_errno(GError **error, const gchar *path, int number)
{
	g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(number), "%s: %s", path,
		    g_strerror(number));
}

/* Up to the end, or `max_bytes` and one more. */
static gboolean read_bytes(int fd, const gchar *path, gsize max_bytes, GString *text,
			   GError **error)
{
	gchar block[BLOCK_BYTES];

	while (text->len <= max_bytes) {
		gssize n = read(fd, block, MIN(sizeof(block), max_bytes + 1 - text->len));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			set_errno(error, path, errno);
			return FALSE;
		}
		if (n == 0)
			return TRUE;
		g_string_append_len(text, block, n);
	}
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s: the file has more than %" G_GSIZE_FORMAT " bytes, which is the limit",
		    path, max_bytes);
	return FALSE;
}

static gboolean check_text(const gchar *path, const GString *text, GError **error)
{
	const gchar *end;

	if (g_utf8_validate(text->str, (gssize)text->len, &end))
		return TRUE;
	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
		    "%s: the file is not UTF-8 text at byte %" G_GSIZE_FORMAT, path,
		    (gsize)(end - text->str));
	return FALSE;
}

gchar *text_file_read(const gchar *path, gsize max_bytes, gsize *ret_length, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	gboolean is_read;

	if (fd < 0) {
		set_errno(error, path, errno);
		return NULL;
	}
	is_read = read_bytes(fd, path, max_bytes, text, error);
	close(fd);
	if (!is_read || !check_text(path, text, error))
		return NULL;
	*ret_length = text->len;
	return g_string_free(g_steal_pointer(&text), FALSE);
}
