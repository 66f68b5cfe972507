/* attach_room: the one mapping that `tacho attach` makes in another process, and the code in it.
 *
 * Nothing of ours runs in a thread of the job but three system calls. They make this room, and a thread with its stack and its
 * thread-local memory in it, which is known to nobody in the process and therefore can be in nobody's way: it waits for
 * the locks of malloc and of the loader as any other thread would (docs/decisions/0039).
 *
 *     a thread of the job, stopped:  mmap, mprotect, clone
 *       first thread (ours):         thread-local memory made good; pthread_create; ends
 *         second thread (libc's):    dlopen(libtacho.so), tacho_attach(request); ends
 *
 * (1) The room stays, for the next request: the first thread's malloc has its cache there.
 * (2) One request at a time: `state` says whose turn it is. */
#ifndef TACHO_ATTACH_ROOM_H
#define TACHO_ATTACH_ROOM_H

#include <stdint.h>

#define ROOM_MAGIC	  UINT64_C(0x326d6f6f72636174)
#define ROOM_CODE_BYTES	  0x10000u /* magic, then the stub; a page of the largest */
#define ROOM_DATA_BYTES	  0x8000u
#define ROOM_DTV_BYTES	  0x10000u
#define ROOM_STACK_BYTES  0x10000u  /* of the first thread */
#define ROOM_TLS_BYTES	  0x100000u /* below its thread pointer, and above */
#define ROOM_SECOND_BYTES 0x200000u /* stack of the second */
#define ROOM_BYTES                                                                                 \
	(ROOM_CODE_BYTES + ROOM_DATA_BYTES + ROOM_DTV_BYTES + ROOM_STACK_BYTES +                   \
	 2 * ROOM_TLS_BYTES + ROOM_SECOND_BYTES)
#define ROOM_CODE_OFFSET 16u /* behind the magic */

enum room_state {
	ROOM_FREE,  /* never used, or answered */
	ROOM_ASKED, /* the threads are at it */
	ROOM_ANSWERED,
	ROOM_NO_THREAD,	 /* pthread_create() has failed: `status` is its errno */
	ROOM_NO_LIBRARY, /* dlopen() has failed: `answer` */
};

/* At ROOM_CODE_BYTES. Addresses are the target's. */
struct attach_room {
	uint32_t state;		    /* enum room_state; atomic */
	int32_t status;		    /* what tacho_attach() returned */
	uint32_t is_prepared;	    /* the first thread's memory is */
	uint32_t first_alive;	    /* cleared by the kernel when the first thread ends */
	int32_t pid, tid_in_thread; /* where a struct pthread has the thread's id */
	uint64_t second;	    /* the second thread's pthread_t */
	uint64_t thread_pointer, tid_offset,
		rseq_offset; /* offsets from the thread pointer; rseq 0: none */
	uint64_t second_stack, second_bytes;
	uint64_t entry; /* tacho_attach(); 0: it is not loaded */
	/* functions of the target */
	uint64_t allocate_tls_init, ctype_init, create, attr_init, attr_setstack,
		attr_setdetachstate;
	uint64_t open, symbol, error;
	uint64_t attr[16]; /* pthread_attr_t */
	char library[4096];
	char symbol_name[32];
	char request[16384];
	char answer[1024];
};

extern const char __start_attach_stub[], __stop_attach_stub[];
/* Where the job's thread makes its system calls, and where a new thread goes on. */
extern const char attach_stub_call[];

#endif
