/* trial: a command run to see whether it works: what it printed is kept, and it ends in time. */
#ifndef TACHO_TRIAL_H
#define TACHO_TRIAL_H

#include <glib.h>

#include <tacho/timeline.h>

typedef struct {
	gboolean is_done; /* it ended by itself, with exit status 0 */
	gchar *output;	  /* stdout and stderr, at most some MB; never NULL */
	gchar *said;
	gchar *why; /* why it is not done, for people; NULL: it is */
} Trial;

/* Run the command, found on the PATH, for at most `limit_s` seconds. Never NULL. */
Trial *trial_run(const gchar *const *command, guint limit_s);
void trial_free(Trial *trial);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trial, trial_free)

/* The same, recorded by this tacho into `run`; *ret_timeline is what can be read of it, correlated, or NULL. */
Trial *trial_record(const gchar *const *command, const gchar *run, guint limit_s,
		    TachoTimeline **ret_timeline);

/* The first line that `said` has of tacho's ("tacho: ..."), without that word; NULL: none. The caller's. */
gchar *trial_complaint(const Trial *trial);

#endif
