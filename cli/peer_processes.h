/* peer_processes: the processes that a launcher of MPI has started with this one, to do one command together.
 *
 * (1) Alone, where no launcher tells of others, or where it did not start tacho but what has started tacho (a job that calls
 *     it in one of its ranks): nobody else would come.
 * (2) From peer_processes_begin() on, process 0 alone prints. Errors are printed when all have ended, the first one's. */
#ifndef TACHO_PEER_PROCESSES_H
#define TACHO_PEER_PROCESSES_H

#include <tacho/peers.h>

/* Join the others. False: there are some, and they cannot be reached; it has been printed why. */
gboolean peer_processes_begin(const gchar *command, int argc, char **argv);
/* The library's; NULL: this process is alone. */
TachoPeers *peer_processes_borrow(void);
/* Whether all have come here without an error: to be asked before anything is printed. */
gboolean peer_processes_agree(void);
/* Leave the others, behind all output: the exit code of all of them. */
int peer_processes_end(const gchar *command, int status);

#endif
