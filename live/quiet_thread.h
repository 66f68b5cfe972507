/* quiet_thread: a thread to which no signal comes: they are for the thread that began it. */
#ifndef TACHO_QUIET_THREAD_H
#define TACHO_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(): 0, or an errno. */
static inline int quiet_thread_begin(pthread_t *thread, void *(*function)(void *), void *data)
{
	sigset_t all, before;
	int status;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	status = pthread_create(thread, NULL, function, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

#endif
