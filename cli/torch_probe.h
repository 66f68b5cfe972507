/* torch_probe: the PyTorch probe is compiled on the user's machine, once for each libtorch; here it
 * is found, or built. */
#ifndef TACHO_TORCH_PROBE_H
#define TACHO_TORCH_PROBE_H

#include <glib.h>

#include "torch_install.h"

#define TORCH_PROBE_ERROR torch_probe_error_quark()
GQuark torch_probe_error_quark(void);
typedef enum {
	TORCH_PROBE_ERROR_NO_HEADERS,
	TORCH_PROBE_ERROR_NO_COMPILER,
	TORCH_PROBE_ERROR_COMPILE, /* the message names the log */
	TORCH_PROBE_ERROR_CACHE,   /* nowhere to put it */
} TorchProbeError;

typedef enum {
	TORCH_PROBE_READY,    /* built, from the sources that this tacho has */
	TORCH_PROBE_TO_BUILD, /* can be, as far as one sees */
	TORCH_PROBE_FAILED,   /* could not be built, or cannot; the error says why */
} TorchProbeState;

/* The folder of the probes built so far: ${XDG_CACHE_HOME:-~/.cache}/tacho/torch. The agent looks
 * there (TACHO_TORCH_DIR). */
gchar *torch_probe_cache_path(void);

/* How things stand for `install`; `error` is set for TORCH_PROBE_FAILED only. */
TorchProbeState torch_probe_state(const TorchInstall *install, GError **error);

/* Compile the probe for `install` into the cache. */
gboolean torch_probe_build(const TorchInstall *install, GError **error);

/* See to it that a job run as `command` finds a probe for its PyTorch: returns quickly where there
 * is one already, or no PyTorch. `is_no_build`: only say what is missing. Prints one plain sentence
 * on stderr when it builds (unless `is_quiet`) and when it cannot. False: that was said, and the
 * agent need not look for a probe. */
gboolean torch_probe_ensure(gchar **command, gboolean is_no_build, gboolean is_quiet);

#endif
