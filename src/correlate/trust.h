/* trust: how far a timeline can be believed, as one number. */
#ifndef TACHO_TRUST_H
#define TACHO_TRUST_H

#include <glib.h>

/* TRUST_KIND(kind of problem, what its count is a share of, points it can cost at most, what cannot be known
 * because of it). A kind that is a share of ONE counts by itself. "" is of a kind that makes what is there
 * wrong or doubtful; the others tell that something is missing, and what is there is right. The last is for
 * kinds that are not in the list. */
#define TRUST_KINDS(TRUST_KIND)                                                                    \
	TRUST_KIND(lost_records, EVENTS, 90, "")                                                   \
	TRUST_KIND(unknown_record, EVENTS, 60, "")                                                 \
	TRUST_KIND(corrupt_record, ONE, 60, "")                                                    \
	TRUST_KIND(bad_packet, ONE, 60, "")                                                        \
	TRUST_KIND(truncated_file, ONE, 40, "")                                                    \
	TRUST_KIND(missing_file, ONE, 40, "")                                                      \
	TRUST_KIND(unreadable_file, ONE, 40, "what is in unreadable files")                        \
	TRUST_KIND(unreadable_trace, ONE, 60, "")                                                  \
	TRUST_KIND(corrupt_metadata, ONE, 40, "")                                                  \
	TRUST_KIND(missing_rank, RANKS, 30,                                                        \
		   "who is late, and how much of communication is waiting")                        \
	TRUST_KIND(empty_run, ONE, 20, "what happened in runs and files without a record")         \
	TRUST_KIND(unfinished_run, ONE, 10, "what came after the records end")                     \
	TRUST_KIND(other_job, ONE, 40, "")                                                         \
	TRUST_KIND(left_out, ONE, 5, "what is in files that were left out")                        \
	TRUST_KIND(unknown_host, ONE, 5, "which ranks were on one host")                           \
	TRUST_KIND(changed_export, ONE, 40, "")                                                    \
	TRUST_KIND(duplicate_rank, ONE, 20, "")                                                    \
	TRUST_KIND(unknown_rank, ONE, 10, "")                                                      \
	TRUST_KIND(bad_text, ONE, 5, "")                                                           \
	TRUST_KIND(unrecorded_process, ONE, 60, "what processes did that could not be recorded")   \
	TRUST_KIND(killed_process, ONE, 10, "what came after the records end")                     \
	TRUST_KIND(impossible_time, SLICES, 60, "")                                                \
	TRUST_KIND(no_times, ONE, 100, "")                                                         \
	TRUST_KIND(computed_times, ONE, 60, "")                                                    \
	TRUST_KIND(circular_dependency, SLICES, 40, "")                                            \
	TRUST_KIND(overlap, SLICES, 40, "")                                                        \
	TRUST_KIND(rounded_end, SLICES, 5, "")                                                     \
	TRUST_KIND(cut_step, SLICES, 60, "")                                                       \
	TRUST_KIND(clock_doubt, ONE, 40, "")                                                       \
	TRUST_KIND(stream_overlap, KERNELS, 40, "")                                                \
	TRUST_KIND(orphan_kernel, KERNELS, 20, "")                                                 \
	TRUST_KIND(early_kernel, KERNELS, 40, "")                                                  \
	TRUST_KIND(missing_kernel, KERNELS, 60, "")                                                \
	TRUST_KIND(missing_call, KERNELS, 60, "")                                                  \
	TRUST_KIND(duplicate_id, KERNELS, 60, "")                                                  \
	TRUST_KIND(uncaptured_graph, KERNELS, 9, "which operations these kernels worked for")      \
	TRUST_KIND(unmatched_collective, COLLECTIVES, 60, "")                                      \
	TRUST_KIND(unpaired_message, MESSAGES, 20, "")                                             \
	TRUST_KIND(unmatched_end, EVENTS, 30, "")                                                  \
	TRUST_KIND(unmatched_begin, EVENTS, 30, "")                                                \
	TRUST_KIND(nothing_recorded, SLICES, 100, "")                                              \
	TRUST_KIND(other, ONE, 30, "")

enum trust_kind {
#define TRUST_KIND_ENUM(kind, share_of, most, unknown) TRUST_##kind,
	TRUST_KINDS(TRUST_KIND_ENUM)
#undef TRUST_KIND_ENUM
		TRUST_N_KINDS
};

/* "lost_records" ... "other", and what a kind can cost. */
const gchar *trust_kind_name(enum trust_kind kind);
guint trust_kind_points(enum trust_kind kind);
/* What cannot be known because of a problem of that kind; "": it does not tell of something missing. */
const gchar *trust_unknown(const gchar *kind);

#endif
