/* torch_probe: a job's PyTorch is recorded by the probe in plain C that is shipped; or, where that one does not know
 * a libtorch, by one that is compiled on the user's machine from PyTorch's headers. Here that one is found, or built. */
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
	TORCH_PROBE_ERROR_CACHE,   /* nowhere to put it, or others may have put it there */
} TorchProbeError;

typedef enum {
	TORCH_PROBE_PLAIN,    /* the one in plain C */
	TORCH_PROBE_COMPILED, /* one was built, from the sources that this tacho has */
	TORCH_PROBE_REFUSED, /* one was built, but the agent would not load it: the error says why */
} TorchProbe;

/* The folder of the probes built so far: ${XDG_CACHE_HOME:-~/.cache}/tacho/torch. The agent looks
 * there (TACHO_TORCH_DIR). */
gchar *torch_probe_cache_path(void);

/* Which of them a job gets that loads `install`; `error` is set for TORCH_PROBE_REFUSED only. */
TorchProbe torch_probe_used(const TorchInstall *install, GError **error);

/* Compile the probe for `install` into the cache. */
gboolean torch_probe_build(const TorchInstall *install, GError **error);

#endif
