#include "python/python_hook.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FOLDER_MAX (PATH_MAX - 512)

typedef int is_initialized_function(void);
typedef int ensure_function(void);
typedef void release_function(int state);
typedef int run_function(const char *text);

static struct {
	is_initialized_function *is_initialized;
	ensure_function *ensure;
	release_function *release;
	run_function *run;
} python;

/* What it does is in a dictionary of its own. */
static const char text[] = "exec('''\n"
			   "import sys\n"
			   "try:\n"
			   "    if 'tacho_hook' not in sys.modules:\n"
			   "        from importlib import util\n"
			   "        spec = util.spec_from_file_location('tacho_hook', folder + "
			   "'/__init__.py', submodule_search_locations=[folder])\n"
			   "        module = util.module_from_spec(spec)\n"
			   "        sys.modules['tacho_hook'] = module\n"
			   "        spec.loader.exec_module(module)\n"
			   "    sys.modules['tacho_hook'].%s()\n"
			   "except Exception:\n"
			   "    pass\n"
			   "''', {'folder': '%s'})\n";

void python_hook_find(void *library)
{
	python.is_initialized = (is_initialized_function *)dlsym(library, "Py_IsInitialized");
	python.ensure = (ensure_function *)dlsym(library, "PyGILState_Ensure");
	python.release = (release_function *)dlsym(library, "PyGILState_Release");
	python.run = (run_function *)dlsym(library, "PyRun_SimpleString");
}

void python_hook_call(const char *folder, bool begins)
{
	char statement[sizeof(text) + PATH_MAX];
	int state;

	if (!python.is_initialized || !python.ensure || !python.release || !python.run ||
	    !python.is_initialized() || !*folder || strlen(folder) > FOLDER_MAX ||
	    strpbrk(folder, "'\\\n"))
		return;
	snprintf(statement, sizeof(statement), text, begins ? "begin_late" : "end_late", folder);
	state = python.ensure();
	python.run(statement);
	python.release(state);
}
