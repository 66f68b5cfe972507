/* process_trace: the CTF trace of this process: its folder and its metadata.
 *
 * (1) Nothing is made on disk before the first record asks for it.
 * (2) The folder appears by a rename, its metadata whole; after that it only grows, a class a write(2),
 *     and no class crosses a page of the file: a kill cannot cut one in two.
 *     Where another engine takes the records (engine.h), there is no folder: it is told the same.
 * (3) Class ids outlive a fork and a stop: a child declares all it inherited when it opens its own trace. */
#ifndef TACHO_AGENT_PROCESS_TRACE_H
#define TACHO_AGENT_PROCESS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace_layout.h"

struct agent_settings;

/* Remember where to record and which clock to declare; makes nothing. False where the clock setting
 * is broken. */
bool process_trace_configure(const struct agent_settings *settings);

/* Make the folder and the metadata, once; later calls say how the first went. Says once why not. */
bool process_trace_open(void);
bool process_trace_is_open(void);

/* Where the trace is; good until process_trace_after_fork(). */
const char *process_trace_path(void);
const uint8_t *process_trace_uuid(void);

/* Kind and name of a class, for who has its id from tacho_class(): good for as long as the process. Takes no lock. False: there is
 * none. */
bool process_trace_class(uint32_t class_id, enum trace_kind *ret_kind, const char **ret_name);

/* The recording was stopped: the next record, of another recording, makes another folder. */
void process_trace_leave(void);

/* Around a fork: no other thread may be halfway through declaring a class. */
void process_trace_before_fork(void);
void process_trace_after_fork(bool is_child);

#endif
