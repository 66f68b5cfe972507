/* file_fault: what happens when somebody cuts a file that is mapped and being written.
 *
 * A store behind the end of a file is a SIGBUS, which would end the job. The agent's handler puts private
 * memory in the place of the mapping, so that the store succeeds, and recording ends. docs/decisions/0018
 * says why it is a handler.
 *
 * (1) Only faults inside mappings of the agent are its own. Every other SIGBUS goes to who handled it before;
 *     where that was nobody, the process dies of it as it would have, at the same instruction.
 * (2) The handler is there from the process's first file on. Who sets one later takes its place.
 * (3) It takes no lock and walks no list: mappings are in a table of atomic words. */
#ifndef TACHO_AGENT_FILE_FAULT_H
#define TACHO_AGENT_FILE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* Look after the mapping. A number for file_fault_forget(), or -1: there are too many, it is not. */
int file_fault_watch(void *begin, size_t size);
/* Before it is unmapped. -1 is fine. */
void file_fault_forget(int number);

/* Give the signal back to who handled it before, unless somebody has taken it since. The next file takes it again. */
void file_fault_leave(void);
/* Whether the address lies in a mapping that is looked after. */
bool file_fault_covers(const void *address);

#endif
