/* region_stack: regions that a program opens and closes by calls, one within the other, as records: for probes that receive
 * them of tools' interfaces (ITT, NVTX).
 *
 * (1) A region is closed by the thread that has opened it; regions that another thread may close are the caller's.
 * (2) Regions of several domains may lie crosswise: a close ends the innermost of its domain.
 * (3) After a fork the child has none open. What is deeper than REGION_STACK_DEEPEST is not recorded. */
#ifndef TACHO_REGION_STACK_H
#define TACHO_REGION_STACK_H

#include "common/probe.h"

#define REGION_STACK_DEEPEST 64

/* Begin a region of the class, which is of kind ANNOTATION or KERNEL; `id`: record_slice. */
void region_open(enum trace_kind kind, uint32_t class_id, const void *domain, uint64_t id);
/* End it. Nothing is open of the domain: no effect. */
void region_close(const void *domain);

/* Begin one that any thread may end, by the number that is returned; 0: it is not recorded. */
uint64_t region_start(uint32_t class_id, uint64_t id);
void region_end(uint64_t number);

/* The class of a region, kernel or counter called `name` in `domain` ("", or NULL: none), found by the addresses of both after the first time: what
 * is at an address must stay the same. What a region or kernel costs is then measured and told. 0: not now. */
uint32_t region_class(enum trace_kind kind, const char *domain, const char *name);
/* The same where `name` may be another one next time at that address. */
uint32_t region_class_anew(enum trace_kind kind, const char *domain, const char *name);

/* A mark "DOMAIN: NAME"; the colon keeps it apart from tacho's own marks. */
void region_mark(const char *domain, const char *name, int64_t first, const char *text);

#endif
