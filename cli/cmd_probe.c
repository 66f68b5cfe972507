/* cmd_probe: build or list the probes. */
#include <string.h>

#include <tacho/table.h>
#include <tacho/words.h>

#include "cli.h"
#include "torch_probe.h"

static const gchar usage[] = "list | build torch";
static const gchar description[] =
	"list          list the probes and say whether each can work here\n"
	"build torch   compile a PyTorch probe for the given Python, or for the first one on the\n"
	"              PATH that has PyTorch: only where the shipped one does not know its\n"
	"              libtorch, which it says\n";

enum { FIRST_TRIED = 113, LAST_TRIED = 215 }; /* docs/frameworks.md */

static const struct {
	const gchar *name, *library, *records;
} probes[] = {
#define PROBE(name, library, variable, sharing, choice, meaning, records)                          \
	{ #name, library, records },
#include "probes.def"
#undef PROBE
};

static const TachoColumn columns[] = {
	{ .key = "probe", .title = "probe", .type = TACHO_COLUMN_TEXT },
	{ .key = "is_ready", .title = "ready", .type = TACHO_COLUMN_BOOLEAN },
	{ .key = "records", .title = "records", .type = TACHO_COLUMN_TEXT },
	{ .key = "why", .title = "why", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
};

static void add_row(TachoTable *table, const gchar *name, gboolean is_ready, const gchar *records,
		    const gchar *why)
{
	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_boolean(table, is_ready);
	tacho_table_text(table, records);
	tacho_table_text(table, why);
}

static TorchInstall *find_install(const gchar *python)
{
	return python ? torch_install_of_python(python) : torch_install_on_path();
}

/* "2.4.1+cpu" -> 204; 0: no version. */
static guint version_number(const gchar *version)
{
	guint major = 0, minor = 0;

	return sscanf(version, "%u.%u", &major, &minor) == 2 && minor < 100 ? major * 100 + minor
									    : 0;
}

static gchar *why_torch(const TorchInstall *install, TorchProbe used, const GError *error)
{
	guint version = version_number(install->version);

	if (used == TORCH_PROBE_REFUSED)
		return g_strdup_printf("not for PyTorch %s of %s: %s", install->version,
				       install->python, error->message);
	if (used == TORCH_PROBE_COMPILED)
		return g_strdup_printf("compiled for PyTorch %s of %s", install->version,
				       install->python);
	return g_strdup_printf("in plain C, for PyTorch %s of %s%s", install->version,
			       install->python,
			       version < FIRST_TRIED || version > LAST_TRIED
				       ? "; not tried with this version: it says so when the "
					 "job starts if that is unknown to it"
				       : "");
}

static void add_torch_row(TachoTable *table, const gchar *python, const gchar *records)
{
	g_autoptr(TorchInstall) install = find_install(python);
	g_autofree gchar *why = NULL;
	g_autoptr(GError) error = NULL;
	TorchProbe used;

	if (!install) {
		why = g_strdup_printf("%s has no PyTorch",
				      python ? python : "no Python on the PATH");
		add_row(table, "torch", FALSE, records, why);
		return;
	}
	used = torch_probe_used(install, &error);
	why = why_torch(install, used, error);
	add_row(table, "torch", used != TORCH_PROBE_REFUSED, records, why);
}

static void add_file_row(TachoTable *table, const gchar *name, const gchar *path,
			 const gchar *records)
{
	gboolean is_there = g_file_test(path, G_FILE_TEST_EXISTS);
	g_autofree gchar *why = is_there ? NULL : g_strdup_printf("%s is not installed", path);

	add_row(table, name, is_there, records, why);
}

static int list_probes(const gchar *python, gboolean is_json)
{
	g_autoptr(TachoTable) table = tacho_table_new("probes", columns, G_N_ELEMENTS(columns));
	g_autofree gchar *start =
		g_build_filename(cli_prefix(), "share", "tacho", "python", "start", NULL);

	for (guint i = 0; i < G_N_ELEMENTS(probes); i++) {
		g_autofree gchar *path = probes[i].library
						 ? g_build_filename(cli_prefix(), "lib", "tacho",
								    probes[i].library, NULL)
						 : g_strdup(start);

		if (strcmp(probes[i].name, "torch") == 0)
			add_torch_row(table, python, probes[i].records);
		else
			add_file_row(table, probes[i].name, path, probes[i].records);
	}
	if (is_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	return cli_finish("probe", CLI_DONE);
}

static int build_torch(const gchar *python)
{
	g_autoptr(TorchInstall) install = find_install(python);
	GError *error = NULL;

	if (!install)
		return cli_fail("probe", "%s has no PyTorch",
				python ? python : "no Python on the PATH");
	fprintf(stderr, "tacho: building the probe for PyTorch %s of %s\n", install->version,
		install->python);
	if (!torch_probe_build(install, &error))
		return cli_fail_error("probe", error);
	printf("built the probe for PyTorch %s\n", install->version);
	return cli_finish("probe", CLI_DONE);
}

int cmd_probe(int argc, char **argv)
{
	g_autofree gchar *python = NULL;
	gboolean is_json = FALSE;
	const GOptionEntry entries[] = {
		{ "python", 0, 0, G_OPTION_ARG_STRING, &python,
		  "the Python that has PyTorch (default: the first on the PATH that has it)",
		  "PROGRAM" },
		{ "json", 0, 0, G_OPTION_ARG_NONE, &is_json, "print the list as JSON", NULL },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};

	if (!cli_parse("probe", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return list_probes(python, is_json);
	if (argc == 3 && strcmp(argv[1], "build") == 0 && strcmp(argv[2], "torch") == 0)
		return build_torch(python);
	if (argc < 2)
		return cli_fail("probe", "say 'tacho probe list' or 'tacho probe build torch' (see "
					 "'tacho probe --help')");
	if (strcmp(argv[1], "list") != 0 && strcmp(argv[1], "build") != 0) {
		static const gchar *const words[] = { "list", "build", NULL };
		g_autofree gchar *there = tacho_did_you_mean(argv[1], words);

		return cli_fail("probe", "there is no 'tacho probe %s'%s", argv[1], there);
	}
	return cli_fail("probe", "say 'tacho probe list' or 'tacho probe build torch'");
}
