/* stream: the records of one thread, and the helper thread that keeps memory ready ahead of all.
 *
 * A thread's first record makes its first file, there and then: a bounded number of system calls,
 * once a thread. From then on the helper makes chunks ready and files in advance; a thread that
 * outruns it helps itself to the end of its file, then drops records, counts them, and does not wait.
 *
 *                 first record               limit reached             limit reached, no file
 *   (no stream) ----------------> writing ------------------> writing -------------------> dropping
 *               tacho_record_make_room()     next chunk/file            until the helper comes
 *
 * (1) Only its thread moves a stream's writer; only the helper makes files and frees.
 * (2) `granted` is the end of the room the thread has been given; streams_close() cuts there. A
 *     thread publishes it, then looks whether the process is still recording; streams_close()
 *     clears that flag, then reads it: one of the two sees the other.
 * (3) A forked child has no stream, no helper and no trace until its own first record.
 * (4) Where all cores are busy the helper may come much later than it was called. A thread that would drop records
 *     meanwhile makes more of its own file ready, three system calls a time, unless the disk did not take the last.
 *     Where somebody makes memory ready just then, it gives way, for 200 us at most. It allocates nothing: who forks may have
 *     taken the allocator's locks and wait for ours. */
#ifndef TACHO_AGENT_STREAM_H
#define TACHO_AGENT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct agent_settings;

/* Make the process page and allow recording. False: no memory. */
bool streams_configure(const struct agent_settings *settings);

/* The process ends: write the exit record, end recording, cut the files. Once. */
void streams_close(int exit_status);

/* End the process's recording for good, now, as it is about to become unable to go on, because of `cause`:
 * afterwards no thread of the agent runs, and forked children record nothing either. */
void streams_leave(const char *cause);

/* End the process's recording, now; streams_configure() may begin another. Threads that write records go on
 * unhindered. Not in a hook. */
void streams_stop(void);
/* After a stop: give back what the streams took, as far as no thread can still be storing there. True: all. */
bool streams_settle(void);

/* Whether the record is still there to be ended, for who was handed it long ago: not after a stop. */
bool streams_hold(const void *record);

/* A record shaped like struct record_mark; the text is cut at TRACE_MAX_NAME_BYTES. */
void stream_write_mark(uint32_t class_id, int64_t first, int64_t second, const char *text);

/* tacho_is_partial(), of this process and its children to come. */
void streams_set_partial(bool is_partial);

void streams_before_fork(void);
void streams_after_fork(bool is_child);

#endif
