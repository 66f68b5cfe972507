/* ctf_work: what a process gave to its devices, and what they did: lists that are matched at the end. */
#ifndef TACHO_CTF_WORK_H
#define TACHO_CTF_WORK_H

#include <glib.h>

struct ctf_reader;

/* A launch, a kernel, or the counters of one. */
struct ctf_work {
	gint64 time_ns; /* when it begins */
	guint32 row;	/* slice */
	guint32 queue;	/* string id; 0: not told */
	guint32 what;	/* string id of what is to run; 0: not told */
	gboolean is_fill;
	gboolean is_object;	   /* `what` is a code object, not a name */
	struct ctf_reader *reader; /* of its event ... */
	guint64 offset;		   /* ... which is there */
};

static inline struct ctf_work *ctf_work_at(const GArray *list, guint i)
{
	return &g_array_index(list, struct ctf_work, i);
}

void ctf_work_sort(GArray *list);

#define CTF_NO_MATCH G_MAXUINT

/* Which of `first` each of `second` belongs to, one to one: of each its index, or CTF_NO_MATCH. Both are sorted, and
 * the caller frees the result.
 *
 * (1) Where both name what runs and the queue that it runs on, a queue runs it in the order in which it was given:
 *     where the names differ, something was lost, and the nearest place is sought from which on they agree again.
 * (2) Where only what runs is named, the n-th of a name belongs to the n-th of that name.
 * (3) Else the n-th to the n-th. Where there are not as many of each, that is done from one of `borders` to the
 *     next (gint64 times, sorted), so that a loss does no harm behind the border.
 *
 * With `is_causal`, one of `second` does not begin before its partner. *ret_is_guess: by (3), with a loss. */
guint *ctf_work_match(const GArray *first, const GArray *second, const GArray *borders,
		      gboolean is_causal, gboolean *ret_is_guess);

#endif
