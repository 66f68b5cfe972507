#include "complete.h"

#include <string.h>

#include <tacho/analyze.h>
#include <tacho/diff.h>
#include <tacho/export.h>
#include <tacho/profile_options.h>
#include <tacho/query.h>
#include <tacho/replay.h>

#include "cli.h"

static void print_views(void)
{
#define VIEW(name, parts, description) puts(#name);
	TACHO_VIEWS(VIEW)
#undef VIEW
}

static void print_diff_views(void)
{
#define DIFF_VIEW(name, description) puts(#name);
	TACHO_DIFF_VIEWS(DIFF_VIEW)
#undef DIFF_VIEW
}

static void print_exports(void)
{
	guint n;
	const TachoExportTarget *targets = tacho_export_targets(&n);

	for (guint i = 0; i < n; i++)
		puts(targets[i].name);
	puts("list");
}

static void print_what_ifs(void)
{
	const gchar *const *words = tacho_what_if_words();

	for (guint i = 0; words[i]; i++)
		puts(words[i]);
}

static void print_formats(void)
{
#define FORMAT(enumerator, name) puts(#name);
	TACHO_QUERY_FORMATS(FORMAT)
#undef FORMAT
}

static void print_probes(void)
{
	puts("all\nnone");
#define PROBE(name, library, variable, sharing, choice, meaning, records) puts(#name);
#include "probes.def"
#undef PROBE
}

static void print_metrics(void)
{
#define METRIC(enumerator, name, key) puts(#name);
	TACHO_METRICS(METRIC)
#undef METRIC
}

int complete_print(const gchar *kind)
{
	static const struct {
		const gchar *kind;
		void (*print)(void);
	} kinds[] = {
		{ "views", print_views },	    { "diff-views", print_diff_views },
		{ "exports", print_exports },	    { "what-ifs", print_what_ifs },
		{ "query-formats", print_formats }, { "metrics", print_metrics },
		{ "probes", print_probes },
	};

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].kind, kind) == 0) {
			kinds[i].print();
			return cli_finish("--complete", CLI_DONE);
		}
	return CLI_BAD; /* a shell's completion shows no errors */
}
