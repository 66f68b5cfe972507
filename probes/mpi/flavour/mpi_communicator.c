#include "mpi/flavour/mpi_communicator.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/probe.h"

#define N_PLACES   256 /* a power of 2 */
#define TEXT_BYTES 1024
#define N_WAITING  64 /* removed ones that may still be looked at */

/* Those of a place are a list. Readers take no lock, so what is removed is freed only when N_WAITING others have been since. */
static struct mpi_communicator *places[N_PLACES];   /* atomic; changed under the lock */
static struct mpi_communicator *waiting[N_WAITING]; /* under the lock, as all below */
static unsigned n_removed;
static uint64_t n_numbered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct mpi_communicator **place_of(uint64_t handle)
{
	return &places[(handle ^ handle >> 8 ^ handle >> 20) & (N_PLACES - 1)];
}

struct mpi_communicator *mpi_communicator_find(uint64_t handle)
{
	struct mpi_communicator *found = __atomic_load_n(place_of(handle), __ATOMIC_ACQUIRE);

	while (found && found->handle != handle)
		found = __atomic_load_n(&found->next, __ATOMIC_ACQUIRE);
	return found;
}

/* "ranks=0-3,8": nothing, where there is no room for all of them. */
static void list_ranks(const struct mpi_communicator *communicator, char *text, size_t size)
{
	int length = snprintf(text, size, "backend=mpi ranks=");

	for (int first = 0, last; first < communicator->size; first = last + 1) {
		int rank = communicator->ranks[first];

		last = first;
		while (last + 1 < communicator->size &&
		       communicator->ranks[last + 1] == rank + (last + 1 - first))
			last++;
		if (rank < 0 || (size_t)length + 32 > size) {
			snprintf(text, size, "backend=mpi");
			return;
		}
		length += snprintf(text + length, size - (size_t)length,
				   last > first ? "%s%d-%d" : "%s%d", first ? "," : "", rank,
				   rank + (last - first));
	}
}

static void tell(struct mpi_communicator *communicator)
{
	char text[TEXT_BYTES];

	communicator->generation = tacho_generation();
	list_ranks(communicator, text, sizeof(text));
	tacho_mark("process_group", (int64_t)communicator->number, communicator->size, text);
}

struct mpi_communicator *mpi_communicator_add(struct mpi_communicator *communicator)
{
	struct mpi_communicator **place = place_of(communicator->handle), *there;

	pthread_mutex_lock(&lock);
	there = mpi_communicator_find(communicator->handle);
	if (!there) {
		communicator->number = ++n_numbered;
		communicator->next = *place;
		__atomic_store_n(place, communicator, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	if (there)
		free(communicator);
	else
		tell(communicator);
	return there ? there : communicator;
}

void mpi_communicator_remove(uint64_t handle)
{
	struct mpi_communicator **at = place_of(handle), *removed;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	removed = *at;
	if (removed) {
		__atomic_store_n(at, removed->next, __ATOMIC_RELEASE);
		free(waiting[n_removed % N_WAITING]);
		waiting[n_removed++ % N_WAITING] = removed;
	}
	pthread_mutex_unlock(&lock);
}

void mpi_communicators_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}
