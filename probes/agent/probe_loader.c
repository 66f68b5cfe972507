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

static const struct agent_settings *settings;

/* A symbol of the probe at `path`, which stays loaded; NULL: it is none. */
static void *load(const char *path, const char *symbol)
{
	void *probe = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	return probe ? dlsym(probe, symbol) : NULL;
}

/* The probe in plain C, for any libtorch. */
static int start_plain(const char *library)
{
	typedef int start_function(const char *library, uint64_t shapes_every);
	start_function *start = (start_function *)load(settings->torch_probe, "tacho_torch_start");

	return start ? start(library, settings->shapes_every) : -ENOEXEC;
}

/* The one that was compiled from this libtorch's headers. */
static int start_compiled(const char *library, const char *path)
{
	typedef int init_function(void);
	char real[PATH_MAX];
	init_function *init;

	if (!trusted_path(path, geteuid(), real)) {
		tacho_unseen(
			"PyTorch operations",
			"operations are not recorded: the probe for %s is not loaded: others may "
			"have "
			"changed %s ('chown' it to yourself and 'chmod go-w' it, or record with "
			"XDG_CACHE_HOME set to a folder of your own)",
			library, real);
		return 0;
	}
	init = (init_function *)load(real, "tacho_probe_init");
	return init ? init() : -ENOEXEC;
}

/* Where the compiled probe for `library` is, if it is. */
static int compiled_path(const char *library, char *path, size_t size)
{
	char key[LIBRARY_KEY_BYTES];
	int status = library_key(library, key);

	if (status == 0 &&
	    snprintf(path, size, "%s/%s/libtacho_torch.so", settings->torch_dir, key) >= (int)size)
		status = -ENAMETOOLONG;
	return status;
}

static void torch_appeared(const char *library, uintptr_t base_address)
{
	char path[PATH_MAX];
	int status;

	(void)base_address;
	status = compiled_path(library, path, sizeof(path));
	if (status == 0 && access(path, R_OK) == 0)
		status = start_compiled(library, path);
	else if (*settings->torch_probe)
		status = start_plain(library);
	else if (status == 0)
		tacho_unseen(
			"PyTorch operations",
			"operations are not recorded: there is no probe for %s; run 'tacho probe "
			"build torch'",
			library);
	if (status < 0)
		tacho_unseen("PyTorch operations",
			     "operations are not recorded: the probe for %s does not work: %s",
			     library, strerror(-status));
}

void probe_loader_watch(const struct agent_settings *agent_settings)
{
	static bool is_watching;

	settings = agent_settings;
	if (!is_watching && (*settings->torch_dir || *settings->torch_probe))
		is_watching = tacho_watch_library("libtorch_cpu.so", torch_appeared) == 0;
}
