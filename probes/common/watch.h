/* watch: be told when a library appears in the process. The agent (libtacho.so) watches the loader
 * for all probes and implements this.
 *
 * (1) `appeared` is called once for each loaded object whose file name, without its folders, begins
 *     with the prefix; for objects that are there already, before tacho_watch_library() returns.
 * (2) The object's constructors have run, and no lock of the loader or the agent is held: the
 *     callback may use dlopen(), dlsym(), dl_iterate_phdr() and everything in probe.h.
 * (3) It may be called in any thread. A forked child is not told again of what it inherited.
 * (4) An object that was unloaded and loaded again has appeared again.
 *
 * C and C++; libc only. */
#ifndef TACHO_WATCH_H
#define TACHO_WATCH_H

#include "common/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `path` as the loader knows it, good for as long as the call; `base_address` as in
 * dl_phdr_info.dlpi_addr. */
typedef void tacho_library_appeared(const char *path, uintptr_t base_address);

/* `prefix` must live as long as the process. 0, or -ENOMEM when there are too many watches. */
TACHO_EXPORT int tacho_watch_library(const char *prefix, tacho_library_appeared *appeared);

#ifdef __cplusplus
}
#endif
#endif
