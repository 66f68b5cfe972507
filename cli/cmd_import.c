/* cmd_import: which traces of other tools can be read. Every command reads them where it takes a run. */
#include <tacho/import.h>

#include "cli.h"

static const gchar usage[] = "--list";
static const gchar description[] = "Traces need no conversion: wherever a command takes a RUN, it "
				   "also takes such a trace, or a\n"
				   "folder with one trace for each rank.\n"
				   "\n"
				   "Examples:\n"
				   "  tacho import --list\n"
				   "  tacho report rank0.pt.trace.json.gz\n";

static int list_formats(gboolean is_json)
{
	g_autoptr(TachoTable) table = tacho_import_list();

	if (is_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	return cli_finish("import", CLI_DONE);
}

int cmd_import(int argc, char **argv)
{
	gboolean is_json = FALSE, is_list = FALSE;
	const GOptionEntry entries[] = {
		{ "list", 'l', 0, G_OPTION_ARG_NONE, &is_list, "list the formats that can be read",
		  NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &is_json, "print JSON, for programs", NULL },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};

	if (!cli_parse("import", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc > 1)
		return cli_fail("import", "'%s' need not be imported; run 'tacho report %s'",
				argv[1], argv[1]);
	if (!is_list)
		return cli_fail("import",
				"use --list to list the formats (see 'tacho import --help')");
	return list_formats(is_json);
}
