/* identity: which process of which job this is, from the launchers' variables. */
#ifndef TACHO_AGENT_IDENTITY_H
#define TACHO_AGENT_IDENTITY_H

#include <limits.h>
#include <stdint.h>

struct identity {
	int rank; /* -1: no launcher said; so the next two */
	int local_rank;
	int world_size;
	uint64_t
		age_ns; /* how long the process has been there, and up to 10 ms more; 0: not known */
	char job[128];	/* "" if none */
	char host[256];
	char boot_id[64];
	char exe[PATH_MAX];
	char command[1024]; /* arguments joined by blanks, cut */
};

/* Never fails: what cannot be found is -1 or "". `test_host`, if not "", is what the host and its boot
 * are called, for tests that want two hosts on one machine. */
void identity_read(struct identity *identity, const char *test_host);

/* The rank that the launcher gave this process; -1: none said. */
int identity_rank(void);

#endif
