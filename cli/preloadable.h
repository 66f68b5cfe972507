/* preloadable: whether the loader will bring a library into a program that is named in LD_PRELOAD. */
#ifndef TACHO_PRELOADABLE_H
#define TACHO_PRELOADABLE_H

#include <glib.h>

/* Why it will not, to be put behind the name of `program` (a path, or a name on the PATH): "is statically linked". NULL: it
 * will, or the program cannot be read. */
const gchar *preloadable_why_not(const gchar *program);

#endif
