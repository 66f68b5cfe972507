/* precision_graph: the operations of a job, and the tensors between them. */
#include "cli.h"
#include "precision_runs.h"

static const gchar usage[] = "RUN [--to dot|gml|json]";
static const gchar description[] =
	"Prints the operations of the job's forward pass, what each reads, and how deep it lies: "
	"by the\n"
	"longest path from an input, and by the fewest hops.\n"
	"\n"
	"Examples:\n"
	"  tacho precision graph fp32.tacho | dot -Tsvg >operations.svg\n"
	"  tacho precision graph fp32=base.tacho --to json\n";

int tacho_precision_graph_main(int argc, char **argv)
{
	g_autofree gchar *form = NULL, *registry = NULL;
	const GOptionEntry entries[] = {
		{ "to", 't', 0, G_OPTION_ARG_STRING, &form,
		  "form: dot (Graphviz; default), gml or json", "FORM" },
		{ "registry", 0, 0, G_OPTION_ARG_FILENAME, &registry,
		  "kernels of one's own, from a file (docs/precision-registry.md)", "FILE" },
		G_OPTION_ENTRY_NULL,
	};
	g_autoptr(TachoPrecisionJob) job = NULL;

	if (!cli_parse("precision graph", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	job = precision_runs_open("precision graph", argc, argv, NULL, NULL, registry);
	if (!job)
		return CLI_BAD;
	if (!tacho_precision_job_print_graph(job, form ? form : "dot", stdout))
		return cli_fail("precision graph", "--to is dot, gml or json, not '%s'", form);
	return cli_finish("precision graph", CLI_DONE);
}
