/* xla_lines: what the planes, lines and events of XLA's profiles are, by their names: in XSpaces and in the JSON that is
 * made of them.
 *
 * Lines of "/host:" planes are threads; "Stream" lines of "/device:" planes are streams. A device without streams (a
 * TPU) works on its lines "XLA Ops" and "Async XLA Ops"; the same lines of one with streams (a GPU) tell its kernels
 * again, so that they, like all other lines of a device, are regions, not work. */
#ifndef TACHO_XLA_LINES_H
#define TACHO_XLA_LINES_H

#include <tacho/timeline.h>

enum xla_plane {
	XLA_PLANE_HOST,
	XLA_PLANE_STREAMS, /* a device with streams */
	XLA_PLANE_CORE,	   /* a device that works on "XLA Ops" */
	XLA_PLANE_OTHER,
};

enum xla_line {
	XLA_LINE_THREAD,
	XLA_LINE_STREAM, /* of a GPU */
	XLA_LINE_OPS,	 /* of a TPU */
	XLA_LINE_ASYNC_OPS,
	XLA_LINE_MODULES,
	XLA_LINE_STEPS,
	XLA_LINE_REGIONS,
	XLA_LINE_OTHER, /* of no device and no host */
};

/* `has_streams`: one of its lines is a stream. */
enum xla_plane xla_plane_of(const gchar *plane, gboolean has_streams);
gboolean xla_is_stream(const gchar *line);
enum xla_line xla_line_of(enum xla_plane plane, const gchar *line);
/* "/device:TPU:3 SparseCore 1" is of device 3. */
gint32 xla_device_of(const gchar *plane);

/* What is told of an event: which stats it has. */
struct xla_event {
	const gchar *name;
	const gchar *category; /* hlo_category, "" if none */
	gboolean has_duration;
	gboolean has_kernel, has_memcpy, has_memset; /* kernel_details ... */
	gboolean has_correlation, has_step;
	gboolean is_host_op; /* an HLO operation that the host runs, in a trace without devices */
};

TachoSliceKind xla_kind_of(enum xla_line line, const struct xla_event *event);

#endif
