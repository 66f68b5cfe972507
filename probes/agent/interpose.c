/* interpose: the libc functions the agent stands in front of. Each does its small work and hands
 * over; the job sees libc's own results. (pthread_create is in thread_start.c.) */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/loader_watch.h"
#include "agent/stream.h"
#include "common/probe.h"

/* --- in by a call, on by a jump ------------------------------------------------------------ */

typedef void any_function(void);

/* libc's function of that name: not by dlsym(), which would be ours. The version is where glibc
 * moved libdl into libc, else the first of the architecture. */
static any_function *libc_function(const char *name)
{
	void *function = dlvsym(tacho_scope(), name, "GLIBC_2.34");

#if defined(__x86_64__)
	if (!function)
		function = dlvsym(tacho_scope(), name, "GLIBC_2.2.5");
#elif defined(__aarch64__)
	if (!function)
		function = dlvsym(tacho_scope(), name, "GLIBC_2.17");
#endif
	return (any_function *)function;
}

#if defined(__x86_64__) || defined(__aarch64__)

/* What is called is told who calls, and the call's first argument. */
any_function *tacho_enter_dlopen(const void *caller, long first);
any_function *tacho_enter_dlsym(const void *caller, long first);
any_function *tacho_enter_prctl(const void *caller, long option);
any_function *tacho_enter_syscall(const void *caller, long number);
void tacho_set_errno(int cause) __attribute__((visibility("hidden")));
void tacho_raw_syscall(void) __attribute__((visibility("hidden")));

static any_function *real_dlopen, *real_dlsym;

any_function *tacho_enter_dlopen(const void *caller, long first)
{
	(void)first;
	loader_watch_check_from(caller);
	if (!real_dlopen)
		real_dlopen = libc_function("dlopen");
	return real_dlopen;
}

any_function *tacho_enter_dlsym(const void *caller, long first)
{
	(void)first;
	loader_watch_check_from(caller);
	if (!real_dlsym)
		real_dlsym = libc_function("dlsym");
	return real_dlsym;
}

/* --- prctl and syscall: the ways to a filter of system calls -------------------------------- */

/* The process is about to restrict its system calls; from here on it has only its own. A filter that is not
 * set after all costs the rest of the recording. */

static any_function *real_prctl, *real_syscall;

any_function *tacho_enter_prctl(const void *caller, long option)
{
	(void)caller;
	if (option == PR_SET_SECCOMP)
		streams_leave("it restricts its system calls (seccomp)");
	if (!real_prctl)
		real_prctl = (any_function *)dlsym(tacho_scope(), "prctl");
	return real_prctl;
}

/* An allocator may call it before this library has begun, where the loader cannot be asked. */
any_function *tacho_enter_syscall(const void *caller, long number)
{
	(void)caller;
	if (number == SYS_seccomp)
		streams_leave("it restricts its system calls (seccomp)");
	return real_syscall ? real_syscall : tacho_raw_syscall;
}

void tacho_set_errno(int cause)
{
	errno = cause;
}

/* Before anybody calls with little stack: the loader's search takes much. */
static void __attribute__((constructor)) find_functions(void)
{
	real_dlopen = libc_function("dlopen");
	real_dlsym = libc_function("dlsym");
	real_prctl = (any_function *)dlsym(tacho_scope(), "prctl");
	real_syscall = (any_function *)dlsym(tacho_scope(), "syscall");
}

#if defined(__x86_64__)
#define TRAMPOLINE(name)                                                                           \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"    \
		"	endbr64\n"                                                                       \
		"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n	push "                           \
		"%r8\n	push %r9\n"                                                                 \
		"	sub $8, %rsp\n"                                                                  \
		"	mov %rdi, %rsi\n"                                                                \
		"	mov 56(%rsp), %rdi\n"                                                            \
		"	call tacho_enter_" #name "\n"                                              \
		"	add $8, %rsp\n"                                                                  \
		"	pop %r9\n	pop %r8\n	pop %rcx\n	pop %rdx\n	pop "                                  \
		"%rsi\n	pop %rdi\n"                                                                \
		"	jmp *%rax\n"                                                                     \
		".size " #name ", . - " #name "\n")

/* libc's syscall(), for as long as libc's own is not known. */
__asm__(".text\n.p2align 4\n.hidden tacho_raw_syscall\n.globl tacho_raw_syscall\n"
	".type tacho_raw_syscall, @function\ntacho_raw_syscall:\n"
	"	endbr64\n"
	"	mov %rdi, %rax\n	mov %rsi, %rdi\n	mov %rdx, %rsi\n	mov %rcx, "
	"%rdx\n"
	"	mov %r8, %r10\n	mov %r9, %r8\n	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmp $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	neg %eax\n"
	"	mov %eax, %edi\n"
	"	sub $8, %rsp\n"
	"	call tacho_set_errno\n"
	"	add $8, %rsp\n"
	"	mov $-1, %rax\n"
	"	ret\n"
	".size tacho_raw_syscall, . - tacho_raw_syscall\n");
#else
#define TRAMPOLINE(name)                                                                           \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"    \
		"	stp x29, x30, [sp, #-80]!\n"                                                     \
		"	mov x29, sp\n"                                                                   \
		"	stp x0, x1, [sp, #16]\n"                                                         \
		"	stp x2, x3, [sp, #32]\n"                                                         \
		"	stp x4, x5, [sp, #48]\n"                                                         \
		"	stp x6, x7, [sp, #64]\n"                                                         \
		"	mov x1, x0\n"                                                                    \
		"	mov x0, x30\n"                                                                   \
		"	bl tacho_enter_" #name "\n"                                                \
		"	mov x16, x0\n"                                                                   \
		"	ldp x6, x7, [sp, #64]\n"                                                         \
		"	ldp x4, x5, [sp, #48]\n"                                                         \
		"	ldp x2, x3, [sp, #32]\n"                                                         \
		"	ldp x0, x1, [sp, #16]\n"                                                         \
		"	ldp x29, x30, [sp], #80\n"                                                       \
		"	br x16\n"                                                                        \
		".size " #name ", . - " #name "\n")

__asm__(".text\n.p2align 4\n.hidden tacho_raw_syscall\n.globl tacho_raw_syscall\n"
	".type tacho_raw_syscall, @function\ntacho_raw_syscall:\n"
	"	mov x8, x0\n	mov x0, x1\n	mov x1, x2\n	mov x2, x3\n"
	"	mov x3, x4\n	mov x4, x5\n	mov x5, x6\n"
	"	svc #0\n"
	"	cmn x0, #4095\n"
	"	b.cs 1f\n"
	"	ret\n"
	"1:	stp x29, x30, [sp, #-16]!\n"
	"	neg w0, w0\n"
	"	bl tacho_set_errno\n"
	"	ldp x29, x30, [sp], #16\n"
	"	mov x0, #-1\n"
	"	ret\n"
	".size tacho_raw_syscall, . - tacho_raw_syscall\n");
#endif

TRAMPOLINE(dlopen);
TRAMPOLINE(dlsym);
TRAMPOLINE(prctl);
TRAMPOLINE(syscall);

#endif

/* --- the program's beginning -------------------------------------------------------------- */

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
			   void (*)(void), void *);

TACHO_EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
				   void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

TACHO_EXPORT int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
				   void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");

	loader_watch_check_from(NULL);
	return real(main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* --- the program's end -------------------------------------------------------------------- */

/* What exit() runs is registered by the agent; these end a process past it. */
static void __attribute__((noreturn)) end_process(int status)
{
	streams_close(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

TACHO_EXPORT void _exit(int status)
{
	end_process(status);
}

TACHO_EXPORT void _Exit(int status)
{
	end_process(status);
}
