/* problem: reasons to trust a timeline less, and how much less. */
#ifndef TACHO_PROBLEM_H
#define TACHO_PROBLEM_H

#include <glib.h>

G_BEGIN_DECLS

/* PROBLEM(enumerator, name, what its count is a share of, points it can cost at most, what cannot be known because
 * of it). A kind that is a share of ONE counts by itself. "" is of a kind that makes what is there wrong or doubtful;
 * the others tell that something is missing, and what is there is right. The last is for kinds of exports that a
 * later version wrote. docs/trust.md tells users what each is. */
#define TACHO_PROBLEMS(PROBLEM)                                                                    \
	PROBLEM(LOST_RECORDS, lost_records, EVENTS, 90, "")                                        \
	PROBLEM(UNKNOWN_RECORD, unknown_record, EVENTS, 60, "")                                    \
	PROBLEM(CORRUPT_RECORD, corrupt_record, ONE, 60, "")                                       \
	PROBLEM(BAD_PACKET, bad_packet, ONE, 60, "")                                               \
	PROBLEM(TRUNCATED_FILE, truncated_file, ONE, 40, "")                                       \
	PROBLEM(MISSING_FILE, missing_file, ONE, 40, "")                                           \
	PROBLEM(UNREADABLE_FILE, unreadable_file, ONE, 40, "what is in unreadable files")          \
	PROBLEM(UNREADABLE_TRACE, unreadable_trace, ONE, 60, "")                                   \
	PROBLEM(CORRUPT_METADATA, corrupt_metadata, ONE, 40, "")                                   \
	PROBLEM(MISSING_RANK, missing_rank, RANKS, 30,                                             \
		"who is late, and how much of communication is waiting")                           \
	PROBLEM(PARTIAL_RANK, partial_rank, ONE, 4,                                                \
		"what these ranks did between their collectives")                                  \
	PROBLEM(EMPTY_RUN, empty_run, ONE, 20, "what happened in runs and files without a record") \
	PROBLEM(UNFINISHED_RUN, unfinished_run, ONE, 10, "what came after the records end")        \
	PROBLEM(OTHER_JOB, other_job, ONE, 40, "")                                                 \
	PROBLEM(LEFT_OUT, left_out, ONE, 5, "what is in files that were left out")                 \
	PROBLEM(UNKNOWN_HOST, unknown_host, ONE, 5, "which ranks were on one host")                \
	PROBLEM(CHANGED_EXPORT, changed_export, ONE, 40, "")                                       \
	PROBLEM(DUPLICATE_RANK, duplicate_rank, ONE, 20, "")                                       \
	PROBLEM(UNKNOWN_RANK, unknown_rank, ONE, 10, "")                                           \
	PROBLEM(BAD_TEXT, bad_text, ONE, 5, "")                                                    \
	PROBLEM(UNRECORDED_PROCESS, unrecorded_process, ONE, 60,                                   \
		"what processes did that could not be recorded")                                   \
	PROBLEM(KILLED_PROCESS, killed_process, ONE, 10, "what came after the records end")        \
	PROBLEM(IMPOSSIBLE_TIME, impossible_time, SLICES, 60, "")                                  \
	PROBLEM(NO_TIMES, no_times, ONE, 100, "")                                                  \
	PROBLEM(COMPUTED_TIMES, computed_times, ONE, 60, "")                                       \
	PROBLEM(CIRCULAR_DEPENDENCY, circular_dependency, SLICES, 40, "")                          \
	PROBLEM(OVERLAP, overlap, SLICES, 40, "")                                                  \
	PROBLEM(ROUNDED_END, rounded_end, SLICES, 5, "")                                           \
	PROBLEM(CUT_STEP, cut_step, SLICES, 60, "")                                                \
	PROBLEM(CLOCK_DOUBT, clock_doubt, ONE, 40, "")                                             \
	PROBLEM(STREAM_OVERLAP, stream_overlap, KERNELS, 40, "")                                   \
	PROBLEM(ORPHAN_KERNEL, orphan_kernel, KERNELS, 20, "")                                     \
	PROBLEM(EARLY_KERNEL, early_kernel, KERNELS, 40, "")                                       \
	PROBLEM(GUESSED_LAUNCH, guessed_launch, KERNELS, 20, "")                                   \
	PROBLEM(UNMATCHED_COUNTER, unmatched_counter, KERNELS, 10, "")                             \
	PROBLEM(MISSING_KERNEL, missing_kernel, KERNELS, 60, "")                                   \
	PROBLEM(MISSING_CALL, missing_call, KERNELS, 60, "")                                       \
	PROBLEM(DUPLICATE_ID, duplicate_id, KERNELS, 60, "")                                       \
	PROBLEM(UNCAPTURED_GRAPH, uncaptured_graph, KERNELS, 9,                                    \
		"which operations these kernels worked for")                                       \
	PROBLEM(UNMATCHED_COLLECTIVE, unmatched_collective, COLLECTIVES, 60, "")                   \
	PROBLEM(UNPAIRED_MESSAGE, unpaired_message, MESSAGES, 20, "")                              \
	PROBLEM(UNMATCHED_MESSAGE, unmatched_message, ONE, 30, "")                                 \
	PROBLEM(UNMATCHED_END, unmatched_end, EVENTS, 30, "")                                      \
	PROBLEM(UNMATCHED_BEGIN, unmatched_begin, EVENTS, 30, "")                                  \
	PROBLEM(TOOL_ERROR, tool_error, ONE, 30, "")                                               \
	PROBLEM(NOTHING_RECORDED, nothing_recorded, SLICES, 100, "")                               \
	PROBLEM(OTHER, other, ONE, 30, "")

typedef enum {
#define TACHO_PROBLEM_ENUM(enumerator, name, share_of, most, unknown) TACHO_PROBLEM_##enumerator,
	TACHO_PROBLEMS(TACHO_PROBLEM_ENUM)
#undef TACHO_PROBLEM_ENUM
		TACHO_N_PROBLEMS
} TachoProblemKind;

typedef struct {
	TachoProblemKind kind;
	guint64 count;
	gchar *where; /* file, rank ... with byte offset where there is one */
} TachoProblem;

/* "lost_records" ... "other". */
const gchar *tacho_problem_name(TachoProblemKind kind);
/* TACHO_PROBLEM_OTHER: there is none of that name. */
TachoProblemKind tacho_problem_of_name(const gchar *name);

G_END_DECLS

#endif
