/* copy_kind: which way a device copied, as the name of the copy tells. */
#ifndef TACHO_COPY_KIND_H
#define TACHO_COPY_KIND_H

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

/* What a copy or a fill of that name (string id) is; COPY_OTHER: the name does not tell. */
enum copy_kind copy_kind_of_name(const TachoTimeline *timeline, guint32 name);
/* The same of a slice of kind MEMCPY or MEMSET, whose kind tells a fill, too. */
enum copy_kind copy_kind_of(const TachoTimeline *timeline, guint32 slice);

/* "HtoD". Never NULL. */
const gchar *copy_kind_name(enum copy_kind kind);

#endif
