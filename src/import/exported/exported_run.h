/* exported_run: exports of tacho's own, that carry the run they were made of as an image (trace/run_image.h).
 *
 *     chrome    after traceEvents, a member "tachoRun": how many bytes stand before it, their sum, and the blocks in base64
 *     perfetto  packets of a field of ours, at the end of the file: the same, then the blocks
 *     ctf       a hidden file in the folder: sums of the others, then the blocks
 *
 * (1) An image speaks for the export as it was written: where what viewers show has been changed since, that is what is
 *     read, as any trace of its format, and a problem "changed_export" says so.
 * (2) Whatever is in the file, that is a run or such a problem; an error is for a file that cannot be read at all. */
#ifndef TACHO_EXPORTED_RUN_H
#define TACHO_EXPORTED_RUN_H

#include "import/exported/restored_run.h"

/* Each reads the export at `path` into the import, if it is one that carries its run: `ret_is_read`. */
gboolean exported_chrome_read(struct import *import, const gchar *path, gboolean *ret_is_read,
			      GError **error);
gboolean exported_perfetto_read(struct import *import, const gchar *path, gboolean *ret_is_read,
				GError **error);
gboolean exported_ctf_read(struct import *import, const gchar *path, gboolean *ret_is_read,
			   GError **error);

/* Whether the head of a file is that of our chrome export, whatever the names in it look like. */
gboolean exported_chrome_sniff(const struct sniff_input *input);

/* For the three of them: have what was read of an image, or say why it is of no use (`failure`, taken over). */
gboolean exported_run_settle(struct import *import, RestoredRun *run, const gchar *path,
			     GError *failure, gboolean *ret_is_read, GError **error);
/* Failures: (1), and an export that does not reach to its image. */
GError *exported_run_changed(void);
GError *exported_run_cut(void);

#endif
