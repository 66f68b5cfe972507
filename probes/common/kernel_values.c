#include "common/kernel_values.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/activity.h"

/* By their correlation's last bits: values come within a batch of launches, begins within half a second of them. */
#define N_PLACES 32768u

struct place {
	uint32_t correlation; /* 0: free */
	int32_t device;
	uint64_t launch_ticks, begin_ticks; /* begin 0: not told yet */
	bool has_values;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;
static double *values; /* of each place, n_values */
static unsigned n_values;
static uint32_t classes[COUNTERS_MOST];
static uint64_t n_orphans;

bool kernel_values_start(unsigned n, const uint32_t value_classes[COUNTERS_MOST])
{
	pthread_mutex_init(&lock, NULL);
	if (!places || n > n_values) {
		free(places);
		free(values);
		places = malloc(N_PLACES * sizeof(*places));
		values = malloc(N_PLACES * n * sizeof(*values));
	}
	if (!places || !values) {
		free(places);
		places = NULL;
		return false;
	}
	memset(places, 0, N_PLACES * sizeof(*places)); /* a parent's are not a child's */
	n_values = n;
	n_orphans = 0;
	memcpy(classes, value_classes, sizeof(classes));
	return true;
}

static double *values_of(const struct place *place)
{
	return &values[(size_t)(place - places) * n_values];
}

static void write_values(struct place *place)
{
	const double *value = values_of(place);

	n_orphans += !place->begin_ticks;
	for (unsigned i = 0; i < n_values; i++)
		if (value[i] == value[i]) /* one that is not defined is none */
			tacho_counter_at(classes[i], place->device,
					 place->begin_ticks ? place->begin_ticks
							    : place->launch_ticks,
					 value[i]);
	place->correlation = 0;
}

/* Its place; what another that was there waited for has not come. */
static struct place *place_of(uint32_t correlation)
{
	struct place *place = &places[correlation % N_PLACES];

	if (place->correlation == correlation)
		return place;
	if (place->correlation && place->has_values)
		write_values(place);
	*place = (struct place){ .correlation = correlation };
	return place;
}

void kernel_values_add(uint32_t correlation, int32_t device, uint64_t launch_ticks,
		       const double told[COUNTERS_MOST])
{
	struct place *place;

	if (!correlation)
		return;
	pthread_mutex_lock(&lock);
	place = place_of(correlation);
	place->device = device;
	place->launch_ticks = launch_ticks;
	place->has_values = true;
	memcpy(values_of(place), told, n_values * sizeof(*told));
	if (place->begin_ticks)
		write_values(place);
	pthread_mutex_unlock(&lock);
}

void kernel_values_began(uint32_t correlation, uint64_t ticks)
{
	struct place *place;

	if (!places || !correlation || !ticks)
		return;
	pthread_mutex_lock(&lock);
	place = place_of(correlation);
	place->begin_ticks = ticks;
	if (place->has_values)
		write_values(place);
	pthread_mutex_unlock(&lock);
}

uint64_t kernel_values_end(void)
{
	uint64_t n;

	if (!places)
		return 0;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < N_PLACES; i++)
		if (places[i].correlation && places[i].has_values)
			write_values(&places[i]);
	n = n_orphans;
	pthread_mutex_unlock(&lock);
	return n;
}
