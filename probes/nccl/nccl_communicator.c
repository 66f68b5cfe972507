#include "nccl/nccl_communicator.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/probe.h"

#define N_COMMUNICATORS 1024
#define BEING_MADE	1

static struct nccl_communicator communicators[N_COMMUNICATORS];
static uint64_t n_made; /* atomic */

struct nccl_communicator *nccl_communicator_new(void)
{
	for (int i = 0; i < N_COMMUNICATORS; i++) {
		uint64_t number =
			N_COMMUNICATORS + __atomic_fetch_add(&n_made, 1, __ATOMIC_RELAXED);
		struct nccl_communicator *place = &communicators[number % N_COMMUNICATORS];
		uint64_t nobody = 0;

		if (!__atomic_compare_exchange_n(&place->number, &nobody, BEING_MADE, false,
						 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memset((char *)place + sizeof(place->number), 0,
		       sizeof(*place) - sizeof(place->number));
		place->generation = tacho_generation();
		__atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
		return place;
	}
	return NULL;
}

struct nccl_communicator *nccl_communicator_find(const void *context)
{
	uint64_t number = (uintptr_t)context >> 1;
	struct nccl_communicator *place = &communicators[number % N_COMMUNICATORS];

	if (!((uintptr_t)context & 1) || number < N_COMMUNICATORS ||
	    __atomic_load_n(&place->number, __ATOMIC_ACQUIRE) != number)
		return NULL;
	return place;
}

void *nccl_communicator_context(const struct nccl_communicator *communicator)
{
	return (void *)(uintptr_t)(communicator->number << 1 | 1);
}

void nccl_communicator_free(struct nccl_communicator *communicator)
{
	__atomic_store_n(&communicator->number, 0, __ATOMIC_RELEASE);
}

/* As launchers say it; 0: nobody does. */
static long world_size(void)
{
	static const char *const names[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strtol(value, NULL, 10);
	}
	return 0;
}

struct told {
	struct nccl_communicator *communicator;
	const char *name;
};

static void tell(void *told_pointer)
{
	const struct told *told = told_pointer;
	const struct nccl_communicator *communicator = told->communicator;
	char text[400], ranks[32] = "";
	int length;

	if (communicator->is_whole)
		snprintf(ranks, sizeof(ranks), " ranks=0-%d", communicator->n_ranks - 1);
	length = snprintf(text, sizeof(text),
			  "backend=nccl communicator=%016" PRIx64 "%s name=", communicator->id,
			  ranks);
	for (const char *c = told->name ? told->name : ""; *c && length < (int)sizeof(text) - 1;
	     c++)
		text[length++] = *c == ' ' ? '_' : *c;
	text[length] = '\0';
	tacho_mark("process_group", (int64_t)communicator->id, communicator->n_ranks, text);
}

void nccl_communicator_tell(struct nccl_communicator *communicator, const char *name)
{
	struct told told = { communicator, name };

	communicator->is_whole = communicator->n_ranks == world_size();
	if (communicator->id)
		tacho_run_aside(tell, &told);
}
