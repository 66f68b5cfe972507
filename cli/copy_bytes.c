#include "copy_bytes.h"

#include <unistd.h>

#define BUFFER_BYTES (1 << 16)

gboolean copy_bytes(int in, int out, guint64 bytes, guint64 *ret_copied)
{
	g_autofree gchar *buffer = g_malloc(BUFFER_BYTES);

	*ret_copied = 0;
	while (bytes) {
		gssize n = read(in, buffer, MIN(bytes, BUFFER_BYTES));

		if (n <= 0)
			return n == 0;
		for (gssize written = 0; written < n;) {
			gssize more = write(out, buffer + written, (gsize)(n - written));

			if (more < 0)
				return FALSE;
			written += more;
		}
		bytes -= (guint64)n;
		*ret_copied += (guint64)n;
	}
	return TRUE;
}
