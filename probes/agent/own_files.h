/* own_files: threads of tacho's have descriptors of their own, so that none of the job's is in their way, nor theirs in the
 * job's. A job that closes every descriptor it finds, as launchers do between fork and exec, would else close what such a thread
 * has just opened, and what it opens next gets that number: the thread would write into the job's file. */
#ifndef TACHO_AGENT_OWN_FILES_H
#define TACHO_AGENT_OWN_FILES_H

/* The job's standard error, as this thread can write to it; what must be closed again, if anything, in `ret_close`, else -1. */
int own_files_stderr(int *ret_close);

#endif
