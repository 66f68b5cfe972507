/* call_slots: lead the calls of libraries that are loaded already to the probes, and back.
 *
 * What is preloaded stands before libc because the loader binds every call to the first definition it finds. In a process
 * that runs, calls are bound: each library has a slot with the address for each function that it calls. So the slots of the
 * functions that a probe defines are changed, and changed back at the end.
 *
 *     call *slot(read) --> libc's read              before, and after call_slots_restore()
 *     call *slot(read) --> probe's read --> libc's  after call_slots_lead()
 *
 * (1) A slot is changed by one store: a thread that calls meanwhile comes to the one or the other.
 * (2) Addresses that the program has taken and keeps elsewhere, calls within a library, and of statically linked code, are
 *     not led anywhere.
 * (3) A slot is put back only where it still has what was put there, in an object that is still loaded.
 * (4) What is in a probe at the end stays there until it returns: no probe is ever unloaded.
 * (5) Which functions: all that tacho's own libraries define and do not call tacho_... */
#ifndef TACHO_AGENT_CALL_SLOTS_H
#define TACHO_AGENT_CALL_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

/* Lead the calls of all objects of the process, and of those that appear from now on. Returns how many slots were changed,
 * or -ENOMEM: none was. */
int call_slots_lead(void);

/* Lead them back, all. */
void call_slots_restore(void);

/* An object has appeared: lead its calls, if others are. */
void call_slots_object_appeared(uintptr_t base_address);

/* How many slots are changed now. */
uint32_t call_slots_count(void);

#endif
