/* timeline_text: a timeline written as text, for tests.
 *
 *     rank 0  thread 10 main
 *       op aten::mm 100..140 seq=3 in=float32[8,16]@0x1000 out=float32[8,8]@0x2000
 *         kernel sgemm 105..130 flops=2048 bytes=1536 dims=8x8x16
 *       collective gloo:all_reduce 130..190 bytes=4096 end_tid=12
 *     rank 1 host=b end=killed:9  thread 11 main
 *       op aten::mm 100..
 *
 * One line one thing, each belonging to the process, thread or stream opened last; indentation
 * means nothing. Words are split as a shell does it ("two words" is one word), `#` at the start of
 * a word begins a comment. Times are milliseconds with an optional fraction (`1.5`, exact) unless a
 * line `unit us` or `unit ns` came before. KEY=VALUE are optional and may stand in any order.
 *
 *     unit ms|us|ns
 *     origin UNIX_NS
 *     world N                         the timeline's expected ranks
 *     rank N [host=h0] [pid=1000+N] [ppid=1] [local=N] [world=-1] [job=] [command=train]
 *            [end=running|exited:STATUS|killed:SIGNAL|unknown] [dropped=0] [cost_ns=0]
 *                                     a rank and its main process
 *     process PID [the same keys]     another process of the same rank, one that does not train
 *     thread TID [NAME] [parent=0] [dropped=0]
 *     stream ID [NAME] [device=0]     a device queue; its slices stand on it as on a thread
 *     sampled TID [NAME]              what samples saw the thread TID run
 *         `rank`, `process`, `thread`, `stream` and `sampled` may follow each other on one line
 *     op|annotation|module|wait|kernel|collective|step|message|runtime|memcpy ... NAME BEGIN..END [KEY=VALUE ...]
 *         BEGIN.. alone: still open when its process ended
 *         op:         seq=N fwd=THREAD backward in=TENSOR out=TENSOR (in, out: as often as needed)
 *                     send|recv bytes=N group=N peer=RANK, in the place of these: it asks for that
 *         kernel:     flops=N bytes=N dtype=float32 dims=4x8x16 text=T; also of memcpy and memset
 *         collective: bytes=N group=N end_tid=N packing=N in=TENSOR peer=RANK; stands on the ASYNC track beside its
 *                     thread, which is made when needed and is called "collectives"; on a stream
 *                     it stands like a kernel
 *         message:    bytes=N receive fd=N local=ADDRESS peer=ADDRESS; sent where not received;
 *                     ADDRESS is 10.0.0.1:29500 or [fe80::1]:29500
 *         others:     id=N
 *         all:        repaired
 *                     launch=NAME: queued on its device by the last slice of that name above
 *                     waits_for=NAME: for an event that came with the last slice of that name above
 *     hop ring|tree|server COLLECTIVE [peer=-1] [step=0] [channel=0] [loop=0] [part=0] [fed_by=-1] [fed_step=0] [bytes=0]
 *            [receive] [event NAME BEGIN..END]
 *                                     of the last collective of that name above, `-`: of a server; without an
 *                                     event: what its rank's part ends with
 *     device NUMBER NAME              a device of the process
 *     alloc TIME address=N bytes=N [device=N] [driver]     without a device: the host's memory; driver: handed out by
 *     free TIME address=N bytes=N [device=N] [driver]      the device's, and not by an allocator
 *     mark NAME TIME [first=0] [second=0] [text=]
 *     sample COUNTER TIME VALUE       the counter's track is made when needed
 *     problem KIND COUNT WHERE
 *
 * TENSOR is DTYPE[DIM,DIM...]@STORAGE+OFFSET; shape, storage and offset may be left out. An
 * argument's number counts up from 0 over all `in` of an op, and again over all `out`. */
#ifndef TACHO_TIMELINE_TEXT_H
#define TACHO_TIMELINE_TEXT_H

#include <tacho/timeline.h>

/* The finished timeline; a mistake in the text ends the test and names the line. */
TachoTimeline *timeline_from_text(const gchar *text);

/* The same, correlated. */
TachoTimeline *correlated(const gchar *text);

/* The `nth` (from 0) slice of that name, in timeline order; a name that is not there ends the test.
 */
guint32 timeline_find(const TachoTimeline *timeline, const gchar *name, guint nth);

/* It is of this kind, and lasts from `start_ns` that long. */
void timeline_assert_slice(const TachoTimeline *timeline, const gchar *name, guint nth,
			   const gchar *kind, gint64 start_ns, gint64 duration_ns);

/* The first mark of that name; that there is none ends the test. */
const TachoMark *timeline_find_mark(const TachoTimeline *timeline, const gchar *name);

/* How much all problems of the kind count. */
guint64 timeline_count_problems(const TachoTimeline *timeline, TachoProblemKind kind);

#endif
