/* cmd_watch: say what is wrong with jobs while they run. */
#include <errno.h>
#include <string.h>
#include <tacho/info.h>
#include <tacho/live.h>

#include "cli.h"
#include "follow_report.h"
#include "run_copy.h"
#include "base/json_writer.h"

#define PAUSE_MS 250

static const gchar usage[] = "[RUN...]";
static const gchar description[] =
	"Without RUN it watches all jobs that you are recording on this host, until it is\n"
	"interrupted; else until the runs are over. It exits with 1 where something was found.\n"
	"\n"
	"Findings:\n"
	"  hang           ranks wait in a collective for others\n"
	"  mismatch       ranks wait in different collectives\n"
	"  stall          no step ends, though no rank waits for another\n"
	"  rank_gone      a rank has failed\n"
	"  slow_steps     steps take longer than they did\n"
	"  straggler      others wait for one rank, step by step\n"
	"  loader         steps wait for their data\n"
	"  memory_growth  memory grows with every step\n"
	"\n"
	"Examples:\n"
	"  tacho watch                             all jobs of this host\n"
	"  tacho watch --dump kept                 and keep what led to it (see 'tacho record "
	"--keep-last')\n"
	"  tacho watch run.tacho --first || mail -s 'job in trouble' me <run.log\n";

struct options {
	gchar *dump; /* the folder that runs are kept in; NULL: they are not */
	gboolean is_json, is_first;
	gint seconds;
};

static void print_text(const TachoJob *job, const TachoFinding *finding)
{
	g_autoptr(GDateTime) time = g_date_time_new_from_unix_local(finding->unix_ns / 1000000000);
	g_autofree gchar *clock = g_date_time_format(time, "%H:%M:%S");
	g_autofree gchar *path = tacho_printable(job->path);

	printf("%s %s: %s: %s\n", clock, path, tacho_finding_name(finding->kind), finding->what);
	if (finding->evidence && *finding->evidence)
		printf("  evidence: %s\n", finding->evidence);
	printf("  next: %s\n", finding->command);
}

static void print_json(const TachoJob *job, const TachoFinding *finding)
{
	g_autoptr(JsonWriter) json = json_writer_new(stdout);

	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "run"), job->path);
	json_writer_string(json_writer_key(json, "kind"), tacho_finding_name(finding->kind));
	if (finding->rank < 0)
		json_writer_null(json_writer_key(json, "rank"));
	else
		json_writer_integer(json_writer_key(json, "rank"), finding->rank);
	json_writer_integer(json_writer_key(json, "found_unix_ns"), finding->unix_ns);
	json_writer_integer(json_writer_key(json, "since_unix_ns"), finding->since_unix_ns);
	json_writer_integer(json_writer_key(json, "step"), finding->step);
	json_writer_string(json_writer_key(json, "what"), finding->what);
	json_writer_string(json_writer_key(json, "evidence"), finding->evidence);
	json_writer_string(json_writer_key(json, "command"), finding->command);
	json_writer_end_object(json);
	json_writer_finish(json);
}

/* Keep the run as it is at the finding, if none of this kind was there before in the job. */
static void keep_run(const struct options *options, const TachoJob *job, guint n)
{
	const GPtrArray *findings = tacho_detector_borrow_findings(job->detector);
	const TachoFinding *finding = g_ptr_array_index(findings, n);
	g_autofree gchar *name = NULL, *path = NULL;
	g_autofree gchar *run = g_path_get_basename(job->path);
	g_autoptr(GError) error = NULL;
	guint64 bytes;

	for (guint i = 0; i < n; i++)
		if (((const TachoFinding *)g_ptr_array_index(findings, i))->kind == finding->kind)
			return;
	name = run_copy_name(run, tacho_finding_name(finding->kind));
	path = g_build_filename(options->dump, name, NULL);
	if (run_copy(job->path, path, &bytes, &error))
		fprintf(stderr, "tacho: kept in %s\n", path);
	else
		cli_fail("watch", "%s", error->message);
}

/* Print what is new; `told` has how many findings of each job were printed. */
static guint print_new(const struct options *options, const GPtrArray *all, GHashTable *told)
{
	guint n_printed = 0;

	for (guint i = 0; i < all->len; i++) {
		const TachoJob *job = g_ptr_array_index(all, i);
		const GPtrArray *findings = tacho_detector_borrow_findings(job->detector);
		guint n = GPOINTER_TO_UINT(g_hash_table_lookup(told, job));

		for (; n < findings->len; n++, n_printed++) {
			(options->is_json ? print_json
					  : print_text)(job, g_ptr_array_index(findings, n));
			if (options->dump)
				keep_run(options, job, n);
		}
		g_hash_table_insert(told, (gpointer)job, GUINT_TO_POINTER(n));
	}
	fflush(stdout);
	return n_printed;
}

/* Whether runs that were named need no more looks. */
static gboolean are_over(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++)
		if (!((const TachoJob *)g_ptr_array_index(all, i))->is_over)
			return FALSE;
	return TRUE;
}

static gboolean is_behind(const GPtrArray *all)
{
	for (guint i = 0; i < all->len; i++) {
		const TachoJob *job = g_ptr_array_index(all, i);

		if (!job->is_over && !job->error && tacho_follow_is_behind(job->follow))
			return TRUE;
	}
	return FALSE;
}

#define PATIENCE_S 10 /* for a run that is not there yet */

/* The first run that could not be read for that long is the end. */
static const TachoJob *find_unreadable(const GPtrArray *all, gint64 begun_us)
{
	for (guint i = 0; i < all->len; i++) {
		const TachoJob *job = g_ptr_array_index(all, i);

		if (job->error && g_get_monotonic_time() - begun_us > PATIENCE_S * G_USEC_PER_SEC)
			return job;
	}
	return NULL;
}

static int watch(const struct options *options, int argc, char **argv)
{
	g_autoptr(TachoJobs) jobs = tacho_jobs_new((const gchar *const *)argv + 1, (guint)argc - 1);
	g_autoptr(GHashTable) told = g_hash_table_new(NULL, NULL);
	gint64 begun_us = g_get_monotonic_time();
	guint n_findings = 0;

	for (;;) {
		const GPtrArray *all = tacho_jobs_borrow(jobs);
		const TachoJob *unreadable;

		tacho_jobs_look(jobs);
		n_findings += print_new(options, all, told);
		unreadable = argc > 1 ? find_unreadable(all, begun_us) : NULL;
		if (unreadable)
			return cli_fail("watch", "%s", unreadable->error);
		if (follow_is_interrupted() || ferror(stdout) || (argc > 1 && are_over(all)) ||
		    (options->is_first && n_findings) ||
		    (options->seconds &&
		     g_get_monotonic_time() - begun_us > options->seconds * G_USEC_PER_SEC))
			break;
		if (!is_behind(all))
			follow_pause(PAUSE_MS);
	}
	return cli_finish("watch", n_findings ? CLI_NO : CLI_DONE);
}

int cmd_watch(int argc, char **argv)
{
	g_autofree gchar *dump = NULL;
	struct options options = { 0 };
	const GOptionEntry entries[] = {
		{ "json", 'j', 0, G_OPTION_ARG_NONE, &options.is_json,
		  "print JSON, a line a finding", NULL },
		{ "first", 0, 0, G_OPTION_ARG_NONE, &options.is_first, "end with the first finding",
		  NULL },
		{ "seconds", 0, 0, G_OPTION_ARG_INT, &options.seconds, "end after N seconds", "N" },
		{ "dump", 0, 0, G_OPTION_ARG_FILENAME, &dump,
		  "keep the run as it is then, in this folder, at the first finding of each kind",
		  "DIR" },
		G_OPTION_ENTRY_NULL,
	};

	if (!cli_parse("watch", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (options.seconds < 0)
		return cli_fail("watch", "--seconds takes a number of seconds, not %d",
				options.seconds);
	if (dump && g_mkdir_with_parents(dump, 0700) < 0)
		return cli_fail("watch", "--dump: cannot make %s: %s", dump, g_strerror(errno));
	options.dump = dump;
	follow_begin();
	return watch(&options, argc, argv);
}
