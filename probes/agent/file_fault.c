#include "agent/file_fault.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/losses.h"
#include "common/probe.h"

#define MAX_MAPPINGS 8192

/* Free where the size is 0; written last, cleared first. */
static struct mapping {
	uintptr_t begin;
	size_t size_bytes; /* atomic */
	bool is_taken;	   /* atomic */
} mappings[MAX_MAPPINGS];
static int n_mappings; /* atomic: places from here on have never been used */

static struct sigaction before; /* who handled SIGBUS before */
static bool is_installed;	/* atomic */

/* --- the fault ------------------------------------------------------------------------------ */

/* As stream_file_disown() does it, for the same reason: who holds a record may go on storing. */
static bool replace_mapping(uintptr_t address)
{
	int n = __atomic_load_n(&n_mappings, __ATOMIC_ACQUIRE);

	for (int i = 0; i < n; i++) {
		size_t size = __atomic_load_n(&mappings[i].size_bytes, __ATOMIC_ACQUIRE);
		uintptr_t begin = mappings[i].begin;

		if (size && address >= begin && address - begin < size)
			return mmap((void *)begin, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
				    0) != MAP_FAILED;
	}
	return false;
}

static void end_recording(void)
{
	if (!__atomic_exchange_n(&tacho_process->is_alive, 0, __ATOMIC_SEQ_CST))
		return;
	losses_note(0, "a file of the recording was cut by another program");
	tacho_say(
		"recording ends here, the job goes on: a file of the recording was cut by another "
		"program");
}

/* Hand it to who was there before, as the kernel would have. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	struct sigaction fatal = { .sa_handler = SIG_DFL };

	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
		if (before.sa_handler == SIG_IGN && info->si_code <= 0)
			return; /* sent by somebody, not a fault */
		sigaction(SIGBUS, &fatal, NULL);
		if (info->si_code <= 0) /* a fault comes again by itself */
			syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGBUS);
	} else {
		before.sa_handler(number);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	int cause = errno;

	if (info->si_code == BUS_ADRERR && replace_mapping((uintptr_t)info->si_addr)) {
		end_recording();
		errno = cause;
		return;
	}
	errno = cause;
	pass_on(number, info, context);
}

/* What the one before had asked for holds for ours, which stands in its place. */
static void install(void)
{
	struct sigaction action;

	if (__atomic_exchange_n(&is_installed, true, __ATOMIC_ACQ_REL) ||
	    sigaction(SIGBUS, NULL, &before) < 0)
		return;
	action = before;
	action.sa_sigaction = on_fault;
	action.sa_flags |= SA_SIGINFO;
	action.sa_flags &= ~(int)SA_RESETHAND;
	if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
		sigemptyset(&action.sa_mask);
		action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	}
	sigaction(SIGBUS, &action, NULL);
}

void file_fault_leave(void)
{
	struct sigaction now;

	if (__atomic_load_n(&is_installed, __ATOMIC_ACQUIRE) &&
	    sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_fault &&
	    sigaction(SIGBUS, &before, NULL) == 0)
		__atomic_store_n(&is_installed, false, __ATOMIC_RELEASE);
}

/* --- the table ------------------------------------------------------------------------------ */

static int take_place(void)
{
	for (int i = 0; i < MAX_MAPPINGS; i++)
		if (!__atomic_load_n(&mappings[i].is_taken, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(&mappings[i].is_taken, true, __ATOMIC_ACQ_REL))
			return i;
	return -1;
}

int file_fault_watch(void *begin, size_t size)
{
	int place = take_place(), n = __atomic_load_n(&n_mappings, __ATOMIC_RELAXED);

	if (place < 0)
		return -1;
	mappings[place].begin = (uintptr_t)begin;
	__atomic_store_n(&mappings[place].size_bytes, size, __ATOMIC_RELEASE);
	while (n <= place && !__atomic_compare_exchange_n(&n_mappings, &n, place + 1, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	install();
	return place;
}

void file_fault_forget(int number)
{
	if (number < 0)
		return;
	__atomic_store_n(&mappings[number].size_bytes, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&mappings[number].is_taken, false, __ATOMIC_RELEASE);
}

bool file_fault_covers(const void *address)
{
	int n = __atomic_load_n(&n_mappings, __ATOMIC_ACQUIRE);

	for (int i = 0; i < n; i++) {
		size_t size = __atomic_load_n(&mappings[i].size_bytes, __ATOMIC_ACQUIRE);

		if (size && (uintptr_t)address - mappings[i].begin < size)
			return true;
	}
	return false;
}
