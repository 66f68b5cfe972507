/* thread_start: pthread_create, watched, so that a thread knows who started it. */
#ifndef TACHO_AGENT_THREAD_START_H
#define TACHO_AGENT_THREAD_START_H

#include <pthread.h>

/* libc's own pthread_create. */
int thread_start_real(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		      void *argument);

/* The first definition in the process, which is not ours where a sanitizer is linked into the program. */
int thread_start_first(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
		       void *argument);

/* Look pthread_create() up before anybody calls it with little stack. */
void thread_start_find(void);

#endif
