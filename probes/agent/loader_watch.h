/* loader_watch: notice that the process has loaded a library (common/watch.h).
 *
 * The loader has no call-back for this, and a dlopen() of ours in front of libc's would be taken
 * for the caller: its RUNPATH, its namespace. So dlopen, dlsym and pthread_create come by here on
 * their way in, look whether the loader's count of objects has grown, and go on to libc by a jump
 * that leaves the return address the caller's. Libraries the program is linked with are seen in
 * __libc_start_main, when their constructors have run.
 *
 *   program start ---------> __libc_start_main -> loader_watch_check()
 *   dlopen(torch) returns -> dlsym(its entry)  -> loader_watch_check() -> appeared(libtorch ...)
 *
 * (1) A check whose caller itself belongs to an object not yet told of is put off: that object may
 *     still be in its constructors. */
#ifndef TACHO_AGENT_LOADER_WATCH_H
#define TACHO_AGENT_LOADER_WATCH_H

/* Tell the watches of what has appeared since the last check. `caller` is an address in whoever
 * made the call that brought us here, NULL: certainly no constructor. */
void loader_watch_check_from(const void *caller);

static inline __attribute__((always_inline)) void loader_watch_check(void)
{
	loader_watch_check_from(__builtin_return_address(0));
}

void loader_watch_after_fork(void);

#endif
