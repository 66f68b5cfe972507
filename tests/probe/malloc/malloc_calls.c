/* malloc_calls: a program that allocates in all ways, and says on stdout what it saw: the same with and without a recording.
 *
 *     malloc_calls WAY      ways (each function once), threads, fork, fail, bench N, paced
 *
 * `ways` prints the address of each block of 100,000 bytes and more on stderr, as "+ ADDRESS BYTES" and "- ADDRESS". */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../support/paced.h"

enum { LARGE = 100000, N_THREADS = 8, ROUNDS = 2000 };

static void *volatile kept; /* no compiler leaves out what goes through it */

static void took(void *address, size_t bytes)
{
	kept = address;
	if (!address)
		abort();
	memset(address, 1, bytes);
	fprintf(stderr, "+ %ju %zu\n", (uintmax_t)(uintptr_t)address, bytes);
}

static void give(void *address)
{
	fprintf(stderr, "- %ju\n", (uintmax_t)(uintptr_t)address);
	free(address);
}

static int call_all(void)
{
	void *block;

	took(block = malloc(LARGE), LARGE);
	fprintf(stderr, "- %ju\n", (uintmax_t)(uintptr_t)block);
	block = realloc(block, 3 * LARGE);
	took(block, 3 * LARGE);
	give(block);
	took(block = calloc(7, LARGE), 7 * LARGE);
	give(block);
	took(block = reallocarray(NULL, 2, LARGE), 2 * LARGE);
	give(block);
	took(block = memalign(4096, LARGE + 1), LARGE + 1);
	give(block);
	took(block = aligned_alloc(64, LARGE + 64), LARGE + 64);
	give(block);
	if (posix_memalign(&block, 128, LARGE + 2))
		return 1;
	took(block, LARGE + 2);
	give(block);
	took(block = valloc(LARGE + 3), LARGE + 3);
	give(block);
	took(block = pvalloc(LARGE + 4), LARGE + 4);
	give(block);
	for (int i = 0; i < 1000; i++) /* small ones, which nobody wants to know of */
		free(kept = malloc(16));
	puts("all");
	return 0;
}

static void *allocate_much(void *argument)
{
	uintptr_t seed = (uintptr_t)argument;

	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes = 5000 + (seed = seed * 1103515245 + 12345) % 60000;
		unsigned char *block = malloc(bytes);

		if (!block)
			abort();
		block[0] = block[bytes - 1] = (unsigned char)i;
		block = realloc(block, bytes * 2);
		if (!block || block[0] != (unsigned char)i)
			abort();
		free(block);
	}
	return NULL;
}

static int call_in_threads(void)
{
	pthread_t threads[N_THREADS];

	for (uintptr_t i = 0; i < N_THREADS; i++)
		pthread_create(&threads[i], NULL, allocate_much, (void *)(i + 1));
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("threads");
	return 0;
}

/* Children are made while threads allocate. */
static int call_in_children(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, allocate_much, (void *)1);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			allocate_much((void *)2);
			_exit(7);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
			abort();
	}
	pthread_join(thread, NULL);
	puts("children");
	return 0;
}

/* What cannot be had, and what programs ask for all the same. */
static int fail(void)
{
	void *volatile huge = (void *)1;
	volatile size_t most = SIZE_MAX / 2; /* the compiler need not know what cannot be had */
	char *volatile block = malloc(LARGE);

	errno = 0;
	huge = malloc(most);
	printf("malloc %d %d\n", huge == NULL, errno);
	errno = 0;
	huge = calloc(most, 3);
	printf("calloc %d %d\n", huge == NULL, errno);
	errno = 0;
	huge = realloc(block, most);
	printf("realloc %d %d\n", huge == NULL, errno);
	block[LARGE - 1] = 1; /* still there */
	errno = 0;
	huge = reallocarray(block, most, 3);
	printf("reallocarray %d %d\n", huge == NULL, errno);
	printf("posix_memalign %d\n", posix_memalign((void **)&huge, 3, 100));
	errno = 5;
	free(NULL);
	free(malloc(LARGE));
	free(block);
	printf("free %d\n", errno);
	free(kept = malloc(0));
	free(kept = realloc(NULL, LARGE));
	return 0;
}

static int bench(unsigned long rounds)
{
	struct timespec start, end;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned long i = 0; i < rounds; i++)
		free(kept = malloc(8192));
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.2f ns a call\n",
	       ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
		       (2.0 * (double)rounds));
	return 0;
}

/* A block of 16 KiB in each round. */
static int paced(void)
{
	static struct paced rounds;

	while (paced_goes_on(&rounds)) {
		kept = malloc(16384);
		paced_work();
		free(kept);
	}
	paced_tell(&rounds);
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "ways";

	if (strcmp(way, "threads") == 0)
		return call_in_threads();
	if (strcmp(way, "fork") == 0)
		return call_in_children();
	if (strcmp(way, "fail") == 0)
		return fail();
	if (strcmp(way, "paced") == 0)
		return paced();
	if (strcmp(way, "bench") == 0)
		return bench(argc > 2 ? strtoul(argv[2], NULL, 10) : 10000000);
	return call_all();
}
