/* kineto_args: what is known of a Kineto file's events beyond their columns: a few figures in memory, all
 * the rest read from the file when asked for.
 *
 * A place (trace/source.h) is
 *
 *     47: 0 | 46..40: number of inputs, at most 127 | 39..0: offset of the event's args in the decoded file
 *     47: 1 | 46..0: index into `extras` */
#ifndef TACHO_KINETO_ARGS_H
#define TACHO_KINETO_ARGS_H

#include "trace/source.h"

#define KINETO_PLACE_EXTRA (G_GUINT64_CONSTANT(1) << 47)
#define KINETO_MAX_OFFSET  (G_GUINT64_CONSTANT(1) << 40)
#define KINETO_MAX_INPUTS  127u

/* What some events have: autograd's numbers, bytes, or whose event they wait for. */
struct kineto_extra {
	guint64 place; /* without KINETO_PLACE_EXTRA; 0: no args */
	union {
		gint64 sequence;     /* of an op */
		gint64 event_record; /* of a wait for an event: who recorded it, by correlation */
		gint64 peer; /* of a collective's kernel, or what has a way: as TachoCollectiveArgs has it */
	};
	union {
		guint64 forward_thread; /* of an op */
		guint64 n_elements; /* of what a collective, or the op that asks for one, is given */
		guint64 event_stream; /* of a wait for an event: on which it was recorded */
	};
	guint64 bytes;
	guint32 group;	      /* of a collective: number of its process group, 0: not known */
	guint8 element_bytes; /* of a collective that reduces: as its name says, 0: it does not */
	guint8 is_collective; /* or the op that asks for one: 1 */
	guint8 way; /* TachoWay, of a collective's kernel, or the op that asks for a send or receive */
	guint8 operation; /* enum collective_operation, or OPERATION_WANTED */
};

/* The operation of a collective's kernel whose name does not tell it: the call that asked for it is looked for. */
#define OPERATION_WANTED 255

static inline guint64 kineto_place(guint64 offset, guint32 n_inputs)
{
	return offset < KINETO_MAX_OFFSET ? (guint64)MIN(n_inputs, KINETO_MAX_INPUTS) << 40 | offset
					  : 0;
}

/* A reader for the file at `path`, whose extras are in the GArray `extras`, of which it takes a
 * reference. It opens the file when first asked for what is in it. */
struct foreign_reader *kineto_args_new(const gchar *path, GArray *extras);

#endif
