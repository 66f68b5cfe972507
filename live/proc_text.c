/* No stdio: it would ask for the file's kind, and read once more for its end. That is done for each process of the machine. */
#include "live/proc_text.h"

#include <fcntl.h>
#include <unistd.h>

gboolean proc_text_read(guint32 pid, const gchar *name, gchar text[PROC_TEXT_BYTES])
{
	gchar path[64];
	gssize n = -1;
	gint fd;

	g_snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, PROC_TEXT_BYTES - 1);
		close(fd);
	}
	text[MAX(n, 0)] = '\0';
	return n > 0;
}
