/* itt_calls: a program with a static part of ITT of our own, as small as can be: it loads what INTEL_LIBITTNOTIFY64 names, has its
 * table filled in, and calls what came of it, in the order in which the sanitizers' and the test's eyes want it. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../support/paced.h"
#include "itt/itt_abi.h"

static struct itt_domain *(*domain_create)(const char *);
static struct itt_string *(*string_handle_create)(const char *);
static void (*task_begin)(const struct itt_domain *, struct itt_id, struct itt_id,
			  const struct itt_string *);
static void (*task_end)(const struct itt_domain *);
static void (*region_begin)(const struct itt_domain *, struct itt_id, struct itt_id,
			    const struct itt_string *);
static void (*region_end)(const struct itt_domain *, struct itt_id);
static void (*frame_begin_v3)(const struct itt_domain *, struct itt_id *);
static void (*frame_end_v3)(const struct itt_domain *, struct itt_id *);
static void (*marker)(const struct itt_domain *, struct itt_id, const struct itt_string *, int);
static int (*event_create)(const char *, int);
static int (*event_start)(int);
static int (*event_end)(int);
static void *(*counter_create_typed)(const char *, const char *, int);
static void (*counter_set_value)(void *, void *);
static void (*counter_inc_delta)(void *, unsigned long long);
static void (*unknown)(void);

static void initial(void)
{
	puts("an initial function is called");
}

#define API(function)                                                                              \
	{                                                                                          \
		"__itt_" #function, (void **)&function, (void *)initial, NULL, -1                  \
	}

static struct itt_api apis[] = {
	API(domain_create),
	API(string_handle_create),
	API(task_begin),
	API(task_end),
	API(region_begin),
	API(region_end),
	API(frame_begin_v3),
	API(frame_end_v3),
	API(marker),
	API(event_create),
	API(event_start),
	API(event_end),
	API(counter_create_typed),
	API(counter_set_value),
	API(counter_inc_delta),
	API(unknown),
	{ NULL, NULL, NULL, NULL, 0 },
};

static struct itt_global global = { .magic = ITT_MAGIC, .major = ITT_MAJOR, .apis = apis };

static const struct itt_id no_id;

static void *end_region(void *domain)
{
	region_end(domain, (struct itt_id){ .d1 = 5, .d2 = 9 });
	return NULL;
}

static void work(void)
{
	struct timespec pause = { .tv_nsec = 2000000 };

	nanosleep(&pause, NULL);
}

/* A task in each round. Without a collector a program would call nothing. */
static int paced(void)
{
	struct itt_domain *domain = domain_create ? domain_create("paced") : NULL;
	struct itt_string *name = domain ? string_handle_create("round") : NULL;
	static struct paced rounds;

	while (paced_goes_on(&rounds)) {
		if (domain)
			task_begin(domain, no_id, no_id, name);
		paced_work();
		if (domain)
			task_end(domain);
	}
	paced_tell(&rounds);
	return 0;
}

int main(int argc, char **argv)
{
	const char *collector = getenv("INTEL_LIBITTNOTIFY64");
	void *library = collector ? dlopen(collector, RTLD_LAZY) : NULL;
	void (*init)(struct itt_global *, int) = NULL;
	struct itt_domain *ours, *dnn;
	double real = 2.5;
	void *counted, *set;
	pthread_t thread;
	int event;

	if (library)
		init = (void (*)(struct itt_global *, int))dlsym(library, "__itt_api_init");
	if (argc > 1 && strcmp(argv[1], "paced") == 0) {
		if (init)
			init(&global, -1);
		return paced();
	}
	if (!init) {
		puts("no collector");
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "magic") == 0)
		global.magic[0] = 0;
	if (argc > 1 && strcmp(argv[1], "major") == 0)
		global.major = ITT_MAJOR + 1;
	init(&global, -1);
	if (!task_begin || !domain_create) {
		puts("nothing was taken");
		return 0;
	}
	if (unknown)
		puts("an unknown function was given");
	ours = domain_create("ours");
	dnn = domain_create("dnnl::primitive::execute");
	if (domain_create("ours") != ours || string_handle_create("a") != string_handle_create("a"))
		puts("one name has two handles");
	task_begin(ours, no_id, no_id, string_handle_create("outer"));
	task_begin(dnn, no_id, no_id, string_handle_create("matmul"));
	work();
	task_end(dnn);
	marker(ours, (struct itt_id){ .d2 = 42 }, string_handle_create("moment"), 0);
	task_end(ours);
	task_end(ours); /* one too many */
	region_begin(ours, (struct itt_id){ .d1 = 5, .d2 = 9 }, no_id,
		     string_handle_create("across"));
	pthread_create(&thread, NULL, end_region, ours);
	pthread_join(thread, NULL);
	frame_begin_v3(ours, NULL);
	frame_end_v3(ours, NULL);
	event = event_create("event of ours", 5); /* "event" */
	event_start(event);
	event_end(event);
	if (event_start(event + 1) == 0 || event_end(-1) == 0)
		puts("an event that nobody made was taken");
	counted = counter_create_typed("batches", "ours", ITT_U64);
	counter_inc_delta(counted, 3);
	counter_inc_delta(counted, 4);
	set = counter_create_typed("loss", NULL, ITT_DOUBLE);
	counter_set_value(set, &real);
	counter_set_value(&real, &real); /* no counter */
	ours->flags = 0;
	task_begin(ours, no_id, no_id, string_handle_create("switched off"));
	task_end(ours);
	ours->flags = 1;
	for (int i = 0; i < 100; i++)
		task_begin(ours, no_id, no_id, string_handle_create("deep"));
	for (int i = 0; i < 100; i++)
		task_end(ours);
	if (fork() == 0) {
		task_begin(ours, no_id, no_id, string_handle_create("child"));
		task_end(ours);
		_exit(0);
	}
	wait(NULL);
	puts("done");
	return 0;
}
