/* rocm_events: what AMD's profilers record, whichever of their files it stands in (rocprof's and rocprofv3's
 * databases, JSON and CSV): calls, kernels, copies, ranges, allocations on the tracks of a track_book.
 *
 * (1) A kernel or copy is on the track of its stream; where the profiler did not know that (0), of its queue. Copies
 *     without a queue share a track a device.
 * (2) rocprof (v1) says no call's id with a kernel, but when it was put into the queue: the call that its thread
 *     was in then has launched it.
 * (3) Names are the profiler's own, but for what the compiler adds to those of kernels. Later stages know its copies
 *     ("MEMORY_COPY_HOST_TO_DEVICE", "CopyHostToDevice") as they know others. */
#ifndef TACHO_ROCM_EVENTS_H
#define TACHO_ROCM_EVENTS_H

#include "import/track_book.h"

enum rocm_kind {
	ROCM_CALL,  /* of HIP, HSA */
	ROCM_RANGE, /* roctx */
	ROCM_KERNEL,
	ROCM_COPY,
	ROCM_OTHER, /* anything else a thread did */
};

struct rocm_event {
	enum rocm_kind kind;
	guint32 process; /* of the book */
	gint64 tid;
	gint64 start_ns, end_ns;
	gint64 correlation;	      /* 0: none */
	gint64 device, queue, stream; /* of a kernel or copy; stream 0, queue -1: not known */
	gint64 dispatch_ns;	      /* (2); 0: not known */
	const gchar *name;
	guint64 source;
};

struct rocm_events;

struct rocm_events *rocm_events_new(struct track_book *book);
void rocm_events_add(struct rocm_events *events, const struct rocm_event *event);
/* Find (2); the book's finish() is the caller's. */
void rocm_events_finish(struct rocm_events *events);
void rocm_events_free(struct rocm_events *events);

/* What the profiler calls the domain or category of a call ("HIP_RUNTIME_API", "rocm_marker_api" ...). */
enum rocm_kind rocm_kind_of_domain(const gchar *domain);

#endif
