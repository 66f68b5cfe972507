/* losses: a line in the run's folder for what could not be recorded at all, and so has no stream to say it:
 * the process's folder or a thread's first file could not be made, recording had to end before the process.
 *
 * The file is there before the job is (`tacho record` makes it), its first block taken: a line can still
 * be added where the disk is full. docs/trace-format.md has its form.
 *
 * (1) A line is one write(2): processes may write at once.
 * (2) Where even that fails it is not tried again. */
#ifndef TACHO_AGENT_LOSSES_H
#define TACHO_AGENT_LOSSES_H

#include <stdint.h>

struct agent_settings;

void losses_configure(const struct agent_settings *settings);

/* `n_records` of this process were lost, 0: nobody knows how many, because of `cause` (one line). */
void losses_note(uint64_t n_records, const char *cause);

/* A line in the run's file `unseen`: nothing is recorded of `what`, because of `why`. For who is aside already. */
void losses_note_unseen(const char *what, const char *why);

#endif
