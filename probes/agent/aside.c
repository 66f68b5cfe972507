/* aside: a stack of the agent's own, for what would need much of the caller's.
 *
 * A hook runs on whatever stack the job has: that of a thread with PTHREAD_STACK_MIN bytes, or a signal
 * stack of SIGSTKSZ. What takes paths, formats text, allocates or asks the loader therefore runs aside
 * (tacho_run_aside() of probe.h), and takes about 200 bytes of the caller's stack.
 *
 *     hook --> tacho_run_aside(function) --> [signals held, stack taken] --> function()
 *                                              |                               |
 *     hook <-- [stack given back, signals let go] <----------------------------+
 *
 * (1) It holds no lock of its own, so it may wait for one: of the loader, of malloc(), of the agent.
 * (2) Signals are held while it runs, but for those of faults: a handler could jump out of it, and one that
 *     uses the thread's signal stack would begin at its top, over a caller that is on it already.
 * (3) No cancellation happens in it.
 * (4) It leaves no SIGXFSZ behind: a file that grew too large for its limit is no signal to the job.
 * (5) A stack that is free again is kept for the next who needs one; one is enough nearly always. */
#include "agent/aside.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/probe.h"

#define STACK_BYTES (256u * 1024u) /* taken only as far as it is used; probes ask PyTorch there */
#define GUARD_BYTES 4096u

/* As the kernel has them: a sigset_t takes 128 bytes of stack. */
typedef uint64_t signal_set;
#define SET_OF(signal) (UINT64_C(1) << ((signal)-1))
#define FAULTS                                                                                     \
	(SET_OF(SIGSEGV) | SET_OF(SIGBUS) | SET_OF(SIGFPE) | SET_OF(SIGILL) | SET_OF(SIGTRAP))

/* Nobody waits for it: who finds it locked takes a new stack. A mutex, since a job's thread sanitizer sees
 * by it that one thread has done with a stack before the next begins. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *spare;
TACHO_THREAD_LOCAL bool tacho_is_aside;

/* --- on another stack ----------------------------------------------------------------------- */

typedef void any_function(void *argument);

/* Call `function` with its stack ending at `end`. */
void tacho_call_on_stack(void *end, any_function *function, void *argument)
	__attribute__((visibility("hidden")));

#if defined(__x86_64__)
__asm__(".text\n.p2align 4\n.hidden tacho_call_on_stack\n.globl tacho_call_on_stack\n"
	".type tacho_call_on_stack, @function\ntacho_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rdi, %rsp\n"
	"	mov %rdx, %rdi\n"
	"	call *%rsi\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size tacho_call_on_stack, . - tacho_call_on_stack\n");
#elif defined(__aarch64__)
__asm__(".text\n.p2align 4\n.hidden tacho_call_on_stack\n.globl tacho_call_on_stack\n"
	".type tacho_call_on_stack, @function\ntacho_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset x29, -16\n"
	"	.cfi_offset x30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register x29\n"
	"	mov sp, x0\n"
	"	mov x0, x2\n"
	"	blr x1\n"
	"	mov sp, x29\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_def_cfa sp, 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size tacho_call_on_stack, . - tacho_call_on_stack\n");
#else /* there the caller's stack must do */
void tacho_call_on_stack(void *end, any_function *function, void *argument)
{
	(void)end;
	function(argument);
}
#endif

/* Its lowest page is none: who runs over the end meets a fault. */
static char *take_stack(void)
{
	char *stack = NULL;

	if (pthread_mutex_trylock(&lock) == 0) {
		stack = spare;
		spare = NULL;
		pthread_mutex_unlock(&lock);
	}
	if (stack)
		return stack;
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	mprotect(stack, GUARD_BYTES, PROT_NONE);
	return stack;
}

static void give_back_stack(char *stack)
{
	bool is_kept = false;

	if (pthread_mutex_trylock(&lock) == 0) {
		is_kept = !spare;
		if (is_kept)
			spare = stack;
		pthread_mutex_unlock(&lock);
	}
	if (!is_kept)
		munmap(stack, STACK_BYTES);
}

void aside_release(void)
{
	char *stack;

	pthread_mutex_lock(&lock);
	stack = spare;
	spare = NULL;
	pthread_mutex_unlock(&lock);
	if (stack)
		munmap(stack, STACK_BYTES);
}

/* --- signals -------------------------------------------------------------------------------- */

static signal_set hold_signals(signal_set held)
{
	signal_set before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before, sizeof(before));
	return before;
}

static void let_signals_go(signal_set before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

static bool has_file_size_signal(void)
{
	signal_set pending = 0;

	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	return pending & SET_OF(SIGXFSZ);
}

static void take_file_size_signal(void)
{
	const struct timespec no_time = { 0 };
	const signal_set wanted = SET_OF(SIGXFSZ);

	syscall(SYS_rt_sigtimedwait, &wanted, NULL, &no_time, sizeof(wanted));
}

/* -------------------------------------------------------------------------------------------- */

bool tacho_run_aside(void (*function)(void *argument), void *argument)
{
	int cause = errno, cancel_state;
	signal_set before;
	bool had_signal;
	char *stack;

	if (tacho_is_aside) {
		function(argument);
		errno = cause;
		return true;
	}
	before = hold_signals(~FAULTS);
	stack = take_stack();
	if (stack) {
		had_signal = has_file_size_signal();
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
		tacho_is_aside = true;
		tacho_call_on_stack(stack + STACK_BYTES, function, argument);
		tacho_is_aside = false;
		pthread_setcancelstate(cancel_state, NULL);
		if (!had_signal && has_file_size_signal())
			take_file_size_signal();
		give_back_stack(stack);
	}
	let_signals_go(before);
	errno = cause;
	return stack != NULL;
}
