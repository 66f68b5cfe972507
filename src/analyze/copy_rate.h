/* copy_rate: how fast a device copied or filled memory, and which way. */
#ifndef TACHO_COPY_RATE_H
#define TACHO_COPY_RATE_H

#include "trace/copy_kind.h"

struct copy_rate {
	enum copy_kind kind;
	gdouble bytes;	  /* 0: not told */
	gdouble gb_per_s; /* 0: not known */
};

/* Whether the slice is a copy or a fill. The rate is what the recorder tells (PyTorch, which knows times finer
 * than it writes them), else bytes by duration. Reads the trace. */
gboolean copy_rate_of(const TachoTimeline *timeline, guint32 slice, struct copy_rate *ret_rate);

#endif
