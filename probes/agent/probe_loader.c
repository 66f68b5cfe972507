#include "agent/probe_loader.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/settings.h"
#include "common/library_key.h"
#include "common/trusted_path.h"
#include "common/watch.h"

static const char *torch_dir;

typedef int init_function(void);

static int init_probe(const char *path)
{
	void *probe = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	init_function *init = probe ? (init_function *)dlsym(probe, "tacho_probe_init") : NULL;

	return init ? init() : -ENOEXEC;
}

static void torch_appeared(const char *library, uintptr_t base_address)
{
	char key[LIBRARY_KEY_BYTES], path[PATH_MAX], real[PATH_MAX];
	int status;

	(void)base_address;
	status = library_key(library, key);
	if (status == 0 && snprintf(path, sizeof(path), "%s/%s/libtacho_torch.so", torch_dir,
				    key) >= (int)sizeof(path))
		status = -ENAMETOOLONG;
	if (status == 0 && access(path, R_OK) < 0) {
		tacho_say("operations are not recorded: there is no probe for %s; run 'tacho probe "
			  "build torch'",
			  library);
		return;
	}
	if (status == 0 && !trusted_path(path, geteuid(), real)) {
		tacho_say("operations are not recorded: the probe for %s is not loaded: others may "
			  "have "
			  "changed %s ('chown' it to yourself and 'chmod go-w' it, or record with "
			  "XDG_CACHE_HOME set to a folder of your own)",
			  library, real);
		return;
	}
	if (status == 0)
		status = init_probe(real);
	if (status < 0)
		tacho_say("operations are not recorded: the probe for %s does not work: %s",
			  library, strerror(-status));
}

void probe_loader_watch(const struct agent_settings *settings)
{
	torch_dir = settings->torch_dir;
	if (*torch_dir)
		tacho_watch_library("libtorch_cpu.so", torch_appeared);
}
