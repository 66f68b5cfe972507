/* trust: how far a timeline can be believed, as one number. */
#ifndef TACHO_TRUST_H
#define TACHO_TRUST_H

#include <glib.h>

/* TRUST_KIND(kind of problem, what its count is a share of, points it can cost at most). A kind
 * that is a share of ONE counts by itself. The last is for kinds that are not in the list. */
#define TRUST_KINDS(TRUST_KIND)                                                                    \
	TRUST_KIND(lost_records, EVENTS, 90)                                                       \
	TRUST_KIND(unknown_record, EVENTS, 60)                                                     \
	TRUST_KIND(corrupt_record, ONE, 60)                                                        \
	TRUST_KIND(bad_packet, ONE, 60)                                                            \
	TRUST_KIND(truncated_file, ONE, 40)                                                        \
	TRUST_KIND(missing_file, ONE, 40)                                                          \
	TRUST_KIND(unreadable_file, ONE, 40)                                                       \
	TRUST_KIND(unreadable_trace, ONE, 60)                                                      \
	TRUST_KIND(corrupt_metadata, ONE, 40)                                                      \
	TRUST_KIND(missing_rank, RANKS, 60)                                                        \
	TRUST_KIND(empty_run, ONE, 20)                                                             \
	TRUST_KIND(unfinished_run, ONE, 10)                                                        \
	TRUST_KIND(other_job, ONE, 40)                                                             \
	TRUST_KIND(left_out, ONE, 5)                                                               \
	TRUST_KIND(duplicate_rank, ONE, 20)                                                        \
	TRUST_KIND(unknown_rank, ONE, 10)                                                          \
	TRUST_KIND(bad_text, ONE, 5)                                                               \
	TRUST_KIND(killed_process, ONE, 10)                                                        \
	TRUST_KIND(impossible_time, SLICES, 60)                                                    \
	TRUST_KIND(no_times, ONE, 100)                                                             \
	TRUST_KIND(computed_times, ONE, 60)                                                        \
	TRUST_KIND(circular_dependency, SLICES, 40)                                                \
	TRUST_KIND(overlap, SLICES, 40)                                                            \
	TRUST_KIND(clock_doubt, ONE, 40)                                                           \
	TRUST_KIND(stream_overlap, KERNELS, 40)                                                    \
	TRUST_KIND(orphan_kernel, KERNELS, 20)                                                     \
	TRUST_KIND(early_kernel, KERNELS, 40)                                                      \
	TRUST_KIND(unmatched_collective, COLLECTIVES, 60)                                          \
	TRUST_KIND(unpaired_message, MESSAGES, 20)                                                 \
	TRUST_KIND(unmatched_end, EVENTS, 30)                                                      \
	TRUST_KIND(unmatched_begin, EVENTS, 30)                                                    \
	TRUST_KIND(other, ONE, 30)

enum trust_kind {
#define TRUST_KIND_ENUM(kind, share_of, most) TRUST_##kind,
	TRUST_KINDS(TRUST_KIND_ENUM)
#undef TRUST_KIND_ENUM
		TRUST_N_KINDS
};

/* "lost_records" ... "other", and what a kind can cost. */
const gchar *trust_kind_name(enum trust_kind kind);
guint trust_kind_points(enum trust_kind kind);

#endif
