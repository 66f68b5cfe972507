/* attach_layout: what `tacho attach` and the agent in a running process share. libc only.
 *
 * The program asks by text, "VERB\nNAME=VALUE\n...", and the agent answers with 0 or -errno, and one line of text. What the
 * agent does meanwhile stands in one symbol of it, which the program reads from outside. */
#ifndef TACHO_ATTACH_LAYOUT_H
#define TACHO_ATTACH_LAYOUT_H

#include <stdint.h>

#define ATTACH_ENTRY   "tacho_attach" /* attach_entry */
#define ATTACH_STATE   "tacho_attach_state"
#define ATTACH_MAGIC   0x7461636861747431u
#define ATTACH_START   "start"
#define ATTACH_STOP    "stop"
#define ATTACH_LIBRARY "libtacho.so"

/* `request` as above; the answer's text goes to `answer`, cut at `answer_bytes`. Called in a thread of its own. */
typedef int attach_entry(const char *request, char *answer, uint64_t answer_bytes);

struct attach_state {
	uint64_t magic;
	uint32_t is_attached;	  /* recording, or waiting for the steps asked for */
	uint32_t is_preloaded;	  /* by tacho record, which the process was started by */
	uint32_t is_past_steps;	  /* the last step asked for has ended */
	uint32_t n_threads;	  /* the agent's and the probes' own */
	uint32_t n_hooks;	  /* calls of the process's libraries that lead to the probes */
	uint32_t n_starts;	  /* so often it was attached to */
	char run_dir[4096 - 512]; /* as the process knows it */
};

#endif
