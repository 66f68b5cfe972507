/* nccl_run: what several tools tell of NCCL's collectives, gathered over all their files and put into the timeline.
 *
 * NCCL's tools know communicators: each has an id and numbers its members, and a process may be in several. Which
 * process has which rank of the job is told by none of them:
 *
 * (1) A process is one member of a communicator. Where a communicator has several members in one operating
 *     system's process, each is a process here.
 * (2) Its rank is the one it has in the largest communicator that it is in.
 * (3) A communicator all of whose members are seen is a process group with these ranks; of others the members are
 *     not known.
 *
 * Slices name their tracks by a text; a track is made where its first slice is. They may overlap. */
#ifndef TACHO_NCCL_RUN_H
#define TACHO_NCCL_RUN_H

#include "import/import_format.h"

struct nccl_run;

/* Who tells something: a member of a communicator, in a process. */
struct nccl_who {
	const gchar *host; /* "" not known */
	gint64 pid;	   /* of the operating system */
	guint64 communicator;
	gint64 rank, n_ranks; /* in the communicator; n_ranks 0: not told */
};

struct nccl_slice {
	guint32 member; /* of nccl_run_member() */
	TachoSliceKind kind;
	const gchar *track; /* static */
	guint32 name;	    /* string id */
	gint64 start_ns, duration_ns;
	guint64 offset; /* of its record in the file */
	guint64 bytes;	/* of a collective: one rank's input */
	guint32 peer; /* of a send or receive: the other's rank in the communicator, and 1 more; 0: not told */
};

struct nccl_run *nccl_run_new(struct import *import);
void nccl_run_free(struct nccl_run *run);
/* What follows is of the file at `path`. */
void nccl_run_begin_file(struct nccl_run *run, const gchar *path);
/* The member: `who` as it was told, equal ones are one. */
guint32 nccl_run_member(struct nccl_run *run, const struct nccl_who *who);
void nccl_run_add(struct nccl_run *run, const struct nccl_slice *slice);
/* A moment of a member, with a text. */
void nccl_run_add_mark(struct nccl_run *run, guint32 member, gint64 time_ns, guint32 name,
		       guint32 text);
/* Put all into the timeline. */
void nccl_run_finish(struct nccl_run *run);

/* Bytes that one rank gives to a collective of `count` elements, as NCCL counts them: of a reduce-scatter it counts
 * what a rank gets. */
guint64 nccl_input_bytes(const gchar *collective, guint64 count_bytes, gint64 n_ranks);
/* A peer as a tool tells it, a rank of the communicator, as nccl_slice has it. */
static inline guint32 nccl_peer(gint64 rank)
{
	return rank >= 0 && rank < G_MAXINT32 ? (guint32)rank + 1 : 0;
}
/* The name of a collective ("AllReduce") as a string of the timeline ("allreduce"). */
guint32 nccl_collective_name(TachoTimeline *timeline, const gchar *name, gsize n);

#endif
