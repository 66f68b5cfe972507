/* byteps_dialect: what BytePS and byteprofile (dPRO's recorder) write as Chrome traces beside Horovod's timeline. */
#ifndef TACHO_BYTEPS_DIALECT_H
#define TACHO_BYTEPS_DIALECT_H

#include "import/chrome/chrome_trace.h"

/* All take a struct horovod_context, or NULL: then the file is a process of its own. */

/* comm.json of BytePS: gradients by partition and stage. */
extern const struct chrome_dialect byteps_comm_dialect;
/* Profile of a server: pushes and pulls by key. */
extern const struct chrome_dialect byteps_server_dialect;
/* trace.json of byteprofile: operations, as TensorFlow or MXNet name them. */
extern const struct chrome_dialect byteprofile_compute_dialect;
/* comm_detail.json: what NCCL sent and received, by channel. */
extern const struct chrome_dialect byteprofile_detail_dialect;
/* io.json, and any other. */
extern const struct chrome_dialect byteprofile_other_dialect;

#endif
