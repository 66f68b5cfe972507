/* interpose: the libc functions the agent stands in front of. Each does its small work and hands
 * over; the job sees libc's own results. (pthread_create is in thread_start.c.) */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/loader_watch.h"
#include "agent/stream.h"
#include "common/probe.h"

/* --- dlopen and dlsym: in by a call, on by a jump ----------------------------------------- */

typedef void any_function(void);

/* libc's function of that name: not by dlsym(), which would be ours. The version is where glibc
 * moved libdl into libc, else the first of the architecture. */
static any_function *libc_function(const char *name)
{
	void *function = dlvsym(RTLD_NEXT, name, "GLIBC_2.34");

#if defined(__x86_64__)
	if (!function)
		function = dlvsym(RTLD_NEXT, name, "GLIBC_2.2.5");
#elif defined(__aarch64__)
	if (!function)
		function = dlvsym(RTLD_NEXT, name, "GLIBC_2.17");
#endif
	return (any_function *)function;
}

#if defined(__x86_64__) || defined(__aarch64__)

any_function *tacho_enter_dlopen(const void *caller);
any_function *tacho_enter_dlsym(const void *caller);

static any_function *real_dlopen, *real_dlsym;

any_function *tacho_enter_dlopen(const void *caller)
{
	loader_watch_check_from(caller);
	if (!real_dlopen)
		real_dlopen = libc_function("dlopen");
	return real_dlopen;
}

any_function *tacho_enter_dlsym(const void *caller)
{
	loader_watch_check_from(caller);
	if (!real_dlsym)
		real_dlsym = libc_function("dlsym");
	return real_dlsym;
}

/* Before anybody calls with little stack: the loader's search takes much. */
static void __attribute__((constructor)) find_functions(void)
{
	real_dlopen = libc_function("dlopen");
	real_dlsym = libc_function("dlsym");
}

#if defined(__x86_64__)
#define TRAMPOLINE(name)                                                                           \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"    \
		"	endbr64\n"                                                                       \
		"	push %rdi\n	push %rsi\n	push %rdx\n"                                             \
		"	mov 24(%rsp), %rdi\n"                                                            \
		"	call tacho_enter_" #name "\n"                                              \
		"	pop %rdx\n	pop %rsi\n	pop %rdi\n"                                                \
		"	jmp *%rax\n"                                                                     \
		".size " #name ", . - " #name "\n")
#else
#define TRAMPOLINE(name)                                                                           \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"    \
		"	stp x29, x30, [sp, #-48]!\n"                                                     \
		"	mov x29, sp\n"                                                                   \
		"	stp x0, x1, [sp, #16]\n"                                                         \
		"	str x2, [sp, #32]\n"                                                             \
		"	mov x0, x30\n"                                                                   \
		"	bl tacho_enter_" #name "\n"                                                \
		"	mov x16, x0\n"                                                                   \
		"	ldr x2, [sp, #32]\n"                                                             \
		"	ldp x0, x1, [sp, #16]\n"                                                         \
		"	ldp x29, x30, [sp], #48\n"                                                       \
		"	br x16\n"                                                                        \
		".size " #name ", . - " #name "\n")
#endif

TRAMPOLINE(dlopen);
TRAMPOLINE(dlsym);

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
