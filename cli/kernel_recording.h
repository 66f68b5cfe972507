/* kernel_recording: has lib/tacho/tacho-kernel (probes/kernel) record what the kernel does with the threads of a job. */
#ifndef TACHO_KERNEL_RECORDING_H
#define TACHO_KERNEL_RECORDING_H

#include <glib.h>

typedef struct _KernelRecording KernelRecording;

/* How much of it can be recorded. */
typedef enum {
	KERNEL_RECORDS_EVENTS,
	KERNEL_RECORDS_SUMS, /* of threads, as /proc tells them */
	KERNEL_RECORDS_NOTHING,
} KernelAmount;

/* What a start of the program would record here. `ret_why`: why no more, or what is missing, NULL: nothing; the caller's. */
KernelAmount kernel_recording_check(gchar **ret_why);

/* Begin to record, into the run at `run`, what this process starts from now on, or the processes `pids` (of pid_t; NULL: none) with what
 * they start. Says as `command` what is not recorded, unless `is_quiet`. NULL: nothing is. */
KernelRecording *kernel_recording_start(const gchar *command, const gchar *run, const GArray *pids,
					gboolean is_quiet);
/* The process that records, which is none of the job's; 0 for NULL. */
gint64 kernel_recording_pid(const KernelRecording *recording);
/* The trace is whole then. Takes NULL. */
void kernel_recording_stop(KernelRecording *recording);

#endif
