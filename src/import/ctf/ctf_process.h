/* ctf_process: a process that decodes a CTF trace, or a part of its streams, and what it writes (ctf_records.h).
 *
 * (1) However it ends, by an assertion of libbabeltrace2 or by our hand for taking too much memory: what it had
 *     written by then can be read.
 * (2) It never outlives the one that began it. */
#ifndef TACHO_CTF_PROCESS_H
#define TACHO_CTF_PROCESS_H

#include <glib.h>

struct ctf_process;

/* Begin to decode part number `part` of `n_parts` of the streams of the trace in `folder`. */
struct ctf_process *ctf_process_start(const gchar *folder, guint part, guint n_parts,
				      GError **error);
/* Begin to mend the trace in the folder `scratch` (ctf_mend.h): what it writes says what is left out. */
struct ctf_process *ctf_process_start_mending(const gchar *folder, const gchar *scratch,
					      GError **error);
/* One that has ended and left its records in `file`, which is taken over: for tests. */
struct ctf_process *ctf_process_of_file(int file);
/* End it, if it has not ended. NULL is fine. */
void ctf_process_free(struct ctf_process *process);

/* Wait for more, and read at most `n` bytes of it. 0: no more will come. */
gsize ctf_process_read(struct ctf_process *process, void *bytes, gsize n);
/* After that: how it failed, for people; NULL: it ended as it should, or says itself what is wrong. */
const gchar *ctf_process_failure(const struct ctf_process *process);

/* The version of the library that decodes; 0.0: there is none. */
void ctf_process_library_version(guint *ret_major, guint *ret_minor);

/* All that it wrote, in a file that has no name; -1: it cannot be had. Decodes the trace once more. */
int ctf_process_open_all(const struct ctf_process *process);

#endif
