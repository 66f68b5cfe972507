/* tf_tracks: what the devices of TensorFlow's profiles did, put on tracks.
 *
 * (1) "/job:worker/replica:0/task:1" is a process; what has no such name belongs to the first that has. Ranks are
 *     numbered in the order of these names, where there are several.
 * (2) "cpu:N" and "gpu:N" are executors: threads of the process run operations there. Where no thread is told, or
 *     its operations overlap, they are put on as many lanes as are needed, each on the first that is free.
 * (3) "gpu:N/stream:M" is a stream. "stream:all" and "memcpy" tell the same again, all streams together: regions,
 *     unless there are no single streams.
 * (4) What a device does for a node was launched by the last run of the node before it. */
#ifndef TACHO_TF_TRACKS_H
#define TACHO_TF_TRACKS_H

#include "import/import_format.h"
#include "import/tensorflow/tf_ops.h"

struct tf_tracks;

struct tf_tracks *tf_tracks_new(struct import *import, struct tf_ops *ops);
void tf_tracks_free(struct tf_tracks *tracks);

/* The number of the device of that name. */
guint32 tf_tracks_device(struct tf_tracks *tracks, const gchar *name);
/* Whether it is one that works for executors, by (3). */
gboolean tf_tracks_is_accelerator(const struct tf_tracks *tracks, guint32 device);
/* What a thread of the device is called. */
void tf_tracks_name_thread(struct tf_tracks *tracks, guint32 device, guint32 thread, guint32 name);

/* A run on a device; `run` is a row of ops->runs, `name` the slice's. thread 0: not told. */
void tf_tracks_add(struct tf_tracks *tracks, guint32 device, guint32 thread, guint32 run,
		   guint32 name, gint64 start_ns, gint64 duration_ns);
/* How much memory an allocator had handed out. */
void tf_tracks_add_sample(struct tf_tracks *tracks, guint32 device, guint32 allocator,
			  gint64 time_ns, gint64 bytes);
/* Memory that a run was handed (bytes > 0), or that was given back later. */
void tf_tracks_add_memory(struct tf_tracks *tracks, guint32 run, gint64 time_ns, guint64 address,
			  gint64 bytes, guint32 memory_device);
/* A training step of all processes. */
void tf_tracks_add_step(struct tf_tracks *tracks, gint64 number, gint64 start_ns, gint64 end_ns);
/* Number the steps anew, in the order of time: where each is a file, whose name may sort before those
 * of earlier ones ("timeline-100.json", "timeline-20.json"). */
void tf_tracks_number_steps(struct tf_tracks *tracks);

/* Make processes, tracks, slices, samples and marks of it all. `foreign` is the number of the reader. FALSE: no
 * memory. */
gboolean tf_tracks_place(struct tf_tracks *tracks, guint32 foreign, const gchar *path);

#endif
