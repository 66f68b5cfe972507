/* trust: how far a timeline can be believed, as one number. */
#ifndef TACHO_TRUST_H
#define TACHO_TRUST_H

#include <tacho/problem.h>

/* What a problem of that kind can cost at most. */
guint trust_points(TachoProblemKind kind);
/* What cannot be known because of a problem of that kind; "": it does not tell of something missing. */
const gchar *trust_unknown(TachoProblemKind kind);

#endif
