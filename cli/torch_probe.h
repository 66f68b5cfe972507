/* torch_probe: the PyTorch probe is compiled on the user's machine, once for each libtorch; here it
 * is found, or built. */
#ifndef TACHO_TORCH_PROBE_H
#define TACHO_TORCH_PROBE_H

#include <glib.h>

/* The folder of the probes built so far: ${XDG_CACHE_HOME:-~/.cache}/tacho/torch. The agent looks
 * there (TACHO_TORCH_DIR). */
gchar *torch_probe_cache_path(void);

/* See to it that a job run as `command` finds a probe for its PyTorch: returns quickly where there
 * is one already, or no PyTorch. `is_no_build`: only say what is missing. Prints one plain sentence
 * on stderr when it builds (unless `is_quiet`) and when it cannot. */
void torch_probe_ensure(gchar **command, gboolean is_no_build, gboolean is_quiet);

#endif
