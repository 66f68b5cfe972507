/* event_name: the names that PyTorch's RecordFunction shows us, each looked at once.
 *
 * A name arrives as a `const char *`: an operator's is part of its schema and stays where it is,
 * any other is a std::string's and may be anywhere next time. So a thread keeps the last names in
 * a small direct-mapped cache, and goes to the process's table of all names when that fails. The compiled probe
 * looks by the address and compares the text to be sure; the plain one by the schema or by what the text hashes to, and compares
 * when it asks for tensors (plain_callbacks.c): a job's own data fill the caches, so each line that is looked at costs some 50 ns.
 *
 * (1) Names are never freed, moved or changed: a pointer to one is good for ever, in every thread.
 * (2) The table is only added to, by one compare-and-swap, so no lock can be held over a fork.
 * (3) A class, once declared, holds in every thread and forked child; one that could not be (disk
 *     full) is tried again.
 *
 * C and C++ (the probe that is compiled on the user's machine is C++); libc only. */
#ifndef TACHO_TORCH_EVENT_NAME_H
#define TACHO_TORCH_EVENT_NAME_H

#include <stdint.h>
#include <string.h>

#include "common/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EVENT_SCOPE_USER 7 /* at::RecordScope::USER_SCOPE */

/* What to do about a name, found out when it is first seen. */
enum event_role {
	EVENT_OP,	     /* an operation on the thread's stack */
	EVENT_COLLECTIVE_OP, /* the same, and it names the process group of what begins within */
	EVENT_REGION,	     /* somebody's named region */
	EVENT_DATA_LOADER,   /* a wait for the data loader's next batch */
	EVENT_COLLECTIVE,    /* communication, queued to complete */
};

struct event_name {
	struct event_name *next;
	uint64_t hash;
	uint32_t class_id;  /* atomic; 0: not declared yet */
	uint8_t scope;	    /* at::RecordScope */
	uint8_t role;	    /* enum event_role */
	uint8_t has_shapes; /* atomic: one of that name was recorded with its tensors */
	char text[];
};

/* A name in a thread's cache, with what is asked of it each time: the name itself is out of the processor's caches by then. */
struct event_name_slot {
	uint64_t key; /* where it was found: its address, or what the caller says */
	struct event_name *name;
	uint32_t class_id;
	uint8_t scope, role;
	uint8_t has_shapes; /* 0: ask the name */
	uint8_t is_fixed;   /* the caller's */
	uint8_t padding[8]; /* two to a line, none across two */
};

#define EVENT_NAME_SLOTS 512

/* Whether a region of that name is an optimizer's step: torch.optim names them. */
static inline bool event_name_is_optimizer_step(const char *text)
{
	return strncmp(text, "Optimizer.step#", strlen("Optimizer.step#")) == 0;
}

/* 64 bits of a text, and its scope. */
uint64_t event_name_hash(const char *text, uint8_t scope);

/* The slow halves: find or add the name (NULL: no memory); declare its class (0: not now). */
struct event_name *event_name_intern(const char *text, uint8_t scope);
uint32_t event_name_declare(struct event_name *name);

static inline struct event_name_slot *event_name_place(struct event_name_slot *slots, uint64_t key)
{
	return &slots[(key >> 4 ^ key >> 13) % EVENT_NAME_SLOTS];
}

static inline struct event_name *event_name_find(struct event_name_slot *slots, const char *text,
						 uint8_t scope)
{
	uint64_t key = (uint64_t)(uintptr_t)text;
	struct event_name_slot *slot = event_name_place(slots, key);
	struct event_name *name = slot->name;

	if (__builtin_expect(
		    slot->key == key && name->scope == scope && strcmp(name->text, text) == 0, 1))
		return name;
	name = event_name_intern(text, scope);
	if (name) {
		slot->key = key;
		slot->name = name;
	}
	return name;
}

static inline uint32_t event_name_class(struct event_name *name)
{
	uint32_t class_id = __atomic_load_n(&name->class_id, __ATOMIC_RELAXED);

	return __builtin_expect(class_id != 0, 1) ? class_id : event_name_declare(name);
}

#ifdef __cplusplus
}
#endif
#endif
