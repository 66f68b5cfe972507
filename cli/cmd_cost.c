/* cmd_cost: cost models: trained, asked, shown. */
#include <string.h>

#include <tacho/cost.h>
#include <tacho/words.h>

#include "cli.h"
#include "cost_file.h"
#include "new_file.h"

#define MAX_TREES 10000
#define MAX_DEPTH 16

static const gchar usage[] = "train RUN... -o MODEL | predict MODEL [RUN] | show MODEL";
static const gchar description[] =
	"train         learn what operations and collectives take, of runs and traces, and of "
	"tables "
	"of\n"
	"              kernels (--table), and print how far off each way is on what was held out\n"
	"predict       say how long an operation (--op, --shapes) or all operations of RUN take on "
	"a\n"
	"              device\n"
	"show          say what a model knows: classes with their errors, devices, communication, "
	"and "
	"by\n"
	"              how much plans were predicted wrong\n"
	"\n"
	"Models are files of JSON (docs/cost-models.md).\n"
	"\n"
	"Examples:\n"
	"  tacho cost train base.tacho h100.json.gz -o model.json\n"
	"  tacho cost predict model.json --op aten::mm --shapes '[[4096,1024],[1024,4096]]' --type "
	"bf16 --device H100\n"
	"  tacho cost predict model.json base.tacho --device MI300X\n"
	"  tacho cost show model.json\n";

struct options {
	gchar *output, *calls, *from;
	gchar **tables;
	gchar *op, *shapes, *type, *device, *by;
	gint n_trees, depth, min_rows;
	gdouble rate;
	gboolean is_forced, with_json;
};

static void print_table(TachoTable *table, const gchar *heading)
{
	if (tacho_table_n_rows(table) == 0)
		return;
	printf("%s\n", heading);
	cli_print_table(table);
	putchar('\n');
}

/* The tables of a model, in text or as the members of an object. */
static void print_model(const TachoCostModel *model, gboolean with_json)
{
	static const struct {
		const gchar *key, *heading;
		TachoTable *(*make)(const TachoCostModel *model);
	} parts[] = {
		{ "classes", "Error by class, of calls held out", tacho_cost_model_classes },
		{ "devices", "Devices", tacho_cost_model_devices },
		{ "communication", "Communication", tacho_cost_model_communication },
		{ "corrections", "Plans that were measured", tacho_cost_model_corrections },
		{ "sources", "Trained on", tacho_cost_model_sources },
	};
	guint n_rows = 0;

	for (guint i = 0; i < G_N_ELEMENTS(parts); i++) {
		g_autoptr(TachoTable) table = parts[i].make(model);

		n_rows += tacho_table_n_rows(table);
		if (!with_json) {
			print_table(table, parts[i].heading);
			continue;
		}
		printf("%s\"%s\":", i ? "," : "{", parts[i].key);
		tacho_table_print_json(table, stdout);
	}
	if (with_json)
		puts("}");
	else if (n_rows == 0)
		puts("The model is empty.");
}

/* --- train ----------------------------------------------------------------------------------------- */

static gboolean add_inputs(TachoCostModel *model, const struct options *options, int argc,
			   char **argv)
{
	GError *error = NULL;

	for (int i = 1; i < argc; i++) {
		char *arguments[] = { argv[0], argv[i], NULL };
		g_autoptr(TachoTimeline) timeline = cli_open_runs("cost", 2, arguments);

		if (!timeline)
			return FALSE;
		tacho_cost_model_add_run(model, timeline, argv[i]);
	}
	for (gchar **table = options->tables; table && *table; table++)
		if (!tacho_cost_model_add_table(model, *table, &error)) {
			cli_fail_error("cost", error);
			return FALSE;
		}
	return TRUE;
}

static gboolean add_known(TachoCostModel *model, const struct options *options)
{
	GError *error = NULL;
	g_autoptr(TachoCostModel) other =
		options->from ? tacho_cost_model_open(options->from, &error) : NULL;

	if (other)
		tacho_cost_model_add_known(model, other);
	else if (options->from)
		cli_fail_error("cost", error);
	return other || !options->from;
}

static gboolean write_calls(const TachoCostModel *model, const struct options *options)
{
	GError *error = NULL;
	g_autoptr(NewFile) file = new_file_open(options->calls, options->is_forced, &error);

	if (file)
		tacho_cost_model_write_calls(model, new_file_stream(file));
	if (file && new_file_finish(g_steal_pointer(&file), &error))
		return TRUE;
	cli_fail_error("cost", error);
	return FALSE;
}

static int train(const struct options *options, int argc, char **argv)
{
	TachoCostTraining how = tacho_cost_training_default();
	g_autoptr(TachoCostModel) model = tacho_cost_model_new();

	if (argc < 2 && !options->tables)
		return cli_fail("cost", "name the runs to learn of, or a --table");
	if (!options->output && !options->calls)
		return cli_fail("cost", "name the file to write: -o MODEL");
	if (options->n_trees > 0)
		how.n_trees = (guint)options->n_trees;
	if (options->depth > 0)
		how.depth = (guint)options->depth;
	if (options->min_rows > 0)
		how.min_rows = (guint)options->min_rows;
	if (options->rate > 0)
		how.rate = options->rate;
	if (options->n_trees < 0 || options->n_trees > MAX_TREES || options->depth < 0 ||
	    options->depth > MAX_DEPTH || options->min_rows < 0 || options->rate < 0 ||
	    options->rate > 1)
		return cli_fail("cost",
				"--trees is up to %d, --depth up to %d, --rate up to 1, and none "
				"of these or --min-rows is negative",
				MAX_TREES, MAX_DEPTH);
	if (!add_known(model, options) || !add_inputs(model, options, argc, argv))
		return CLI_BAD;
	tacho_cost_model_train(model, &how);
	if ((options->calls && !write_calls(model, options)) ||
	    (options->output &&
	     !cost_file_write("cost", options->output, model, options->is_forced)))
		return CLI_BAD;
	print_model(model, options->with_json);
	return CLI_DONE;
}

/* --- predict --------------------------------------------------------------------------------------- */

static TachoTable *predict_runs(TachoCostModel *model, const struct options *options, int argc,
				char **argv, GError **error)
{
	g_autoptr(TachoTimeline) timeline = cli_open_runs("cost", argc - 1, argv + 1);

	return timeline ? tacho_cost_predict_run(model, timeline, options->device, options->by,
						 error)
			: NULL;
}

static TachoTable *predict_table(TachoCostModel *model, const struct options *options, int argc,
				 char **argv, GError **error)
{
	TachoCostQuestion question = { options->op, options->shapes,
				       options->type ? options->type : "fp32", options->device,
				       options->by };

	if (options->op)
		return tacho_cost_predict(model, &question, error);
	if (options->tables)
		return tacho_cost_predict_table(model, options->tables[0], options->by, error);
	return predict_runs(model, options, argc, argv, error);
}

static int predict(const struct options *options, int argc, char **argv)
{
	GError *error = NULL;
	g_autoptr(TachoCostModel) model = NULL;
	g_autoptr(TachoTable) table = NULL;
	gboolean has_tables = options->tables != NULL;

	if (argc < 2)
		return cli_fail("cost", "name the model");
	if ((argc > 2) + (options->op != NULL) + has_tables != 1 ||
	    (has_tables && options->tables[1]))
		return cli_fail("cost", "name one of: a run, --op, one --table");
	if (options->op && (!options->shapes || !options->device))
		return cli_fail("cost", "--op needs --shapes and --device, too");
	model = tacho_cost_model_open(argv[1], &error);
	if (!model)
		return cli_fail_error("cost", error);
	table = predict_table(model, options, argc, argv, &error);
	if (!table)
		return error ? cli_fail_error("cost", error) : CLI_BAD;
	if (options->with_json)
		tacho_table_print_json(table, stdout);
	else
		cli_print_table(table);
	return CLI_DONE;
}

/* --- show ------------------------------------------------------------------------------------------ */

static int show(const struct options *options, int argc, char **argv)
{
	GError *error = NULL;
	g_autofree gchar *standard = tacho_cost_default_path();
	const gchar *path = argc > 1 ? argv[1] : standard;
	g_autoptr(TachoCostModel) model = NULL;

	if (argc > 2)
		return cli_fail("cost", "show one model at a time");
	model = tacho_cost_model_open(path, &error);
	if (!model)
		return cli_fail_error("cost", error);
	print_model(model, options->with_json);
	return CLI_DONE;
}

static const struct {
	const gchar *name;
	int (*run)(const struct options *options, int argc, char **argv);
} verbs[] = { { "train", train }, { "predict", predict }, { "show", show } };

static int run_verb(const struct options *options, int argc, char **argv)
{
	const gchar *names[G_N_ELEMENTS(verbs) + 1] = { NULL };
	g_autofree gchar *there = NULL;

	if (argc < 2)
		return cli_fail("cost", "say what to do: train, predict or show (see 'tacho cost "
					"--help')");
	for (guint i = 0; i < G_N_ELEMENTS(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(options, argc - 1, argv + 1);
		names[i] = verbs[i].name;
	}
	there = tacho_did_you_mean(argv[1], names);
	return cli_fail("cost", "there is no '%s'%s", argv[1], there);
}

int cmd_cost(int argc, char **argv)
{
	struct options options = { .output = NULL };
	const GOptionEntry entries[] = {
		{ "output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
		  "train: write the model", "MODEL" },
		{ "table", 't', 0, G_OPTION_ARG_FILENAME_ARRAY, &options.tables,
		  "a table of kernels, CSV with the columns device, op, shapes, type, time_us; "
		  "train: "
		  "learn of it (may be given several times); predict: ask for each of its rows",
		  "FILE" },
		{ "from", 0, 0, G_OPTION_ARG_FILENAME, &options.from,
		  "train: take communication and corrections over from another model", "MODEL" },
		{ "calls", 0, 0, G_OPTION_ARG_FILENAME, &options.calls,
		  "train: write what was learned of as such a table", "FILE" },
		{ "trees", 0, 0, G_OPTION_ARG_INT, &options.n_trees, "train: trees of a class",
		  "N" },
		{ "depth", 0, 0, G_OPTION_ARG_INT, &options.depth, "train: how deep trees are",
		  "N" },
		{ "min-rows", 0, 0, G_OPTION_ARG_INT, &options.min_rows,
		  "train: calls of a leaf, at least", "N" },
		{ "rate", 0, 0, G_OPTION_ARG_DOUBLE, &options.rate,
		  "train: how much of what a tree finds is taken", "X" },
		{ "op", 0, 0, G_OPTION_ARG_STRING, &options.op,
		  "predict: the operation, as in aten::mm; several that one kernel does, joined by "
		  "+",
		  "NAME" },
		{ "shapes", 's', 0, G_OPTION_ARG_STRING, &options.shapes,
		  "predict: of its inputs, as in [[8,16],[16,4]]; of several operations, between ;",
		  "SHAPES" },
		{ "type", 0, 0, G_OPTION_ARG_STRING, &options.type,
		  "predict: of its numbers: fp32 (the default), tf32, fp16, bf16, int8", "TYPE" },
		{ "device", 'd', 0, G_OPTION_ARG_STRING, &options.device,
		  "predict: where; without it, operations of a run where they were recorded",
		  "NAME" },
		{ "by", 0, 0, G_OPTION_ARG_STRING, &options.by,
		  "predict: by table, roofline, nearest or trees (default: what was least off on "
		  "what "
		  "was held out)",
		  "WAY" },
		{ "force", 'f', 0, G_OPTION_ARG_NONE, &options.is_forced,
		  "replace files that exist", NULL },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.with_json, "print JSON, for programs",
		  NULL },
		CLI_WIDTH_OPTIONS(0),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (cli_parse("cost", usage, description, entries, &argc, &argv))
		status = cli_finish("cost", run_verb(&options, argc, argv));
	g_free(options.output);
	g_free(options.calls);
	g_free(options.from);
	g_strfreev(options.tables);
	g_free(options.op);
	g_free(options.shapes);
	g_free(options.type);
	g_free(options.device);
	g_free(options.by);
	return status;
}
