/* mapped_file: the bytes of a file, mapped, that may be written, grow or shrink meanwhile.
 *
 * Mapping costs no memory of our own, so that a run larger than the machine can be read. Its price
 * is SIGBUS where a file has shrunk since; docs/decisions/0006-mapped-reading.md weighs it.
 *
 * (1) A byte below size_bytes can be read at any time. Where the file no longer reaches, it is 0: a
 *     handler for SIGBUS puts zeros in the place of what is gone, in our mappings only; a SIGBUS
 *     elsewhere goes to whoever handled it before.
 * (2) Bytes may change between two reads: check what you have read, not what you will read again.
 * (3) A process may have so many mappings (vm.max_map_count, 65,530 usually), and needs some for its memory, too: where many files are
 *     mapped, small ones are copied into memory instead, and where nearly as many as may be, all. */
#ifndef TACHO_MAPPED_FILE_H
#define TACHO_MAPPED_FILE_H

#include <glib.h>

struct mapped_file {
	const guint8 *bytes; /* NULL when empty; aligned to 16 at least */
	gsize size_bytes;
	struct mapped_region *region; /* NULL: bytes are a copy */
};

/* Map the regular file at `path`. False, with errno's GFileError, where it cannot be had. */
gboolean mapped_file_open(struct mapped_file *file, const gchar *path, GError **error);
/* The same as a copy. The first page is read before the rest is. */
gboolean mapped_file_open_copy(struct mapped_file *file, const gchar *path, GError **error);
/* Have the first `n_bytes` in memory and mapped now. A wish: nothing is promised, (1) holds as before. */
void mapped_file_preload(const struct mapped_file *file, gsize n_bytes);
/* Only a few places of the file will be looked at: what lies around them is neither read nor mapped beside them, which the
 * kernel else does, up to 2 MiB each. A wish, as above. */
void mapped_file_expect_little(const struct mapped_file *file);
/* Nothing will be looked at for a while: what is mapped of the file counts as this process's memory no longer. */
void mapped_file_rest(const struct mapped_file *file);
void mapped_file_close(struct mapped_file *file);

#endif
