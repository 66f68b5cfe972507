/* torch_probe: which PyTorch probe a job gets, and a cache of those that were compiled.
 *
 *   ~/.cache/tacho/torch/SOURCES/KEY/libtacho_torch.so   the probe
 *   ~/.cache/tacho/torch/SOURCES/KEY/build.log           what the compiler was asked, and said
 *
 * SOURCES is a hash of the sources it is built from, so that two versions of tacho do not take each
 * other's; KEY is of the libtorch that it is for (library_key.h).
 *
 * (1) A build happens in a folder of its own and is moved into place by rename(2): who loads the
 *     probe sees none or a whole one, and two builds at once do no harm.
 * (2) After a failed build the log is there without a library. */
#include "torch_probe.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common/library_key.h"
#include "common/trusted_path.h"

#define LIBRARY "libtacho_torch.so"
#define LOG	"build.log"

GQuark torch_probe_error_quark(void)
{
	return g_quark_from_static_string("torch-probe-error-quark");
}

static gchar *shipped_path(void)
{
	return g_build_filename(cli_prefix(), "share", "tacho", "probes", NULL);
}

static gint compare_paths(gconstpointer a, gconstpointer b)
{
	return strcmp(*(gchar *const *)a, *(gchar *const *)b);
}

/* All files that a build reads, in order of their paths. */
static GPtrArray *list_sources(void)
{
	static const gchar *const folders[] = { "torch", "common", "trace" };
	g_autofree gchar *shipped = shipped_path();
	GPtrArray *paths = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree gchar *folder = g_build_filename(shipped, folders[i], NULL);
		g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
		const gchar *name;

		while (dir && (name = g_dir_read_name(dir)))
			g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
	}
	g_ptr_array_sort(paths, compare_paths);
	return paths;
}

static gchar *hash_sources(void)
{
	g_autoptr(GPtrArray) paths = list_sources();
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);

	for (guint i = 0; i < paths->len; i++) {
		g_autofree gchar *content = NULL;
		gsize length;

		if (g_file_get_contents(g_ptr_array_index(paths, i), &content, &length, NULL))
			g_checksum_update(checksum, (const guchar *)content, (gssize)length);
	}
	return g_strndup(g_checksum_get_string(checksum), 16);
}

gchar *torch_probe_cache_path(void)
{
	g_autofree gchar *hash = hash_sources();

	return g_build_filename(g_get_user_cache_dir(), "tacho", "torch", hash, NULL);
}

/* The folder of the probe for `install`, NULL with errno when the library is gone. */
static gchar *probe_path(const TorchInstall *install)
{
	g_autofree gchar *cache = torch_probe_cache_path();
	gchar key[LIBRARY_KEY_BYTES];
	int status = library_key(install->library, key);

	if (status < 0) {
		errno = -status;
		return NULL;
	}
	return g_build_filename(cache, key, NULL);
}

static gboolean has_file(const gchar *folder, const gchar *name)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);

	return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* --- the compiler ------------------------------------------------------------------------- */

static gchar *find_compiler(void)
{
	const gchar *chosen = g_getenv("CXX");
	const gchar *const names[] = { chosen && *chosen ? chosen : "c++", "c++", "g++",
				       "clang++" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		gchar *path = g_find_program_in_path(names[i]);

		if (path)
			return path;
	}
	return NULL;
}

/* Which of its two std::string a libtorch was built with stands in the names that it exports. */
static gboolean has_new_abi(const gchar *torch_library)
{
	static const gchar needle[] = "NSt7__cxx1112basic_string";
	g_autofree gchar *folder = g_path_get_dirname(torch_library);
	g_autofree gchar *path = g_build_filename(folder, "libc10.so", NULL);
	g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);

	if (!file)
		return TRUE;
	return memmem(g_mapped_file_get_contents(file), g_mapped_file_get_length(file), needle,
		      strlen(needle)) != NULL;
}

/* The C++ that PyTorch's headers are written in. */
static const gchar *standard_of(const TorchInstall *install)
{
	guint major = 0, minor = 0;

	if (sscanf(install->version, "%u.%u", &major, &minor) == 2 &&
	    (major > 2 || (major == 2 && minor >= 14)))
		return "-std=c++20";
	return "-std=c++17";
}

static gchar **compile_command(const TorchInstall *install, const gchar *compiler,
			       GPtrArray *sources, const gchar *output)
{
	/* NDEBUG in every build: RecordFunction has another layout without it */
	static const gchar flags[] =
		"-shared -fPIC -O2 -DNDEBUG -D_GNU_SOURCE -fvisibility=hidden "
		"-fvisibility-inlines-hidden -fno-tree-loop-distribute-patterns "
		"-fno-tree-slp-vectorize -Wl,-z,now "
		"-Wl,-z,nodelete";
	g_auto(GStrv) words = g_strsplit(flags, " ", -1);
	GPtrArray *argv = g_ptr_array_new();

	g_ptr_array_add(argv, g_strdup(compiler));
	for (guint i = 0; words[i]; i++)
		g_ptr_array_add(argv, g_strdup(words[i]));
	g_ptr_array_add(argv, g_strdup(standard_of(install)));
	g_ptr_array_add(argv, g_strdup_printf("-D_GLIBCXX_USE_CXX11_ABI=%d",
					      has_new_abi(install->library)));
	g_ptr_array_add(argv, g_strdup("-I"));
	g_ptr_array_add(argv, shipped_path());
	if (strcmp(install->include, "/usr/include") != 0) {
		g_ptr_array_add(argv, g_strdup("-isystem"));
		g_ptr_array_add(argv, g_strdup(install->include));
	}
	g_ptr_array_add(argv, g_strdup("-isystem"));
	g_ptr_array_add(
		argv, g_build_filename(install->include, "torch", "csrc", "api", "include", NULL));
	g_ptr_array_add(argv, g_strdup("-o"));
	g_ptr_array_add(argv, g_strdup(output));
	for (guint i = 0; i < sources->len; i++)
		if (g_str_has_suffix(g_ptr_array_index(sources, i), ".cc") ||
		    g_str_has_suffix(g_ptr_array_index(sources, i), ".c"))
			g_ptr_array_add(argv, g_strdup(g_ptr_array_index(sources, i)));
	g_ptr_array_add(argv, g_strdup(install->library));
	g_ptr_array_add(argv, NULL);
	return (gchar **)g_ptr_array_free(argv, FALSE);
}

/* Run the compiler; what it was asked and said goes to `log`. */
static gboolean compile(gchar **argv, const gchar *log)
{
	g_autofree gchar *command = g_strjoinv(" ", argv);
	g_autofree gchar *output = NULL;
	g_autofree gchar *text = NULL;
	g_autoptr(GError) error = NULL;
	gint status;
	gboolean is_done;

	is_done = g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
			       &output, &status, &error) &&
		  g_spawn_check_wait_status(status, &error);
	text = g_strconcat(command, "\n", output ? output : "", error ? error->message : "", "\n",
			   NULL);
	g_file_set_contents(log, text, -1, NULL);
	return is_done;
}

/* --- the cache ---------------------------------------------------------------------------- */

static gboolean move_into(const gchar *from, const gchar *to, const gchar *name, GError **error)
{
	g_autofree gchar *old_path = g_build_filename(from, name, NULL);
	g_autofree gchar *new_path = g_build_filename(to, name, NULL);
	int cause;

	if (g_rename(old_path, new_path) == 0)
		return TRUE;
	cause = errno;
	g_set_error(error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_CACHE, "cannot write %s: %s",
		    new_path, g_strerror(cause));
	return FALSE;
}

static void remove_folder(const gchar *folder)
{
	static const gchar *const names[] = { LIBRARY, LOG };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = g_build_filename(folder, names[i], NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
}

/* Compile in `work`, then move what came out to `folder`. */
static gboolean build_in(const gchar *work, const gchar *folder, const TorchInstall *install,
			 const gchar *compiler, GError **error)
{
	g_autoptr(GPtrArray) sources = list_sources();
	g_autofree gchar *library = g_build_filename(work, LIBRARY, NULL);
	g_autofree gchar *log = g_build_filename(work, LOG, NULL);
	g_auto(GStrv) argv = compile_command(install, compiler, sources, library);
	gboolean is_compiled = compile(argv, log);

	if ((is_compiled && !move_into(work, folder, LIBRARY, error)) ||
	    !move_into(work, folder, LOG, error))
		return FALSE;
	if (!is_compiled) {
		g_autofree gchar *stale = g_build_filename(folder, LIBRARY, NULL);

		g_unlink(stale);
		g_set_error(error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_COMPILE,
			    "the compiler failed; see %s/" LOG, folder);
	}
	return is_compiled;
}

static gboolean set_no_headers(const TorchInstall *install, GError **error)
{
	g_set_error(error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_NO_HEADERS,
		    "PyTorch's C++ headers are not beside %s%s", install->library,
		    g_str_has_prefix(install->library, "/usr/lib/python3/")
			    ? "; install them (Debian: apt install libtorch-dev)"
			    : "");
	return FALSE;
}

gboolean torch_probe_build(const TorchInstall *install, GError **error)
{
	g_autofree gchar *cache = torch_probe_cache_path();
	g_autofree gchar *folder = probe_path(install);
	g_autofree gchar *work = g_build_filename(cache, "building-XXXXXX", NULL);
	g_autofree gchar *compiler = find_compiler();
	gboolean is_built;

	if (!install->include)
		return set_no_headers(install, error);
	if (!compiler) {
		g_set_error(error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_NO_COMPILER,
			    "there is no C++ compiler; install one (Debian: apt install g++)");
		return FALSE;
	}
	if (!folder || g_mkdir_with_parents(folder, 0700) < 0 || !g_mkdtemp(work)) {
		int cause = errno;

		g_set_error(error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_CACHE,
			    "cannot make a folder in %s: %s", cache, g_strerror(cause));
		return FALSE;
	}
	is_built = build_in(work, folder, install, compiler, error);
	remove_folder(work);
	return is_built;
}

/* The agent would not load another. */
static gboolean is_ours(const gchar *folder, GError **error)
{
	g_autofree gchar *library = g_build_filename(folder, LIBRARY, NULL);
	gchar real[PATH_MAX];

	if (trusted_path(library, geteuid(), real))
		return TRUE;
	g_set_error(
		error, TORCH_PROBE_ERROR, TORCH_PROBE_ERROR_CACHE,
		"others may have changed %s: make it yours ('chown') and theirs no longer ('chmod "
		"go-w'), or set XDG_CACHE_HOME to a folder of your own",
		real);
	return FALSE;
}

TorchProbe torch_probe_used(const TorchInstall *install, GError **error)
{
	g_autofree gchar *folder = probe_path(install);

	if (!folder || !has_file(folder, LIBRARY))
		return TORCH_PROBE_PLAIN;
	return is_ours(folder, error) ? TORCH_PROBE_COMPILED : TORCH_PROBE_REFUSED;
}
