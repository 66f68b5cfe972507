#include "torch_install.h"

#include <stdio.h>
#include <string.h>

/* Four lines: PyTorch's folder, its version, where Python is installed, Debian's name of the
 * architecture. find_spec() of a top-level package imports nothing. */
static const gchar question[] =
	"import sys\n"
	"sys.path[:] = [p for p in sys.path if p]\n"
	"from importlib.util import find_spec\n"
	"spec = find_spec('torch')\n"
	"if not spec or not spec.submodule_search_locations: sys.exit(1)\n"
	"folder = list(spec.submodule_search_locations)[0]\n"
	"version = ''\n"
	"try:\n"
	"    for line in open(folder + '/version.py'):\n"
	"        if line.startswith('__version__'): version = line.split('=')[1].strip()[1:-1]\n"
	"except (OSError, IndexError): pass\n"
	"print(folder, version, sys.prefix, getattr(sys.implementation, '_multiarch', ''), "
	"sep='\\n')\n";

enum answer { ANSWER_FOLDER, ANSWER_VERSION, ANSWER_PREFIX, ANSWER_MULTIARCH, N_ANSWERS };

static gchar **ask(const gchar *python)
{
	const gchar *argv[] = { python, "-c", question, NULL };
	g_autofree gchar *output = NULL;
	gchar **answers;
	gint status;

	if (!g_spawn_sync(NULL, (gchar **)argv, NULL,
			  G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
			  NULL, &status, NULL) ||
	    !g_spawn_check_wait_status(status, NULL))
		return NULL;
	answers = g_strsplit(output, "\n", N_ANSWERS + 1);
	if (g_strv_length(answers) < N_ANSWERS) {
		g_strfreev(answers);
		return NULL;
	}
	return answers;
}

/* The first of `folders` that has `file`. */
static gchar *first_with(gchar **folders, const gchar *file)
{
	for (guint i = 0; folders[i]; i++) {
		g_autofree gchar *path = g_build_filename(folders[i], file, NULL);

		if (*folders[i] && g_file_test(path, G_FILE_TEST_EXISTS))
			return g_strdup(folders[i]);
	}
	return NULL;
}

/* pip and conda keep everything in PyTorch's folder, Debian and some conda channels where C
 * libraries are kept. */
static gchar *find_library(gchar **answers)
{
	g_autofree gchar *of_torch = g_build_filename(answers[ANSWER_FOLDER], "lib", NULL);
	g_autofree gchar *of_python = g_build_filename(answers[ANSWER_PREFIX], "lib", NULL);
	g_autofree gchar *of_debian = g_build_filename("/usr/lib", answers[ANSWER_MULTIARCH], NULL);
	gchar *folders[] = { of_torch, of_python, of_debian, "/usr/lib64", "/usr/lib", NULL };
	g_autofree gchar *folder = first_with(folders, "libtorch_cpu.so");

	return folder ? g_build_filename(folder, "libtorch_cpu.so", NULL) : NULL;
}

static gchar *find_include(gchar **answers)
{
	g_autofree gchar *of_torch = g_build_filename(answers[ANSWER_FOLDER], "include", NULL);
	g_autofree gchar *of_python = g_build_filename(answers[ANSWER_PREFIX], "include", NULL);
	gchar *folders[] = { of_torch, of_python, "/usr/include", NULL };

	return first_with(folders, "ATen/record_function.h");
}

TorchInstall *torch_install_of_python(const gchar *python)
{
	g_auto(GStrv) answers = ask(python);
	g_autofree gchar *library = answers ? find_library(answers) : NULL;
	TorchInstall *install;

	if (!library)
		return NULL;
	install = g_new0(TorchInstall, 1);
	install->python = g_strdup(python);
	install->version = g_strdup(answers[ANSWER_VERSION]);
	install->library = g_steal_pointer(&library);
	install->include = find_include(answers);
	return install;
}

TorchInstall *torch_install_on_path(void)
{
	g_auto(GStrv) folders = g_strsplit(g_getenv("PATH") ? g_getenv("PATH") : "", ":", -1);
	static const gchar *const names[] = { "python3", "python" };

	for (guint i = 0; folders[i]; i++) {
		for (guint n = 0; n < G_N_ELEMENTS(names); n++) {
			g_autofree gchar *path = g_build_filename(folders[i], names[n], NULL);
			TorchInstall *install;

			if (!*folders[i] || !g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
				continue;
			install = torch_install_of_python(path);
			if (install)
				return install;
		}
	}
	return NULL;
}

void torch_install_free(TorchInstall *install)
{
	if (!install)
		return;
	g_free(install->python);
	g_free(install->version);
	g_free(install->library);
	g_free(install->include);
	g_free(install);
}
