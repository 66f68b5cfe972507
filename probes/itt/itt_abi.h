/* itt_abi: what ITT's static part, which is linked into programs and libraries, hands to a collector, in own words.
 *
 * Source: the ittapi project's ittnotify_config.h, ittnotify_static.c and ittnotify.h, versions 3.17 to 3.26, which
 * agree in all that is declared here. The static part loads the library that INTEL_LIBITTNOTIFY64 names, and if that
 * exports __itt_api_init() calls it with its own global table; it locks that meanwhile. */
#ifndef TACHO_ITT_ABI_H
#define TACHO_ITT_ABI_H

#include <pthread.h>
#include <stdint.h>

struct itt_api {
	const char *
		name; /* "__itt_task_begin", whatever the static part's own prefix is; NULL: the list ends */
	void **function;
	void *init_function;
	void *null_function; /* for those that the static part does itself: what does it */
	int group;
};

/* Its head: what follows differs between versions. */
struct itt_global {
	unsigned char magic[8];
	unsigned long major, minor, build;
	volatile long is_initialized, has_mutex, counter;
	pthread_mutex_t mutex;
	void *library, *error_handler;
	const char **library_path;
	struct itt_api *apis;
};

#define ITT_MAGIC                                                                                  \
	{                                                                                          \
		0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30                                     \
	}
#define ITT_MAJOR 3

struct itt_domain {
	volatile int flags; /* 0: the program wants nothing of it recorded */
	const char *name;
	void *wide_name;
	int extra1;
	void *extra2;
	struct itt_domain *next;
};

struct itt_string {
	const char *text;
	void *wide_text;
	int extra1;
	void *extra2;
	struct itt_string *next;
};

struct itt_id {
	unsigned long long d1, d2, d3; /* d1: an address, d2: a number that the program chose */
};

/* What counter_create_typed() is told. */
enum itt_type {
	ITT_UNKNOWN,
	ITT_U64,
	ITT_S64,
	ITT_U32,
	ITT_S32,
	ITT_U16,
	ITT_S16,
	ITT_FLOAT,
	ITT_DOUBLE,
};

#endif
