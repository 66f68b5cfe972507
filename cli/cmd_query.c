/* cmd_query: SQL over a run: once, from a file or a pipe, or at a prompt. */
#include <string.h>
#include <unistd.h>

#include <tacho/query.h>

#include "cli.h"
#include "option_values.h"
#include "peer_processes.h"
#include "query_prompt.h"
#include "query_session.h"

static const gchar usage[] = "RUN... [SQL]";
static const gchar description[] =
	"Several RUNs are queried as one. Without SQL, statements are read from standard input, or "
	"at\n"
	"a prompt on a terminal. '.tables' lists the tables, '.schema TABLE' the columns of one.\n"
	"Times are in nanoseconds.\n"
	"\n"
	"Examples:\n"
	"  tacho query base.tacho \"SELECT name, count(*), sum(dur) FROM slice GROUP BY name\"\n"
	"  tacho query base.tacho \"SELECT * FROM step\" --format csv > steps.csv\n"
	"  tacho query base.tacho                            opens a prompt\n";

#define DEFAULT_TIMEOUT_S    600
#define DEFAULT_MEMORY_BYTES (G_GUINT64_CONSTANT(1) << 30)

struct options {
	gchar *format, *file, *memory;
	gint64 limit;
	gint timeout_s;
	gboolean is_json;
};

/* Whether the last argument is SQL rather than a run: there is no such file, and no file would be
 * called so. */
static gboolean is_sql(const gchar *argument)
{
	return !g_file_test(argument, G_FILE_TEST_EXISTS) &&
	       (strpbrk(argument, " \t\n(;") || argument[0] == '.');
}

static gboolean parse_format(const struct options *options, TachoQueryFormat *ret_format)
{
	GError *error = NULL;

	*ret_format = options->is_json ? TACHO_QUERY_FORMAT_JSON : TACHO_QUERY_FORMAT_TABLE;
	if (!options->format || tacho_query_format_find(options->format, ret_format, &error))
		return TRUE;
	g_prefix_error(&error, "--format: ");
	cli_fail_error("query", error);
	return FALSE;
}

/* The text of a file, "-" standard input; NULL with a message. */
static gchar *read_file(const gchar *path)
{
	GError *error = NULL;
	gchar *text = tacho_query_read_file(path, &error);

	if (!text)
		cli_fail_error("query", error);
	return text;
}

static int run_text(struct query_session *session, const gchar *text)
{
	GError *error = NULL;

	if (query_session_run(session, text, &error))
		return cli_finish("query", CLI_DONE);
	return cli_fail_error("query", error);
}

/* What a statement may take; 0: any. */
struct limits {
	guint timeout_s;
	guint64 memory_bytes;
};

/* `text` NULL: at the prompt. */
static int query_runs(TachoResultWriter *writer, const gchar *text, const struct limits *limits,
		      int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = cli_open_runs("query", argc, argv);
	g_autoptr(TachoQuery) query = NULL;
	struct query_session session = { .writer = writer };
	GError *error = NULL;

	if (!timeline)
		return CLI_BAD;
	query = tacho_query_open(timeline, &error);
	if (!query)
		return cli_fail_error("query", error);
	tacho_query_set_timeout(query, limits->timeout_s);
	tacho_query_limit_memory(limits->memory_bytes);
	session.query = query;
	if (text)
		return run_text(&session, text);
	query_prompt_run(&session);
	return cli_finish("query", CLI_DONE);
}

static int query_with(const struct options *options, int argc, char **argv)
{
	g_autoptr(TachoResultWriter) writer = NULL;
	g_autofree gchar *text = NULL;
	TachoQueryFormat format;
	struct limits limits = { (guint)options->timeout_s,
				 options->memory ? 0 : DEFAULT_MEMORY_BYTES };

	if (!parse_format(options, &format))
		return CLI_BAD;
	if (options->limit < 0)
		return cli_fail("query", "--limit must be a number of rows");
	if (options->timeout_s < 0)
		return cli_fail("query", "--timeout must be a number of seconds; 0: there is none");
	if (g_strcmp0(options->memory, "0") != 0 &&
	    !option_size("query", "--max-memory", options->memory, &limits.memory_bytes))
		return CLI_BAD;
	if (!options->file && argc > 2 && is_sql(argv[argc - 1])) {
		text = g_strdup(argv[--argc]);
	} else if (peer_processes_borrow() && (!options->file || strcmp(options->file, "-") == 0)) {
		/* a launcher gives standard input to the first alone */
		return cli_fail("query", "several processes need the SQL as an argument or in a "
					 "file (--file FILE)");
	} else if (options->file || (argc > 1 && !isatty(STDIN_FILENO))) {
		text = read_file(options->file ? options->file : "-");
		if (!text)
			return CLI_BAD;
	}
	writer =
		tacho_result_writer_new(format, stdout, cli_width(stdout), (guint64)options->limit);
	return query_runs(writer, text, &limits, argc, argv);
}

int cmd_query(int argc, char **argv)
{
	struct options options = { .timeout_s = DEFAULT_TIMEOUT_S };
	const GOptionEntry entries[] = {
		{ "format", 0, 0, G_OPTION_ARG_STRING, &options.format,
		  "table, csv, tsv, json or jsonl", "FORMAT" },
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json,
		  "print JSON: for each statement an array of row objects", NULL },
		{ "file", 'f', 0, G_OPTION_ARG_FILENAME, &options.file,
		  "read the SQL from a file; -: standard input", "FILE" },
		{ "limit", 'l', 0, G_OPTION_ARG_INT64, &options.limit,
		  "at most N rows of each result", "N" },
		{ "timeout", 0, 0, G_OPTION_ARG_INT, &options.timeout_s,
		  "stop what takes longer; 0: never (default: 600)", "S" },
		{ "max-memory", 0, 0, G_OPTION_ARG_STRING, &options.memory,
		  "stop what needs more memory; 0: never (default: 1G)", "SIZE" },
		CLI_WIDTH_OPTIONS('w'),
		G_OPTION_ENTRY_NULL,
	};
	int status = CLI_BAD;

	if (!peer_processes_begin("query", argc, argv))
		return CLI_BAD;
	if (cli_parse("query", usage, description, entries, &argc, &argv))
		status = query_with(&options, argc, argv);
	g_free(options.format);
	g_free(options.file);
	g_free(options.memory);
	return peer_processes_end("query", status);
}
