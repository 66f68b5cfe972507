/* byteprofile_ops: what `metadata.json` of a byteprofile trial tells of the operations of a TensorFlow graph: their types,
 * and the shapes of what they take and give; and in which part of a step an operation is.
 *
 * (1) A gradient is exchanged by a node that is called after it ("...HorovodAllreduce.3_0", "...BytePSPushPull.3_4"); what
 *     that node takes is what computed the gradient.
 * (2) What needs an exchanged gradient applies it. So does what is called or typed as an optimizer's operation, where the
 *     graph does not tell.
 * (3) A gradient's identity, which its collective has too, is that of the output of the operation that computed it. */
#ifndef TACHO_BYTEPROFILE_OPS_H
#define TACHO_BYTEPROFILE_OPS_H

#include <tacho/timeline.h>

typedef struct byteprofile_ops byteprofile_ops;

/* Read the file of the first of `folders` (a NULL behind the last) that has it; never NULL. Ended with byteprofile_ops_free(),
 * after which the timeline still answers for the runs that were added. */
byteprofile_ops *byteprofile_ops_read(TachoTimeline *timeline, const gchar *const *folders);
void byteprofile_ops_free(byteprofile_ops *ops);

/* TACHO_SLICE_BACKWARD, TACHO_SLICE_UPDATE, or 0: forward. `ops` may be NULL: then by the name alone. */
guint8 byteprofile_ops_phase(const byteprofile_ops *ops, const gchar *name);
/* A file of operations that have runs; a number for byteprofile_ops_add_run(). */
guint32 byteprofile_ops_add_file(byteprofile_ops *ops, const gchar *path);
/* The source handle of a run of the operation (a string id), whose event stands at `place` of the file; 0: the graph does
 * not tell of it. */
guint64 byteprofile_ops_add_run(byteprofile_ops *ops, guint32 name, guint32 file, guint64 place);
/* The identity of the gradient of that number; 0: who computes it is not told. */
guint64 byteprofile_ops_gradient(const byteprofile_ops *ops, guint64 number);

#endif
