/* ctf_process: the process that decodes a CTF trace, and the file it writes (ctf_records.h).
 *
 *     start --> it decodes, by itself --> ctf_process_wait() until it has ended --> the file stays
 *
 * (1) However it ends, by an assertion of libbabeltrace2 or by our hand for taking too much memory: what it had
 *     written by then can be read.
 * (2) The file has no name and goes with the last who holds it. It is in the folder for temporary files, so that
 *     its pages can be written out when memory is short. */
#ifndef TACHO_CTF_PROCESS_H
#define TACHO_CTF_PROCESS_H

#include <glib.h>

struct ctf_process;

/* Begin to decode the trace in `folder`. */
struct ctf_process *ctf_process_start(const gchar *folder, GError **error);
/* As ctf_process_start(), of a file whose records are there already: of tests. Takes over `file`. */
struct ctf_process *ctf_process_of_file(int file, GError **error);
/* End it, if it has not ended. NULL is fine. */
void ctf_process_free(struct ctf_process *process);

/* Wait until there are more than `n_bytes`, or no more will come. False: no more will come. */
gboolean ctf_process_wait(struct ctf_process *process, guint64 n_bytes, guint64 *ret_n_bytes);
/* After that: how it failed, for people; NULL: it ended as it should, or says itself what is wrong. */
const gchar *ctf_process_failure(const struct ctf_process *process);

/* The first `n_bytes` of the file, of which there are as many: good until the next call. NULL: they cannot be
 * mapped. They may be changed. */
guint8 *ctf_process_map(struct ctf_process *process, guint64 n_bytes);

#endif
