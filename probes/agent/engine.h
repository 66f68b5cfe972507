/* engine: another place for the records of this process than its own files: events of LTTng-UST, by libtacho_lttng.so.
 *
 *     probe --> record, in memory --commit--> tacho_engine_record() --> an event of the record's kind
 *               duration stored ------------> tacho_engine_duration() --> an event "end"
 *
 * (1) A stream's files are memory of ENGINE_FILE_BYTES, aligned to that: where a record is says in which file it is. They are never
 *     written out, and given back when no slice in them is open any more: packet_header.reserved counts those that are.
 * (2) A record is told once, with all that is known of it when it is written; an end tells the duration, and of kinds whose
 *     other fields may change until then, those too.
 * (3) The library is loaded with the first record and stays. Its threads are LTTng's, and stay too.
 * (4) What no session takes is counted, and noted at the end. What a session has no room for, LTTng counts. */
#ifndef TACHO_AGENT_ENGINE_H
#define TACHO_AGENT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_layout.h"

#define ENGINE_FILE_BYTES (1024u * 1024u)

struct agent_settings;

/* Remember which engine is asked for; loads nothing. False: the library's path is too long. */
bool engine_configure(const struct agent_settings *settings);

/* Load the library, once. Not with a lock held that a hook may want: others' constructors run under the loader's. Aside. */
void engine_load(void);
/* Have a session of LTTng take the records of the trace `uuid`, and tell it who writes them: `text` is the metadata without
 * classes. NULL: it does; else why not. Aside. */
const char *engine_open(const uint8_t *uuid, const char *text);
/* Tell a class of the trace that is open, before its first record. */
void engine_declare(uint32_t id, const char *kind, const char *name);
/* The stream has lost so many records since it began. */
void engine_tell_dropped(uint32_t stream, uint32_t tid, uint64_t count);
/* What telling a record of the kind, and its end where it is a slice, costs, as measured when the trace began; 0 without an engine. */
uint64_t engine_cost_ps(enum trace_kind kind);
/* Note, where records were told to nobody, how many. */
void engine_note_untold(void);

/* The calling thread loads LTTng, or has it start its threads: nothing is recorded in these, and no library is looked for. */
extern __thread bool engine_starts_threads
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Around a fork. */
void engine_before_fork(void);
void engine_after_fork(bool is_child);

#endif
