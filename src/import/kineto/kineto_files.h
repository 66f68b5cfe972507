/* kineto_files: read Kineto files into rows, on all cores.
 *
 * A core takes a file that nobody has begun, else a piece of one that others are reading. Where the
 * pieces of a file turn out to be cut in the wrong places, or something in it is broken, its rows are
 * dropped and it is read again, carefully (json_chunks.h).
 *
 * Files of one rank, one after the other in time, are cycles of one profiler (torch.profiler.schedule writes a
 * file each): they are one process. Those at the same time are copies, of which the first is kept. Files
 * that tell no rank are cycles if their operations are of one pid and at different times. */
#ifndef TACHO_KINETO_FILES_H
#define TACHO_KINETO_FILES_H

#include "import/import_format.h"
#include "import/chrome/chrome_facts.h"
#include "import/kineto/kineto_reader.h"

struct kineto_file {
	const gchar *path;
	struct chrome_facts facts;
	JsonChunks *chunks; /* while it is read: so that as many are open as there are cores */
	guint n_users;	    /* cores that read it */
	gboolean is_opened, is_finished;
	gboolean is_reread;    /* carefully: only the careful readers' tracks and groups count */
	gboolean is_duplicate; /* of times that another file of its rank has: left out */
	guint owner;	       /* file with the rank's first times; others go on with its process */
	gboolean has_end;      /* of the array, and of what is behind it */
	gboolean is_tail_broken;
	guint64 tail_offset; /* of what is broken there */
	GError *failure;     /* why nothing more of it could be read */
};

struct kineto_files {
	struct kineto_file *files;
	guint n;
	GPtrArray *rows;    /* struct kineto_rows, by file and piece */
	GPtrArray *readers; /* whose numbers are in the rows */
	guint n_quick;	    /* of the readers: the others are careful ones, of one file each */
	gboolean is_out_of_memory;
};

/* The rank that the file tells, else its name; -1: neither does. */
gint32 kineto_file_rank(const struct kineto_file *file);

void kineto_files_read(struct kineto_files *files, const gchar *const *paths, guint n_paths,
		       const struct import *import);
void kineto_files_release(struct kineto_files *files);

/* Whether what the reader noted of the file belongs to rows that are still there. */
static inline gboolean kineto_files_counts(const struct kineto_files *files, guint reader,
					   guint file)
{
	return (reader >= files->n_quick) == files->files[file].is_reread &&
	       !files->files[file].is_duplicate;
}

static inline struct kineto_rows *kineto_files_rows(const struct kineto_files *files, guint i)
{
	return g_ptr_array_index(files->rows, i);
}

#endif
