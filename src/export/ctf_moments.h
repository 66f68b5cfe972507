/* ctf_moments: all that happened in a process, in the order of time: what its tracks hold is begins and ends, marks,
 * counts, memory events, steps and arrows, as one list.
 *
 * (1) On one track, begins and ends nest as the slices do, whatever else happens at the same time.
 * (2) An arrow is of the process in which the later of its slices begins, at that time.
 * (3) Memory: 16 bytes a moment, of one process at a time. */
#ifndef TACHO_CTF_MOMENTS_H
#define TACHO_CTF_MOMENTS_H

#include "export/export_scope.h"

enum ctf_moment_kind {
	CTF_MOMENT_BEGIN, /* row: of slices ... */
	CTF_MOMENT_END,
	CTF_MOMENT_STEP_BEGIN,
	CTF_MOMENT_STEP_END,
	CTF_MOMENT_MARK,
	CTF_MOMENT_SAMPLE,
	CTF_MOMENT_MEMORY,
	CTF_MOMENT_FLOW,
};

struct ctf_moment {
	gint64 time_ns;
	guint32 row; /* of the table */
	guint32 kind;
};

typedef struct _CtfMoments CtfMoments;

/* What goes out of `scope`, which stays as it is for as long as the moments. */
CtfMoments *ctf_moments_new(const struct export_scope *scope);
void ctf_moments_free(CtfMoments *moments);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CtfMoments, ctf_moments_free)

/* Those of a process, in order; good until asked for the next. Emits nothing for what is out of scope. */
const struct ctf_moment *ctf_moments_of(CtfMoments *moments, guint32 process, guint *ret_n);

/* The earliest of all times in the run, or 0 where none is before its origin. */
gint64 ctf_moments_earliest(const TachoTimeline *timeline);

#endif
