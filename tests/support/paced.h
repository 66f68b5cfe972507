/* paced: rounds of some tens of microseconds of work, timed: for programs of whose probes bench/probes.py measures the slow-down.
 *
 * Whole runs of a program differ by more than a probe costs. With PACED_TURNS set, and recorded, blocks of rounds are recorded and
 * not recorded by turns, and the time of each is told. What stays when nothing is recorded is a hook's look at whether it is to record. */
#ifndef TACHO_PACED_H
#define TACHO_PACED_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PACED_ROUNDS 20000u
#define PACED_BLOCK  50u
#define PACED_PAIRS  (PACED_ROUNDS / PACED_BLOCK / 2)

struct paced {
	void (*set_recording)(bool); /* NULL: no turns */
	unsigned int round;
	bool is_recorded;
	double begin_s, block_s; /* when all began, and this block */
	double taken_s[PACED_PAIRS]
		      [2]; /* of a pair's block that was not recorded, and the one that was */
};

static inline void paced_work(void)
{
	volatile double sum = 0;

	for (int i = 0; i < 20000; i++)
		sum += i;
}

static inline double paced_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Which block of a pair is recorded is drawn, the same in all ranks (Knuth's multiplicative hash). */
static inline bool paced_is_recorded(unsigned int block)
{
	return (block & 1) != ((block / 2) * 2654435761u >> 31 & 1);
}

static inline void paced_end_block(struct paced *paced)
{
	unsigned int block = paced->round / PACED_BLOCK;

	if (block > 0)
		paced->taken_s[(block - 1) / 2][paced->is_recorded] =
			paced_now_s() - paced->block_s;
	paced->is_recorded = paced->round == PACED_ROUNDS || paced_is_recorded(block);
	paced->set_recording(paced->is_recorded);
	paced->block_s = paced_now_s();
}

/* To be called in front of each round; false when there have been all. */
static inline bool paced_goes_on(struct paced *paced)
{
	if (paced->round == 0) {
		paced->begin_s = paced_now_s();
		if (getenv("PACED_TURNS"))
			*(void **)&paced->set_recording =
				dlsym(RTLD_DEFAULT, "tacho_recording_set");
	}
	if (paced->set_recording && paced->round % PACED_BLOCK == 0)
		paced_end_block(paced);
	return paced->round++ < PACED_ROUNDS;
}

static inline void paced_tell(const struct paced *paced)
{
	printf("%.1f ns a round\n", (paced_now_s() - paced->begin_s) * 1e9 / PACED_ROUNDS);
	for (unsigned int i = 0; paced->set_recording && i < PACED_PAIRS; i++)
		printf("turn %.1f %.1f\n", paced->taken_s[i][0] * 1e9 / PACED_BLOCK,
		       paced->taken_s[i][1] * 1e9 / PACED_BLOCK);
}

#endif
