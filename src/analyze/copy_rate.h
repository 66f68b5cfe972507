/* copy_rate: how fast a device copied or filled memory, and which way. */
#ifndef TACHO_COPY_RATE_H
#define TACHO_COPY_RATE_H

#include <tacho/timeline.h>

#define COPY_KINDS(COPY_KIND)                                                                      \
	COPY_KIND(HTOD, "HtoD")	    /* host to device */                                           \
	COPY_KIND(DTOH, "DtoH")	    /* device to host */                                           \
	COPY_KIND(DTOD, "DtoD")	    /* within a device, or between two */                          \
	COPY_KIND(PTOP, "PtoP")	    /* between two devices */                                      \
	COPY_KIND(HTOH, "HtoH")	    /* within the host, by a device */                             \
	COPY_KIND(OTHER, "other")   /* a copy that does not tell which way it went */              \
	COPY_KIND(MEMSET, "memset") /* a fill */

enum copy_kind {
#define COPY_KIND_ENUM(enumerator, name) COPY_##enumerator,
	COPY_KINDS(COPY_KIND_ENUM)
#undef COPY_KIND_ENUM
		N_COPY_KINDS
};

struct copy_rate {
	enum copy_kind kind;
	gdouble bytes;	  /* 0: not told */
	gdouble gb_per_s; /* 0: not known */
};

const gchar *copy_kind_name(enum copy_kind kind);
/* Which way a copy of that name went; COPY_OTHER: it does not say so. */
enum copy_kind copy_kind_of_name(const gchar *name);

/* Whether the slice is a copy or a fill. The rate is what the recorder tells ("memory bandwidth (GB/s)" of PyTorch,
 * which knows times finer than it writes them), else bytes by duration. Reads the trace. */
gboolean copy_rate_of(const TachoTimeline *timeline, guint32 slice, struct copy_rate *ret_rate);

#endif
