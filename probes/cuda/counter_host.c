#include "cuda/counter_host.h"

#include <stdlib.h>
#include <string.h>

#include "common/probe.h"
#include "cuda/cupti_library.h"

struct chip {
	const char *name;
	const uint8_t *availability;
};

static void close_object(struct counter_host *host)
{
	struct counters_host_end end = { .size = COUNTERS_SIZE(counters_host_end, object),
					 .object = host->object };

	if (host->object)
		host->library->host_end(&end);
	host->object = NULL;
	free(host->config);
	host->config = NULL;
	host->n_passes = 0;
}

static int build_config(struct counter_host *host)
{
	struct counters_config_size size = {
		.size = COUNTERS_SIZE(counters_config_size, config_size), .object = host->object
	};
	struct counters_config config = { .size = COUNTERS_SIZE(counters_config, config),
					  .object = host->object };
	struct counters_passes passes = { .size = COUNTERS_SIZE(counters_passes, n_passes) };
	int result = host->library->config_size(&size);

	if (result != CUPTI_SUCCESS)
		return result;
	host->config = malloc(size.config_size ? size.config_size : 1);
	if (!host->config)
		return COUNTERS_OUT_OF_MEMORY;
	host->config_size = config.config_size = passes.config_size = size.config_size;
	config.config = passes.config = host->config;
	result = host->library->config(&config);
	if (result == CUPTI_SUCCESS)
		result = host->library->passes(&passes);
	host->n_passes = passes.n_passes;
	return result;
}

/* A new object for the names; what it takes is in the host. */
static int try_names(struct counter_host *host, const struct chip *chip)
{
	struct counters_host made = { .size = COUNTERS_SIZE(counters_host, object),
				      .profiler = host->profiler,
				      .chip = chip->name,
				      .availability = chip->availability };
	struct counters_add add = { .size = COUNTERS_SIZE(counters_add, n_names),
				    .names = host->names,
				    .n_names = host->n };
	int result;

	close_object(host);
	result = host->library->host(&made);
	if (result != CUPTI_SUCCESS)
		return result;
	host->object = add.object = made.object;
	result = host->library->add(&add);
	if (result == CUPTI_SUCCESS)
		result = build_config(host);
	if (result == CUPTI_SUCCESS && host->profiler == COUNTERS_OF_SAMPLES && host->n_passes != 1)
		result = COUNTERS_NOT_SUPPORTED;
	return result;
}

/* Add the first of "A|B" that can be counted with those that are there. The result of the last. */
static int add_one_of(struct counter_host *host, const struct chip *chip, char *names)
{
	int result = COUNTERS_INVALID_METRIC;
	char *name;

	while ((name = strsep(&names, "|"))) {
		if (!*name)
			continue;
		host->names[host->n++] = name;
		result = try_names(host, chip);
		if (result == CUPTI_SUCCESS)
			return result;
		host->n--;
	}
	return result;
}

static void say_left_out(const struct counter_host *host, const struct chip *chip, const char *name,
			 int result)
{
	if (result == COUNTERS_NOT_SUPPORTED)
		tacho_unseen(COUNTERS_UNSEEN,
			     "%s is not counted: %s cannot count it at once with those before it",
			     name, chip->name);
	else
		tacho_unseen(COUNTERS_UNSEEN,
			     "%s is not counted: CUPTI (%s) has no such metric for %s (%s)", name,
			     host->library->cupti->path, chip->name,
			     cupti_words(host->library->cupti, result));
}

int counter_host_open(struct counter_host *host, const struct counter_library *library,
		      enum counters_profiler profiler, const char *chip_name,
		      const uint8_t *availability, const struct counter_list *list)
{
	struct chip chip = { chip_name, availability };
	char *place = host->texts;
	int result = COUNTERS_INVALID_METRIC, last = result;

	*host = (struct counter_host){ .library = library, .profiler = profiler };
	for (unsigned i = 0; i < list->n; i++) {
		place = stpcpy(place, list->names[i]) + 1; /* no longer than the list's text */
		last = add_one_of(host, &chip, place - strlen(list->names[i]) - 1);
		if (last == CUPTI_SUCCESS)
			result = last;
		else if (!list->is_default)
			say_left_out(host, &chip, list->names[i], last);
	}
	if (host->n && last != CUPTI_SUCCESS)
		result = try_names(host, &chip); /* the last that fitted */
	return host->n ? result : last;
}

void counter_host_release(struct counter_host *host)
{
	close_object(host);
	host->n = 0;
}

int counter_host_evaluate(const struct counter_host *host, const uint8_t *image, size_t image_size,
			  size_t index, double values[COUNTERS_MOST])
{
	struct counters_evaluate evaluate = { .size = COUNTERS_SIZE(counters_evaluate, values),
					      .object = host->object,
					      .image = image,
					      .image_size = image_size,
					      .index = index,
					      .names = (const char **)host->names,
					      .n_names = host->n,
					      .values = values };

	return host->library->evaluate(&evaluate);
}
