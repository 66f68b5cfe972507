/* target: another process, as seen from outside: whether it can be attached to, what is loaded in it and where.
 *
 * (1) All is read from the process's memory and from /proc/PID: no file of the process is opened by its name, which may be
 *     another file in its mount namespace.
 * (2) Nothing is believed: sizes and counts are bounded. */
#ifndef TACHO_TARGET_H
#define TACHO_TARGET_H

#include <glib.h>
#include <sys/types.h>

#include "trace/attach_layout.h"

#define TARGET_ERROR (g_quark_from_static_string("tacho-target"))

typedef struct {
	pid_t pid;
	int memory;		     /* /proc/PID/mem */
	guint64 loader, libc, agent; /* where these are; agent 0: not there */
	guint64 state;		     /* the agent's struct attach_state; 0: it has none */
	gboolean is_elsewhere;	     /* in another mount namespace, or root */
	guint64 age_ticks; /* when it began, to tell it from a later one of the same pid */
} Target;

/* NULL with the reason, "is statically linked", where it cannot be attached to. */
Target *target_open(pid_t pid, GError **error);
/* Takes NULL. */
void target_close(Target *target);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Target, target_close)

gboolean target_read(const Target *target, guint64 address, gpointer to, gsize n_bytes);
gboolean target_write(const Target *target, guint64 address, gconstpointer from, gsize n_bytes);

/* The address of a symbol that the object at `base` defines; 0: it does not. */
guint64 target_symbol(const Target *target, guint64 base, const gchar *name);

/* Look again where libtacho.so is. */
void target_find_agent(Target *target);
/* What its agent says of itself; FALSE: there is none, or the process is gone. */
gboolean target_state(const Target *target, struct attach_state *ret_state);

/* A mapping of code without a file that begins with the 8 bytes `magic`; 0: none. */
guint64 target_find_room(const Target *target, guint64 magic);

/* How many threads it has. */
guint target_count_threads(const Target *target);

/* Whose the code at the address is. */
typedef enum { TARGET_CODE_OTHER, TARGET_CODE_LIBC, TARGET_CODE_LOADER } TargetCode;

TargetCode target_code_at(const Target *target, guint64 address);
/* Where the mapping that `address` is in ends; 0: it is in none. */
guint64 target_mapping_end(const Target *target, guint64 address);

/* Whether there is code at the address. */
gboolean target_is_code(const Target *target, guint64 address);

/* Whether `pid` is what the process itself takes for its id, in its namespace. */
gboolean target_has_inner_pid(const Target *target, pid_t pid);

gboolean target_is_alive(const Target *target);

/* A variable of the environment that it was started with; the caller's. NULL: not set. */
gchar *target_variable(pid_t pid, const gchar *name);
/* As it was started; NULL-terminated, the caller's. NULL: not to be read. */
gchar **target_command(pid_t pid);

/* The rank that its launcher gave it, -1: none. */
gint target_rank(pid_t pid);

/* The process itself and all ranks of its job on this host that are this user's; or, where it has no rank, those below it. pid_t,
 * in the order of ranks. */
GArray *target_job(pid_t pid);
/* The processes below it: pid_t. */
GArray *target_below(pid_t pid);

#endif
