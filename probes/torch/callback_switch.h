/* callback_switch: who may enable and disable PyTorch's callbacks, in a process that forks.
 *
 * A thread that finds callbacks switched takes a lock of PyTorch's at its next operation. In a child that was forked while another thread
 * had that lock, it is taken for ever.
 *
 * (1) One thread switches at a time. Who comes meanwhile is told so, and leaves it.
 * (2) Nobody switches during a fork, and the thread that forks looks at the callbacks before it: so it does not have to in the child.
 * (3) A child of a process in which several threads have run operations stays with what is enabled.
 *
 * C and C++ (the probe that is compiled on the user's machine is C++); libc only. */
#ifndef TACHO_TORCH_CALLBACK_SWITCH_H
#define TACHO_TORCH_CALLBACK_SWITCH_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From now on forks are looked after. `look` has PyTorch look at its callbacks, if they are others than the thread knows. */
void callback_switch_start(void (*look)(void));

/* TRUE: the caller may switch until it calls callback_switch_end(). FALSE: another thread switches or forks, or (3). */
bool callback_switch_try(void);
void callback_switch_end(void);
/* Until nobody else switches. */
void callback_switch_await(void);

/* The thread runs operations, or ends steps; asked again and again is asked once. */
void callback_switch_meet_thread(void);
/* This process may not switch: (3). */
bool callback_switch_is_fixed(void);

#ifdef __cplusplus
}
#endif

#endif
