/* operation: what a collective does. */
#ifndef TACHO_OPERATION_H
#define TACHO_OPERATION_H

#include <tacho/timeline.h>

/* OPERATION(enumerator, name) */
#define COLLECTIVE_OPERATIONS(OPERATION)                                                           \
	OPERATION(ALL_REDUCE, all_reduce)                                                          \
	OPERATION(ALL_GATHER, all_gather)                                                          \
	OPERATION(REDUCE_SCATTER, reduce_scatter)                                                  \
	OPERATION(ALL_TO_ALL, all_to_all)                                                          \
	OPERATION(BROADCAST, broadcast)                                                            \
	OPERATION(REDUCE, reduce)                                                                  \
	OPERATION(GATHER, gather)                                                                  \
	OPERATION(SCATTER, scatter)                                                                \
	OPERATION(BARRIER, barrier)                                                                \
	OPERATION(PUSH_PULL, push_pull) /* an all-reduce by servers: BytePS's name for it */

enum collective_operation {
	OPERATION_UNTOLD, /* none of these, or not known */
#define COLLECTIVE_OPERATION_ENUM(enumerator, name) OPERATION_##enumerator,
	COLLECTIVE_OPERATIONS(COLLECTIVE_OPERATION_ENUM)
#undef COLLECTIVE_OPERATION_ENUM
		N_OPERATIONS
};

/* The operation that a word stands for, however it is written: "nccl:_all_gather_base", "ncclDevKernel_AllReduce_Sum",
 * "all_to_allv". UNTOLD: it is none of all ranks. */
enum collective_operation operation_of_word(const gchar *word, gsize n);
/* The same of a name (string id). */
enum collective_operation operation_of_name(const TachoTimeline *timeline, guint32 name);

/* Which way the bytes of a call, region or kernel of that name go from rank to rank, as "send", "recv" or "receive" in it
 * tells, or both. BY_NAME: it is neither. */
TachoWay way_of_name(const TachoTimeline *timeline, guint32 name);

/* What its importer knows beyond the name of a COLLECTIVE slice. */
enum collective_operation slice_operation(const TachoTimeline *timeline, guint32 slice);

/* What a COLLECTIVE slice does, as its importer or else its name tells. */
enum collective_operation collective_operation_of(const TachoTimeline *timeline, guint32 slice);

/* Whether no member ends before all have begun, as its result needs every member's input. */
gboolean operation_waits_for_all(enum collective_operation operation);
/* Whether all members have as many bytes: a scatter's root, for example, has all the input. */
gboolean operation_has_equal_bytes(enum collective_operation operation);
/* Whether every member gets the sum of all. */
static inline gboolean operation_is_all_reduce(enum collective_operation operation)
{
	return operation == OPERATION_ALL_REDUCE || operation == OPERATION_PUSH_PULL;
}

/* What a COLLECTIVE slice is called among its like: the operation, where that is known beyond its name
 * ("all_to_all" of "ncclDevKernel_SendRecv"), else its name. */
const gchar *collective_name(const TachoTimeline *timeline, guint32 slice);
/* The same as a string id, which is made where it is not there. */
guint32 collective_name_id(TachoTimeline *timeline, guint32 slice);

#endif
