/* remote_registers: what the registers of a stopped thread say, and what they must be for a system call. One part a processor.
 *
 * (1) x86-64 shows the system call in which a thread was stopped, and what it would return (orig_rax, rax).
 * (2) AArch64 does not: where the call is to be begun again, the registers are already those of its begin, and where not, its first
 *     argument is gone. So what /proc said of the thread just before (SeenCall) is asked, too. */
#ifndef TACHO_REMOTE_REGISTERS_H
#define TACHO_REMOTE_REGISTERS_H

#include <glib.h>
#include <sys/types.h>
#include <sys/user.h>

#include "target.h"

#if defined(__aarch64__)
typedef struct { /* struct user_pt_regs of <asm/ptrace.h>, which does not go with <sys/ptrace.h> */
	guint64 regs[31], sp, pc, pstate;
} RemoteRegisters;
#else
typedef struct user_regs_struct RemoteRegisters;
#endif

/* A system call in which a thread waited, of /proc/PID/task/TID/syscall. */
typedef struct {
	glong number; /* -1: it waited in none */
	guint64 arguments[6], stack, code;
} SeenCall;

/* Those parts of the registers that a system call does not keep: the long vectors of AArch64. */
typedef struct {
	guint32 kind; /* of ptrace's register sets; 0: there are none in use */
	guint32 n_bytes;
	guint8 bytes[16384];
} RemoteVectors;

/* Of a thread that is stopped by ptrace. FALSE with errno. */
gboolean remote_registers_get(pid_t tid, RemoteRegisters *ret_registers);
gboolean remote_registers_set(pid_t tid, const RemoteRegisters *registers);
void remote_vectors_save(pid_t tid, RemoteVectors *vectors);
void remote_vectors_restore(pid_t tid, const RemoteVectors *vectors);

/* The addresses of the next instruction, of the stack's end, of what thread-local memory is found by (0: not known). */
guint64 remote_registers_code(const RemoteRegisters *registers);
guint64 remote_registers_stack(const RemoteRegisters *registers);
guint64 remote_registers_thread_pointer(pid_t tid, const RemoteRegisters *registers);

/* For a system call by the instruction at `at`; `kept` is in a register that the call keeps. */
void remote_registers_prepare_call(RemoteRegisters *registers, guint64 at, guint64 number,
				   const guint64 arguments[6], guint64 kept);
/* Whether that call is made, and what it returned. */
gboolean remote_registers_is_past(const RemoteRegisters *registers, guint64 at);
gint64 remote_registers_result(const RemoteRegisters *registers);

/* Whether the thread stands before a system call that the kernel may have changed to restart_syscall, which is seen only when it enters it (2). */
gboolean remote_registers_hide_call(const RemoteRegisters *registers, const Target *target);
/* Take the call from what the registers are at its entry. */
void remote_registers_take_call(RemoteRegisters *registers, const RemoteRegisters *at_entry);

/* Whether it waited in a system call, which the kernel begins again; `is_before_call` is the answer above. */
gboolean remote_registers_is_waiting(const RemoteRegisters *registers, const SeenCall *seen,
				     gboolean is_before_call);
/* The number of the call that it has just come back from, -1: none. */
glong remote_registers_call(const RemoteRegisters *registers);
/* Have it begin that call again, with the same arguments. FALSE: they are not known. */
gboolean remote_registers_begin_again(RemoteRegisters *registers, const SeenCall *seen);

/* A system call instruction in libc; 0: there is none. */
guint64 remote_registers_find_instruction(const Target *target);
/* A word that the stack has where a signal's handler runs or ran; 0: not known. */
guint64 remote_registers_handler_word(const Target *target);

#endif
