#include "cuda/cuda_buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/probe.h"
#include "cuda/cuda_clock.h"
#include "cuda/cuda_records.h"
#include "cuda/cupti_library.h"

#define BUFFER_BYTES (1024u * 1024)
#define N_SPARE	     16
#define MAX_WAIT_MS  200       /* for all records of a buffer */
#define MAX_COUNTED  10000000u /* losses of one buffer that are counted one by one */

static const struct cupti *library;
static void *spare[N_SPARE]; /* atomic */

/* Records are written by one thread at a time. A child of a fork finds its own one free. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static uint32_t writing_generation;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	void *found = NULL;

	for (int i = 0; i < N_SPARE && !found; i++)
		found = __atomic_exchange_n(&spare[i], NULL, __ATOMIC_ACQ_REL);
	if (!found)
		found = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*buffer = found == MAP_FAILED ? NULL : found;
	*size = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
}

static void give_back(void *buffer)
{
	for (int i = 0; i < N_SPARE; i++) {
		void *nothing = NULL;

		if (__atomic_compare_exchange_n(&spare[i], &nothing, buffer, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	munmap(buffer, BUFFER_BYTES);
}

void cuda_count_lost(size_t n)
{
	if (n > MAX_COUNTED)
		n = MAX_COUNTED;
	while (n--)
		tacho_record_make_room(0);
}

static void read_records(uint8_t *buffer, size_t valid_size)
{
	bool is_sane = cuda_clock_follow();
	const void *record = NULL;
	uint32_t wait_ms = MAX_WAIT_MS;
	size_t n_lost = 0;

	while (library->ActivityGetNextRecord(buffer, valid_size, &record) == CUPTI_SUCCESS) {
		const uint8_t *at = record;

		if (at < buffer || at >= buffer + valid_size) {
			n_lost++;
			break;
		}
		tacho_record_wait(sizeof(struct record_device_kernel), &wait_ms);
		n_lost += !is_sane || !cuda_record(record, (size_t)(buffer + valid_size - at));
	}
	if (!is_sane)
		tacho_say("CUPTI's clock has jumped: what the device did meanwhile is left out");
	cuda_count_lost(n_lost);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		     size_t valid_size)
{
	size_t n_dropped = 0;

	if (!buffer || !size)
		return;
	if (valid_size > BUFFER_BYTES)
		valid_size = 0; /* it is no buffer of ours */
	if (writing_generation != tacho_generation()) {
		pthread_mutex_init(&writing, NULL);
		writing_generation = tacho_generation();
	}
	pthread_mutex_lock(&writing);
	tacho_writer.is_inside++;
	if (tacho_is_alive())
		read_records(buffer, valid_size);
	if (library->ActivityGetNumDroppedRecords(context, stream, &n_dropped) == CUPTI_SUCCESS)
		cuda_count_lost(n_dropped);
	tacho_writer.is_inside--;
	pthread_mutex_unlock(&writing);
	give_back(buffer);
}

int cuda_buffers_start(const struct cupti *cupti)
{
	library = cupti;
	writing_generation = tacho_generation();
	return cupti->ActivityRegisterCallbacks(request, complete);
}
