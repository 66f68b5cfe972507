/* attach_stub: what runs in another process: copied there as it is, so it calls nothing but what the room has the address of,
 * and has no data (attach_room.h). Compiled without what a compiler adds by itself (cli/CMakeLists.txt). */
#include <stddef.h>
#include <sys/syscall.h>

#include "attach_room.h"

#define STUB __attribute__((section("attach_stub"), used, noinline))

void attach_stub_first(struct attach_room *room);
void *attach_stub_second(void *room);

/* A system call, then for whom it was a clone() that made him: on with the room's address, which a register kept. */
#if defined(__x86_64__)
__asm__(".section attach_stub,\"ax\",@progbits\n.globl attach_stub_call\nattach_stub_call:\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jz 1f\n"
	"	ud2\n" /* the job's thread is given back its registers before */
	"1:	xor %ebp, %ebp\n"
	"	mov %r12, %rdi\n"
	"	call attach_stub_first\n"
	"	ud2\n"
	".previous\n");

static inline __attribute__((always_inline)) long system_call(long number, long first)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first)
			 : "rcx", "r11", "memory");
	return result;
}

/* Where it is in the copy that runs. */
static inline __attribute__((always_inline)) void *(*second(void))(void *)
{
	return attach_stub_second;
}
#elif defined(__aarch64__)
__asm__(".section attach_stub,\"ax\",@progbits\n.globl attach_stub_call\nattach_stub_call:\n"
	"	svc #0\n"
	"	cbz x0, 1f\n"
	"	brk #0\n"
	"1:	mov x29, xzr\n"
	"	mov x30, xzr\n"
	"	mov x0, x19\n"
	"	bl attach_stub_first\n"
	"	brk #0\n"
	".previous\n");

static inline __attribute__((always_inline)) long system_call(long number, long first)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = first;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8) : "memory");
	return x0;
}

/* Where it is in the copy that runs: compilers would ask a table that is not copied, or count from the page that the original is in. */
static inline __attribute__((always_inline)) void *(*second(void))(void *)
{
	void *(*function)(void *);

	__asm__("adr %0, attach_stub_second" : "=r"(function));
	return function;
}
#else
const char attach_stub_call[1] __attribute__((section("attach_stub")));

static inline long system_call(long number, long first)
{
	return number + first;
}

static inline void *(*second(void))(void *)
{
	return attach_stub_second;
}
#endif

typedef void *init_tls_function(void *thread_pointer, _Bool init);
typedef void plain_function(void);
typedef int attr_function(void *attr);
typedef int setstack_function(void *attr, void *stack, size_t size);
typedef int setdetach_function(void *attr, int state);
typedef int create_function(void *thread, const void *attr, void *(*start)(void *), void *argument);
typedef void *open_function(const char *path, int flags);
typedef void *symbol_function(void *library, const char *name);
typedef const char *error_function(void);
typedef int entry_function(const char *request, char *answer, uint64_t answer_bytes);

#define CALL(type, address) ((type *)(uintptr_t)(address))

/* With signals held, in memory that libc does not know: only what is needed to make a thread that it does. */
STUB void attach_stub_first(struct attach_room *room)
{
	char *thread_pointer = (char *)(uintptr_t)room->thread_pointer;
	int status;

	*(int *)(thread_pointer + room->tid_offset) = (int)system_call(SYS_gettid, 0);
	room->pid = (int)system_call(SYS_getpid, 0);
	if (!room->is_prepared) {
		CALL(init_tls_function, room->allocate_tls_init)(thread_pointer, 1);
		CALL(plain_function, room->ctype_init)();
		if (room->rseq_offset) /* not registered: who looks must not take it for processor 0 */
			*(int *)(thread_pointer + room->rseq_offset + 4) = -1;
		room->is_prepared = 1;
	}
	status = CALL(attr_function, room->attr_init)(room->attr);
	if (!status)
		status = CALL(setstack_function, room->attr_setstack)(
			room->attr, (void *)(uintptr_t)room->second_stack, room->second_bytes);
	if (!status)
		status = CALL(setdetach_function, room->attr_setdetachstate)(room->attr, 1);
	if (!status)
		status = CALL(create_function, room->create)(&room->second, room->attr, second(),
							     room);
	if (status) {
		room->status = -status;
		__atomic_store_n(&room->state, ROOM_NO_THREAD, __ATOMIC_RELEASE);
	}
	for (;;)
		system_call(SYS_exit, 0);
}

/* dlerror()'s text, which is the thread's own. */
static inline __attribute__((always_inline)) void copy_error(struct attach_room *room)
{
	const char *text = CALL(error_function, room->error)();
	volatile char *answer =
		room->answer; /* volatile: a loop must not become a call of memcpy() */
	size_t i = 0;

	for (; text && text[i] && i < sizeof(room->answer) - 1; i++)
		answer[i] = text[i];
	answer[i] = '\0';
}

STUB void *attach_stub_second(void *room_pointer)
{
	struct attach_room *room = room_pointer;
	void *library;

	if (!room->entry) {
		library = CALL(open_function, room->open)(room->library,
							  0x102); /* RTLD_NOW | RTLD_GLOBAL */
		if (library)
			room->entry = (uintptr_t)CALL(symbol_function,
						      room->symbol)(library, room->symbol_name);
	}
	if (!room->entry) {
		copy_error(room);
		__atomic_store_n(&room->state, ROOM_NO_LIBRARY, __ATOMIC_RELEASE);
		return NULL;
	}
	room->status = CALL(entry_function, room->entry)(room->request, room->answer,
							 sizeof(room->answer));
	__atomic_store_n(&room->state, ROOM_ANSWERED, __ATOMIC_RELEASE);
	return NULL;
}
