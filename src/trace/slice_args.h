/* slice_args: what is known of a slice beyond name and time, as keys and values: for viewers and
 * queries. */
#ifndef TACHO_SLICE_ARGS_H
#define TACHO_SLICE_ARGS_H

#include <tacho/timeline.h>

/* SLICE_ARG(enumerator, key) */
#define SLICE_ARGS(SLICE_ARG)                                                                      \
	SLICE_ARG(OPEN, "open")		    /* had not ended when the recording did */             \
	SLICE_ARG(INCOMPLETE, "incomplete") /* a step of which an end was not seen */              \
	SLICE_ARG(REPAIRED, "repaired")	    /* its time was mended */                              \
	SLICE_ARG(CRITICAL, "critical")	    /* on the critical path that was asked for */          \
	SLICE_ARG(INPUTS, "inputs")	    /* "float32[64,3,7,7], int64[2]" */                    \
	SLICE_ARG(OUTPUTS, "outputs")                                                              \
	SLICE_ARG(SEQUENCE, "sequence") /* autograd's number */                                    \
	SLICE_ARG(BYTES, "bytes")                                                                  \
	SLICE_ARG(FLOPS, "flops")                                                                  \
	SLICE_ARG(DTYPE, "dtype")                                                                  \
	SLICE_ARG(DIMS, "dims")	    /* "64,128,32" */                                              \
	SLICE_ARG(DETAIL, "detail") /* the library's own description */                            \
	SLICE_ARG(ID, "id")                                                                        \
	SLICE_ARG(GROUP, "group")	/* number of the process group */                          \
	SLICE_ARG(NUMBER, "number")	/* of the collective in its group, of the step */          \
	SLICE_ARG(MEMBERS, "members")	/* ranks seen in the collective */                         \
	SLICE_ARG(EXPECTED, "expected") /* ranks it should have */                                 \
	SLICE_ARG(WAIT_NS, "wait_ns")	/* until the last member had begun, too */                 \
	SLICE_ARG(LOCAL, "local")	/* this end of a connection: "10.0.0.1:29500" */           \
	SLICE_ARG(PEER, "peer")		/* its other end */                                        \
	SLICE_ARG(FD, "fd")                                                                        \
	SLICE_ARG(DIRECTION, "direction")   /* "send", "receive" */                                \
	SLICE_ARG(PEER_RANK, "peer_rank")   /* who has the other end */                            \
	SLICE_ARG(COLLECTIVE, "collective") /* that a message carries out */                       \
	SLICE_ARG(RING_STEP, "ring_step")                                                          \
	SLICE_ARG(SIDE, "side") /* of a request: "client", "server" */                             \
	SLICE_ARG(SENT_BYTES, "sent_bytes")                                                        \
	SLICE_ARG(RECEIVED_BYTES, "received_bytes")                                                \
	SLICE_ARG(SENT_MESSAGES, "sent_messages")                                                  \
	SLICE_ARG(RECEIVED_MESSAGES, "received_messages")                                          \
	SLICE_ARG(SENT_NS, "sent_ns") /* from its begin until its first message was sent */        \
	SLICE_ARG(RECEIVED_NS, "received_ns")                                                      \
	SLICE_ARG(STATUS, "status") /* gRPC's code */                                              \
	SLICE_ARG(OTHERS, "others") /* requests under way when it began */                         \
	SLICE_ARG(FIRST, "first")   /* of a mark */                                                \
	SLICE_ARG(SECOND, "second")                                                                \
	SLICE_ARG(TEXT, "text")

enum slice_arg_key {
#define SLICE_ARG_ENUM(enumerator, key) SLICE_ARG_##enumerator,
	SLICE_ARGS(SLICE_ARG_ENUM)
#undef SLICE_ARG_ENUM
		N_SLICE_ARGS
};

enum slice_arg_type {
	SLICE_ARG_TYPE_TRUE,
	SLICE_ARG_TYPE_INTEGER,
	SLICE_ARG_TYPE_UNSIGNED,
	SLICE_ARG_TYPE_STRING,
};

struct slice_arg {
	enum slice_arg_key key;
	enum slice_arg_type type;
	gint64 integer;	     /* of INTEGER */
	guint64 number;	     /* of UNSIGNED */
	const gchar *string; /* good until the next collection */
};

/* Storage for the args of one slice at a time. */
struct slice_args {
	guint n;
	struct slice_arg args[N_SLICE_ARGS];
	GString *texts[N_SLICE_ARGS];
};

void slice_args_init(struct slice_args *args);
void slice_args_release(struct slice_args *args);
/* `membership` is the collective that the slice is a member of, or NULL. */
void slice_args_of_slice(struct slice_args *args, const TachoTimeline *timeline, guint32 slice,
			 const TachoCollective *membership);
void slice_args_of_mark(struct slice_args *args, const TachoTimeline *timeline,
			const TachoMark *mark);
void slice_args_of_step(struct slice_args *args, const TachoStep *step);

const gchar *slice_arg_key_name(enum slice_arg_key key);

#endif
