/* trace_archive: traces in an archive (tar, compressed or not; zip), read in place: unpacked into a private folder for as long
 * as the run is open.
 *
 * (1) Only regular files and folders come out, with names that stay below the folder; links and devices are left out.
 * (2) There is an end to it: ARCHIVE_MAX_MEMBERS, ARCHIVE_MAX_BYTES, and no more than ARCHIVE_MAX_RATIO times the
 *     archive's own size, which no trace is compressed to. Archives in it are not opened.
 * (3) The folder is removed whatever happens to the process (base/scratch_folder.h). */
#ifndef TACHO_TRACE_ARCHIVE_H
#define TACHO_TRACE_ARCHIVE_H

#include "import/import_format.h"

#define ARCHIVE_MAX_BYTES  (G_GUINT64_CONSTANT(64) << 30)
#define ARCHIVE_FREE_BYTES (G_GUINT64_CONSTANT(256) << 20) /* so much may come of any archive */
enum {
	ARCHIVE_MAX_MEMBERS = 100000,
	ARCHIVE_MAX_RATIO = 250,
};

struct trace_archive {
	gchar *path;   /* of the archive, as it was named */
	gchar *folder; /* what was in it; its last part is that of `path` */
	struct scratch_folder *scratch;
};

/* Whether the file is one, by its first bytes, and for what is compressed in ways of its own, by its name. */
gboolean trace_archive_sniff(const struct sniff_input *input);

/* Unpack the archive; to be ended with trace_archive_free(). TACHO_IMPORT_ERROR_FORMAT: broken, too large, encrypted, or this
 * build cannot; _IO: no room. */
struct trace_archive *trace_archive_open(const gchar *path, GError **error);
void trace_archive_free(struct trace_archive *archive);

/* `text` with the folder's place in it as the archive's; the caller's. */
gchar *trace_archive_tell(const struct trace_archive *archive, const gchar *text);

/* Let the archive be freed when the timeline is, whose processes and problems tell of it by its own name. */
void trace_archive_hand_over(struct trace_archive *archive, TachoTimeline *timeline);

#endif
