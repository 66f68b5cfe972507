/* launch_ranks: which rank a process is, by the variables that launchers set in its environment. */
#ifndef TACHO_LAUNCH_RANKS_H
#define TACHO_LAUNCH_RANKS_H

#include <tacho/timeline.h>

struct launch_ranks {
	gint32 rank, local_rank, world_size; /* -1: no variable says so */
	guint rank_order, local_order, world_order;
};

#define LAUNCH_RANKS_INIT                                                                          \
	{                                                                                          \
		-1, -1, -1, G_MAXUINT, G_MAXUINT, G_MAXUINT                                        \
	}

/* Look at one variable, "NAME=value"; in any order, since the launcher that is nearer to the job counts. */
void launch_ranks_note(struct launch_ranks *ranks, const gchar *variable);
/* The same of an object of JSON, {"NAME": "value", ...}. */
void launch_ranks_note_json(struct launch_ranks *ranks, const gchar *json);
/* Give the process what is known. */
void launch_ranks_apply(const struct launch_ranks *ranks, TachoProcess *process);

#endif
