/* process_end: how did a recorded process end, by all that is known of it. */
#ifndef TACHO_PROCESS_END_H
#define TACHO_PROCESS_END_H

#include <tacho/timeline.h>

struct process_evidence {
	const gchar *launcher_status; /* "exit=N" or "signal=N" of run.ini; NULL: none */
	gboolean has_exit_record;
	gint64 exit_status;   /* of that record */
	gboolean was_stopped; /* its recording: by tacho stop */
	gboolean is_replaced; /* a later trace has the same pid: it has called exec() */
	guint32 pid;
	const gchar *host, *boot_id;
	guint64 start_mono_ns; /* when the trace was begun */
};

/* What the launcher saw comes first, for it saw the very end; then the process's own word; then
 * whether it is alive here and now. */
TachoEnd process_end_judge(const struct process_evidence *evidence, gint32 *ret_status);

/* What a launcher's word alone, "exit=N" or "signal=N" or NULL, tells of an end. */
TachoEnd process_end_of_status(const gchar *launcher_status, gint32 *ret_status);

#endif
