/* verify: a plan found, carried out and measured against the job as it is. */
#ifndef TACHO_VERIFY_H
#define TACHO_VERIFY_H

#include <glib.h>
#include <tacho/optimize.h>

typedef struct {
	gchar **command;
	guint n_ranks;	  /* as of Launch */
	gchar *run_path;  /* where to record; NULL: named after the command */
	gchar *plan_path; /* where the plan goes if it is better; NULL: nowhere */
	guint max_pairs;
	guint run_limit_s; /* of a run of the job; 0: what follows from the recording's time */
	gchar *cost_path;  /* where the difference is kept; NULL: nowhere */
	const gchar *casts_path, *statistics_path; /* of PrecisionProposal */
	gboolean is_forced, with_json;
	TachoOptimizeOptions how;
} Verify;

/* Record the command (where precisions are allowed, in fp32 and bf16, too), look for a plan, and run the job in pairs, with the plan and without. An exit status: CLI_DONE, the plan is
 * better; CLI_NO, it is not, or there is none; CLI_BAD. */
int verify_run(const Verify *verify);

#endif
