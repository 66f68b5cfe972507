#include "mpi/flavour/mpi_request.h"

#include <pthread.h>
#include <stdlib.h>

#define N_PLACES 1024 /* a power of 2 */
#define N_LOCKS	 16   /* the same: of so many places each */
#define N_SLAB	 64

struct node {
	struct node *next;
	uint64_t handle;
	struct mpi_request request;
};

static struct node *places[N_PLACES];
static struct node *spare[N_LOCKS];
static pthread_mutex_t locks[N_LOCKS] = { [0 ... N_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER };

static unsigned place_of(uint64_t handle)
{
	return (unsigned)(handle ^ handle >> 7 ^ handle >> 17) & (N_PLACES - 1);
}

static struct node **find(unsigned place, uint64_t handle)
{
	struct node **at = &places[place];

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static struct node *take_spare(unsigned lock)
{
	struct node *node = spare[lock];

	if (!node) {
		node = calloc(N_SLAB, sizeof(*node));
		for (int i = 1; node && i < N_SLAB; i++)
			node[i - 1].next = &node[i];
	}
	spare[lock] = node ? node->next : NULL;
	return node;
}

static void drop(struct node **at, unsigned lock)
{
	struct node *node = *at;

	*at = node->next;
	node->next = spare[lock];
	spare[lock] = node;
}

void mpi_request_put(uint64_t handle, const struct mpi_request *request)
{
	unsigned place = place_of(handle), lock = place & (N_LOCKS - 1);
	struct node **at;

	pthread_mutex_lock(&locks[lock]);
	at = find(place, handle);
	if (!*at) {
		*at = take_spare(lock);
		if (*at) {
			(*at)->next = NULL;
			(*at)->handle = handle;
		}
	}
	if (*at)
		(*at)->request = *request;
	pthread_mutex_unlock(&locks[lock]);
}

bool mpi_request_get(uint64_t handle, struct mpi_request *ret)
{
	unsigned place = place_of(handle), lock = place & (N_LOCKS - 1);
	struct node **at;
	bool is_found;

	pthread_mutex_lock(&locks[lock]);
	at = find(place, handle);
	is_found = *at != NULL;
	if (is_found)
		*ret = (*at)->request;
	else
		*ret = (struct mpi_request){ 0 };
	pthread_mutex_unlock(&locks[lock]);
	return is_found;
}

void mpi_request_done(uint64_t handle, const struct mpi_request *request)
{
	unsigned place = place_of(handle), lock = place & (N_LOCKS - 1);
	struct node **at;

	pthread_mutex_lock(&locks[lock]);
	at = find(place, handle);
	if (*at && (*at)->request.record == request->record) {
		if ((*at)->request.is_persistent)
			(*at)->request.record = NULL;
		else
			drop(at, lock);
	}
	pthread_mutex_unlock(&locks[lock]);
}

void mpi_request_remove(uint64_t handle)
{
	unsigned place = place_of(handle), lock = place & (N_LOCKS - 1);
	struct node **at;

	pthread_mutex_lock(&locks[lock]);
	at = find(place, handle);
	if (*at)
		drop(at, lock);
	pthread_mutex_unlock(&locks[lock]);
}

void mpi_requests_after_fork(void)
{
	for (int i = 0; i < N_LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
}
