/* python_hook: the Python part of tacho in a process that was attached to: what sitecustomize does in one that was started by
 * `tacho record` (python/tacho_hook/late.py).
 *
 * (1) It waits for the interpreter's lock as any thread does; never in a constructor, where the loader's lock is held.
 * (2) No name is left in the program's __main__; an error is swallowed. */
#ifndef TACHO_PYTHON_HOOK_H
#define TACHO_PYTHON_HOOK_H

#include <stdbool.h>

/* Find what is needed of the interpreter in `library`, of dlopen(). */
void python_hook_find(void *library);

/* Have the hook of the folder begin, or end. An interpreter that was not found: no effect. */
void python_hook_call(const char *folder, bool begins);

#endif
