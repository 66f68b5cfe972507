/* paced: rounds of some tens of microseconds of work, timed: for programs of whose probes bench/probes.py measures the slow-down. */
#ifndef TACHO_PACED_H
#define TACHO_PACED_H

#include <stdio.h>
#include <time.h>

#define PACED_ROUNDS 20000

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

static inline void paced_tell(double begin_s, unsigned int n_rounds)
{
	printf("%.1f ns a round\n", (paced_now_s() - begin_s) * 1e9 / n_rounds);
}

#endif
