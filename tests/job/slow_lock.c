/* slow_lock: preloaded, it has each thread keep PyTorch's lock around its callbacks half a millisecond longer, so that forks meet it
 * taken. Which lock that is, is learnt from a call that takes it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#define KEPT_US 500

static pthread_mutex_t *slow;
static __thread bool is_learning;

int slow_lock_learn(const char *library);

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (is_learning)
		slow = mutex;
	return real(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (mutex == slow)
		usleep(KEPT_US);
	return real(mutex);
}

/* Whether the lock is known now; `library` is libtorch_cpu.so, as it is loaded. */
int slow_lock_learn(const char *library)
{
	void *torch = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
	bool (*ask)(void) = torch ? dlsym(torch, "_ZN2at18hasGlobalCallbacksEv") : NULL;

	if (!ask)
		return 0;
	is_learning = true;
	ask();
	is_learning = false;
	return slow != NULL;
}
