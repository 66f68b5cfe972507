/* run_folder: a run being recorded: its folder, run.ini in it, and its entry in the registry of
 * running jobs.
 *
 * (1) The folder and the registry are private to the user (0700).
 * (2) run.ini is replaced by a rename: it is always whole. */
#ifndef TACHO_RUN_FOLDER_H
#define TACHO_RUN_FOLDER_H

#include <glib.h>
#include <sys/types.h>

typedef struct {
	gchar *path;	       /* absolute */
	gchar *registry_entry; /* NULL: could not be registered */
	GKeyFile *facts;       /* of run.ini */
} RunFolder;

/* Make the folder at `path` and register the run of `command` by `n_ranks` (0: not started by us).
 * An earlier run at `path` is an error, or with `is_forced` removed. NULL with an error. */
RunFolder *run_folder_new(const gchar *path, gchar **command, guint n_ranks, gboolean is_forced,
			  GError **error);
/* Forget the run: takes it out of the registry; the folder stays. */
void run_folder_free(RunFolder *folder);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RunFolder, run_folder_free)

/* Note the begin and end of a process that we started. `rank` -1: none. */
void run_folder_child_began(RunFolder *folder, guint number, pid_t pid, gint rank);
void run_folder_child_ended(RunFolder *folder, guint number, int wait_status);
void run_folder_ended(RunFolder *folder);

/* Note in the group `run` of run.ini what `key` is. */
void run_folder_note(RunFolder *folder, const gchar *key, const gchar *value);
/* Add a line to `losses`: so much of the run as a whole, 0: nobody knows how much. */
void run_folder_note_loss(const RunFolder *folder, guint64 count, const gchar *cause);

/* Note in the run at `path` that its recording has ended, where nobody waits for it (tacho attach --leave). */
void run_folder_note_end(const gchar *path);

/* Cut the files of processes that were killed, which could not do it themselves. */
void run_folder_trim(const RunFolder *folder);
/* Remove the folder again: nothing was started. */
void run_folder_discard(RunFolder *folder);

/* Traces of processes in it, and the disk space that they take, with those of other tools. */
guint run_folder_count_traces(const RunFolder *folder, guint64 *ret_bytes);

#endif
