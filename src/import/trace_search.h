/* trace_search: which traces there are at the paths that the user named.
 *
 * (1) A file that was named must be a trace; what is in a folder and no format wants is passed over.
 * (2) Traces are found in the order of their names, so the same folder reads the same twice.
 * (3) A folder that is a run of ours, or that a format wants, is not searched, but for runs of ours that somebody
 *     put into a run of ours, and for the traces of other tools that belong to it (added_trace.h).
 * (4) A search ends, whatever it is sent into: it goes TRACE_SEARCH_MAX_DEPTH folders deep, into no folder twice, into
 *     no file system of the kernel's, onto another file system over links only, and past no more than
 *     TRACE_SEARCH_MAX_FRUITLESS files and folders that are no traces. Where that is not enough it fails: half a search
 *     may have found half of a job.
 * (5) An archive that was named is the folder that is in it; one in a folder is left out, and told.
 * (6) Runs of ours in a folder are the run; other traces beside them are left out, and told.
 * (7) What LTTng wrote of a job that tacho had it record (lttng_run.h) is a run of ours. */
#ifndef TACHO_TRACE_SEARCH_H
#define TACHO_TRACE_SEARCH_H

#include <tacho/peers.h>
#include <sys/types.h>

#include "import/import_format.h"

enum {
	TRACE_SEARCH_MAX_DEPTH = 4, /* of folders in the folder that was named */
	TRACE_SEARCH_MAX_FRUITLESS = 10000,
};

/* Formats by their place in formats.def; behind them the runs of our own. */
enum {
#define IMPORT_FORMAT(name) IMPORT_PLACE_##name,
#include "import/formats.def"
#undef IMPORT_FORMAT
	IMPORT_N_FORMATS,
	IMPORT_OWN_RUN = IMPORT_N_FORMATS,
	IMPORT_N_KINDS,
};

extern const struct import_format *const import_formats[IMPORT_N_FORMATS];

struct trace_search {
	GPtrArray *paths[IMPORT_N_KINDS];
	TachoPeers
		*peers; /* that read them together, each its share; NULL: this process reads all */
	gboolean is_guess; /* runs of ours were not named one by one, but by a folder of theirs */
	GPtrArray *unreadable; /* texts: files and folders that cannot be read, and why */
	GPtrArray *left_out;   /* texts: what was found and is not read, and why */
	GPtrArray *archives;   /* struct trace_archive: those that were named, unpacked */
	GPtrArray *added;      /* struct added_trace: in the runs of ours */
	GPtrArray *
		scratches; /* struct scratch_folder: runs made of what LTTng wrote; gone with the search */
	/* For trace_search.c: */
	GPtrArray *lttng;    /* traces of LTTng's of which a run is to be made */
	GHashTable *folders; /* struct folder_id: those that were searched or found */
	guint n_fruitless;
	gchar *hint; /* of the first recording in a folder that is not read: what to do; NULL: there is none */
};

void trace_search_init(struct trace_search *search);
void trace_search_release(struct trace_search *search);

/* Find what is at `path`. TACHO_IMPORT_ERROR_UNKNOWN_FORMAT: no trace, or too much else; _IO. */
gboolean trace_search_add(struct trace_search *search, const gchar *path, GError **error);

/* Traces of other tools that were found; ret_first, where not NULL: the path of one. */
guint trace_search_count_foreign(const struct trace_search *search, const gchar **ret_first);

#endif
