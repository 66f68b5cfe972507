/* memory_account: how much memory each rank has allocated, while its run is being written.
 *
 * (1) Events are taken once, in the order of their times, up to the end of the last step that was found.
 * (2) What is kept is the size of each block that is in use, for those whose release does not tell it. */
#ifndef TACHO_MEMORY_ACCOUNT_H
#define TACHO_MEMORY_ACCOUNT_H

#include <tacho/live.h>

typedef struct _MemoryAccount MemoryAccount;

MemoryAccount *memory_account_new(void);
void memory_account_free(MemoryAccount *account);
void memory_account_restart(MemoryAccount *account);
/* Steps are passed over without their events: from then on it is not known any more what is allocated. */
void memory_account_pass(MemoryAccount *account);

/* Fill in the memory of `n` steps of a rank, which follow each other, from the timeline's events. */
void memory_account_fill(MemoryAccount *account, const TachoTimeline *timeline, guint32 rank_index,
			 TachoLiveStep *steps, guint n);

#endif
