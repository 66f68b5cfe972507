/* operation: what a collective does, where the name of its slice does not tell. */
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
	OPERATION(BARRIER, barrier)

enum collective_operation {
	OPERATION_UNTOLD, /* the slice's name is all that is known */
#define COLLECTIVE_OPERATION_ENUM(enumerator, name) OPERATION_##enumerator,
	COLLECTIVE_OPERATIONS(COLLECTIVE_OPERATION_ENUM)
#undef COLLECTIVE_OPERATION_ENUM
		N_OPERATIONS
};

/* What its importer knows beyond the name of a COLLECTIVE slice. */
enum collective_operation slice_operation(const TachoTimeline *timeline, guint32 slice);

/* What a COLLECTIVE slice is called among its like: the operation, where that is known beyond its name
 * ("all_to_all" of "ncclDevKernel_SendRecv"), else its name. */
const gchar *collective_name(const TachoTimeline *timeline, guint32 slice);
/* The same as a string id, which is made where it is not there. */
guint32 collective_name_id(TachoTimeline *timeline, guint32 slice);

#endif
