#include "export/export_output.h"

#include <errno.h>
#include <unistd.h>

static void set_error(GError **error, int cause)
{
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
			    g_strerror(cause ? cause : EIO));
}

gboolean export_output_finish(FILE *out, const TachoExportOptions *options, GError **error)
{
	if (ferror(out) || fflush(out) != 0) {
		set_error(error, errno);
		return FALSE;
	}
	if (options->progress)
		options->progress(1.0, options->progress_data);
	return TRUE;
}

gboolean export_output_copy(int file, FILE *out, const TachoExportOptions *options, GError **error)
{
	gchar bytes[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(file, bytes, sizeof(bytes), at)) > 0) {
		if (fwrite(bytes, 1, (gsize)n, out) != (gsize)n)
			break;
		at += n;
	}
	if (n == 0)
		return export_output_finish(out, options, error);
	set_error(error, errno);
	return FALSE;
}
