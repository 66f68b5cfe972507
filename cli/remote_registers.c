#include "remote_registers.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SEARCH_BYTES   (2u << 20) /* of libc, for instructions */
#define SEARCH_PAGE    0x10000u
#define SEARCH_OVERLAP 16u

gboolean remote_registers_get(pid_t tid, RemoteRegisters *ret_registers)
{
	struct iovec whole = { ret_registers, sizeof(*ret_registers) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &whole) == 0;
}

gboolean remote_registers_set(pid_t tid, const RemoteRegisters *registers)
{
	struct iovec whole = { (void *)registers, sizeof(*registers) };

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &whole) == 0;
}

#if defined(__x86_64__) || defined(__aarch64__)
/* Where these bytes are in libc's code, at a multiple of `alignment`; 0: nowhere. */
static guint64 find_in_libc(const Target *target, const guint8 *wanted, guint n, guint alignment)
{
	g_autofree guint8 *bytes = g_malloc(SEARCH_PAGE);

	for (guint64 at = 0; at < SEARCH_BYTES; at += SEARCH_PAGE - SEARCH_OVERLAP) {
		if (!target_read(target, target->libc + at, bytes, SEARCH_PAGE))
			break;
		for (guint i = 0; i + n <= SEARCH_PAGE; i += alignment)
			if (memcmp(bytes + i, wanted, n) == 0 &&
			    target_is_code(target, target->libc + at + i))
				return target->libc + at + i;
	}
	return 0;
}
#endif

#if defined(__x86_64__)
static const guint8 call_instruction[] = { 0x0f, 0x05 };

guint64 remote_registers_code(const RemoteRegisters *registers)
{
	return registers->rip;
}

guint64 remote_registers_stack(const RemoteRegisters *registers)
{
	return registers->rsp;
}

guint64 remote_registers_thread_pointer(pid_t tid, const RemoteRegisters *registers)
{
	(void)tid;
	return registers->fs_base;
}

void remote_registers_prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
				   const guint64 arguments[6], guint64 kept)
{
	registers->rip = at;
	registers->orig_rax = ~0ull; /* it is in no system call that would be begun again */
	registers->rax = number;
	registers->rdi = arguments[0];
	registers->rsi = arguments[1];
	registers->rdx = arguments[2];
	registers->r10 = arguments[3];
	registers->r8 = arguments[4];
	registers->r9 = arguments[5];
	registers->r12 = kept;
	registers->eflags &= ~0x400ull; /* the direction flag is clear in all C code */
}

gint64 remote_registers_result(const RemoteRegisters *registers)
{
	return (gint64)registers->rax;
}

gboolean remote_registers_is_past(const RemoteRegisters *registers, guint64 at)
{
	return registers->rip == at + sizeof(call_instruction);
}

glong remote_registers_call(const RemoteRegisters *registers)
{
	return (glong)registers->orig_rax;
}

/* What the kernel leaves where it begins the call again: ERESTARTSYS to ERESTART_RESTARTBLOCK (include/linux/errno.h). */
gboolean remote_registers_is_waiting(const RemoteRegisters *registers, const SeenCall *seen,
				     gboolean is_before_call)
{
	(void)seen, (void)is_before_call;
	return (gint64)registers->orig_rax >= 0 && (gint64)registers->rax <= -512 &&
	       (gint64)registers->rax >= -516;
}

/* As the kernel does it where it begins a call again. */
gboolean remote_registers_begin_again(RemoteRegisters *registers, const SeenCall *seen)
{
	(void)seen;
	registers->rax = registers->orig_rax;
	registers->rip -= sizeof(call_instruction);
	registers->orig_rax = ~0ull;
	return TRUE;
}

guint64 remote_registers_find_instruction(const Target *target)
{
	return find_in_libc(target, call_instruction, sizeof(call_instruction), 1);
}

/* Signal handlers return to this, in libc: mov $15, %rax; syscall. */
guint64 remote_registers_handler_word(const Target *target)
{
	static const guint8 signal_return[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05
	};

	return find_in_libc(target, signal_return, sizeof(signal_return), 1);
}
#elif defined(__aarch64__)
#define INSTRUCTION_BYTES 4

static const guint8 call_instruction[INSTRUCTION_BYTES] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */

guint64 remote_registers_code(const RemoteRegisters *registers)
{
	return registers->pc;
}

guint64 remote_registers_stack(const RemoteRegisters *registers)
{
	return registers->sp;
}

guint64 remote_registers_thread_pointer(pid_t tid, const RemoteRegisters *registers)
{
	guint64 pointer = 0;
	struct iovec whole = { &pointer, sizeof(pointer) };

	(void)registers;
	return ptrace(PTRACE_GETREGSET, tid, NT_ARM_TLS, &whole) == 0 ? pointer : 0;
}

void remote_registers_prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
				   const guint64 arguments[6], guint64 kept)
{
	registers->pc = at;
	registers->regs[8] = number;
	for (int i = 0; i < 6; i++)
		registers->regs[i] = arguments[i];
	registers->regs[19] = kept;
}

gint64 remote_registers_result(const RemoteRegisters *registers)
{
	return (gint64)registers->regs[0];
}

gboolean remote_registers_is_past(const RemoteRegisters *registers, guint64 at)
{
	return registers->pc == at + INSTRUCTION_BYTES;
}

gboolean remote_registers_hide_call(const RemoteRegisters *registers, const Target *target)
{
	guint8 next[INSTRUCTION_BYTES];

	return target_read(target, registers->pc, next, sizeof(next)) &&
	       memcmp(next, call_instruction, sizeof(next)) == 0;
}

/* x7 is the kernel's at an entry; the others are as they were. */
void remote_registers_take_call(RemoteRegisters *registers, const RemoteRegisters *at_entry)
{
	registers->regs[8] = at_entry->regs[8];
}

glong remote_registers_call(const RemoteRegisters *registers)
{
	return (glong)registers->regs[8];
}

static gboolean is_seen(const RemoteRegisters *registers, const SeenCall *seen, guint64 code)
{
	return seen->number == (glong)registers->regs[8] && seen->code == code &&
	       seen->stack == registers->sp;
}

/* Nobody calls restart_syscall himself. */
gboolean remote_registers_is_waiting(const RemoteRegisters *registers, const SeenCall *seen,
				     gboolean is_before_call)
{
	return is_before_call && (registers->regs[8] == SYS_restart_syscall ||
				  is_seen(registers, seen, registers->pc + INSTRUCTION_BYTES));
}

gboolean remote_registers_begin_again(RemoteRegisters *registers, const SeenCall *seen)
{
	if (!is_seen(registers, seen, registers->pc))
		return FALSE;
	for (guint i = 1; i < 6; i++)
		if (registers->regs[i] != seen->arguments[i])
			return FALSE;
	registers->regs[0] = seen->arguments[0];
	registers->pc -= INSTRUCTION_BYTES;
	return TRUE;
}

guint64 remote_registers_find_instruction(const Target *target)
{
	return find_in_libc(target, call_instruction, sizeof(call_instruction), INSTRUCTION_BYTES);
}

/* The head of the record of vector registers, which each signal's frame has: struct fpsimd_context of <asm/sigcontext.h>, its magic and
 * its size. The address that handlers return to is in the kernel's page, and in a register at first. */
guint64 remote_registers_handler_word(const Target *target)
{
	(void)target;
	return 0x46508001u | UINT64_C(528) << 32;
}

/* struct user_sve_header of <asm/ptrace.h>. */
struct vectors_head {
	guint32 size, max_size;
	guint16 length, max_length, flags, reserved;
};

#define HAS_LONG_VECTORS 1u /* of its flags, SVE_PT_REGS_SVE */

#ifndef NT_ARM_SSVE
#define NT_ARM_SSVE 0x40b
#endif

/* A system call keeps 128 bits of each vector, and ends the streaming mode. Of the two kinds one is in use at most. */
void remote_vectors_save(pid_t tid, RemoteVectors *vectors)
{
	static const guint32 kinds[] = { NT_ARM_SVE, NT_ARM_SSVE };

	vectors->kind = 0;
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		struct iovec whole = { vectors->bytes, sizeof(vectors->bytes) };
		struct vectors_head head;

		if (ptrace(PTRACE_GETREGSET, tid, kinds[i], &whole) < 0 ||
		    whole.iov_len < sizeof(head))
			continue;
		memcpy(&head, vectors->bytes, sizeof(head));
		if (!(head.flags & HAS_LONG_VECTORS) || head.size > whole.iov_len)
			continue;
		vectors->kind = kinds[i];
		vectors->n_bytes = head.size;
		return;
	}
	errno = 0;
}

void remote_vectors_restore(pid_t tid, const RemoteVectors *vectors)
{
	struct iovec whole = { (void *)vectors->bytes, vectors->n_bytes };

	if (vectors->kind)
		ptrace(PTRACE_SETREGSET, tid, vectors->kind, &whole);
}
#else /* what no other processor comes to: target_open() refuses (check_program) */
guint64 remote_registers_code(const RemoteRegisters *registers)
{
	(void)registers;
	return 0;
}

guint64 remote_registers_stack(const RemoteRegisters *registers)
{
	(void)registers;
	return 0;
}

guint64 remote_registers_thread_pointer(pid_t tid, const RemoteRegisters *registers)
{
	(void)tid, (void)registers;
	return 0;
}

void remote_registers_prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
				   const guint64 arguments[6], guint64 kept)
{
	(void)registers, (void)at, (void)number, (void)arguments, (void)kept;
}

gint64 remote_registers_result(const RemoteRegisters *registers)
{
	(void)registers;
	return -ENOSYS;
}

gboolean remote_registers_is_past(const RemoteRegisters *registers, guint64 at)
{
	(void)registers, (void)at;
	return FALSE;
}

glong remote_registers_call(const RemoteRegisters *registers)
{
	(void)registers;
	return -1;
}

gboolean remote_registers_is_waiting(const RemoteRegisters *registers, const SeenCall *seen,
				     gboolean is_before_call)
{
	(void)registers, (void)seen, (void)is_before_call;
	return FALSE;
}

gboolean remote_registers_begin_again(RemoteRegisters *registers, const SeenCall *seen)
{
	(void)registers, (void)seen;
	return FALSE;
}

guint64 remote_registers_find_instruction(const Target *target)
{
	(void)target;
	return 0;
}

guint64 remote_registers_handler_word(const Target *target)
{
	(void)target;
	return 0;
}
#endif

#ifndef __aarch64__
/* Registers show the call (1), and what a system call keeps of vectors is all that there is. */

gboolean remote_registers_hide_call(const RemoteRegisters *registers, const Target *target)
{
	(void)registers, (void)target;
	return FALSE;
}

void remote_registers_take_call(RemoteRegisters *registers, const RemoteRegisters *at_entry)
{
	(void)registers, (void)at_entry;
}

void remote_vectors_save(pid_t tid, RemoteVectors *vectors)
{
	(void)tid;
	vectors->kind = 0;
}

void remote_vectors_restore(pid_t tid, const RemoteVectors *vectors)
{
	(void)tid, (void)vectors;
}
#endif
