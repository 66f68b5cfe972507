/* stream_file: one file of a stream, mapped; one packet (trace/trace_layout.h).
 *
 * A file is made at its full size but without its blocks; memory is then made ready from the front,
 * a chunk at a time: blocks reserved and pages touched, so that a store into it can neither fault
 * for long nor meet a full disk. What is not ready is never touched.
 *
 * (1) The file appears under its name by a rename, with a valid header and nothing in it.
 * (2) It stays a valid packet through cutting (trace/packet_cut.h): babeltrace2 takes neither a packet
 *     larger than its file nor zeros behind one.
 * (3) The mapping outlives the file's use: slices still open in it are ended in place.
 * (4) Where another engine takes the records (engine.h), it is memory alone, all of it ready, and made by the thread that writes:
 *     without a lock, and without the job's malloc(). */
#ifndef TACHO_AGENT_STREAM_FILE_H
#define TACHO_AGENT_STREAM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_header;

struct stream_file {
	struct packet_header *packet; /* start of the mapping */
	size_t size_bytes;	      /* of the file and the mapping */
	size_t ready_bytes;	      /* from the front; atomic, only grows */
	uint32_t stream, index, tid;
	int fault_number;	   /* file_fault.h */
	bool has_async;		   /* another thread may end a slice in it */
	bool is_memory;		   /* alone, and this lies at its end */
	struct stream_file *older; /* of the same stream */
};

/* Make the file, with its first `ready_bytes` ready. Both sizes are multiples of a page. NULL, with
 * errno set, where it cannot be made; nothing is then left behind. */
struct stream_file *stream_file_new(uint32_t stream, uint32_t index, uint32_t tid,
				    size_t size_bytes, size_t ready_bytes);

/* Make `more_bytes` more ready (less at the file's end). 0, or -errno: the disk is full ... */
int stream_file_make_ready(struct stream_file *file, size_t more_bytes);

/* Cut the file behind `keep_bytes`, or remove it where only its header would be left. */
void stream_file_cut(struct stream_file *file, size_t keep_bytes);

/* The file is full: its pages need not stay in this process's memory. */
void stream_file_rest(struct stream_file *file);

/* Free a file that is memory alone (engine.h) and has no open slice: its addresses stay taken, and read as zeros, for who still
 * holds a slice that has ended. */
void stream_file_give_back(struct stream_file *file);

/* In a forked child: put private memory in the mapping's place, so that the parent's file is safe
 * from what the child's unwinding stacks still store. */
void stream_file_disown(struct stream_file *file);

/* Unmap and free. No slice may be open in it. */
void stream_file_free(struct stream_file *file);

#endif
