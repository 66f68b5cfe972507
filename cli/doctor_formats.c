#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tacho/correlate.h>
#include <tacho/export.h>
#include <tacho/import.h>

#include "doctor.h"
#include "trial.h"

#define LIMIT_S 30

/* Write the run as `target` has it, and read that back. NULL: as many slices came back; else why not. */
static gchar *try_format(const TachoTimeline *timeline, const gchar *target_name,
			 const gchar *scratch)
{
	const TachoExportOptions options = TACHO_EXPORT_OPTIONS_INIT;
	g_autofree gchar *path = g_build_filename(scratch, target_name, NULL);
	g_autoptr(GError) error = NULL;
	const TachoExportTarget *target = tacho_export_find(target_name, &error);
	g_autoptr(TachoTimeline) back = NULL;
	gboolean is_written = FALSE;

	if (target && target->write_folder) {
		g_mkdir(path, 0700);
		is_written = target->write_folder(timeline, &options, path, &error);
	} else if (target && target->write) {
		FILE *file = fopen(path, "wbe");

		is_written = file && target->write(timeline, &options, file, &error);
		if (file)
			fclose(file);
	}
	if (is_written)
		back = tacho_run_open((const gchar *const *)&path, 1, NULL, NULL, &error);
	if (!back)
		return g_strdup(error ? error->message : "it cannot be written");
	if (back->slices.n == timeline->slices.n)
		return NULL;
	return g_strdup_printf("%u slices became %u", timeline->slices.n, back->slices.n);
}

static void look_at_formats(Diagnosis *diagnosis, const TachoTimeline *timeline,
			    const gchar *scratch)
{
	static const gchar *const tried[] = { "chrome", "perfetto", "ctf" };
	g_autoptr(TachoTable) formats = tacho_import_list();

	diagnosis_add(diagnosis, "traces", FINDING_WORKS,
		      g_strdup_printf("%u formats can be read: tacho import --list",
				      tacho_table_n_rows(formats)),
		      NULL);
	for (guint i = 0; timeline && timeline->slices.n && i < G_N_ELEMENTS(tried); i++) {
		gchar *why = try_format(timeline, tried[i], scratch);

		diagnosis_add(diagnosis, tried[i], why ? FINDING_PARTLY : FINDING_WORKS,
			      why ? why : g_strdup("a small run was written and read back"),
			      why ? g_strdup("tacho --version says what this build has; "
					     "docs/dependencies.md "
					     "what it needs for more")
				  : NULL);
	}
}

static void look_at_tool(Diagnosis *diagnosis, const gchar *const *command, const gchar *what_for,
			 const gchar *package)
{
	g_autofree gchar *path = g_find_program_in_path(command[0]);
	g_autoptr(Trial) trial = path ? trial_run(command, LIMIT_S) : NULL;

	if (!path)
		diagnosis_add(
			diagnosis, command[0], FINDING_ABSENT,
			g_strdup_printf("is not installed; tacho does without: it %s", what_for),
			g_strdup_printf("Debian: apt install %s", package));
	else
		diagnosis_add(diagnosis, command[0],
			      trial->is_done ? FINDING_WORKS : FINDING_PARTLY,
			      trial->is_done ? g_strdup_printf("%s", what_for)
					     : g_strdup_printf("%s, but %s", what_for, trial->why),
			      NULL);
}

static void look_at_tools(Diagnosis *diagnosis, const gchar *scratch)
{
	g_autofree gchar *run = g_build_filename(scratch, DOCTOR_RUN, NULL);
	g_autofree gchar *dot = g_build_filename(scratch, "graph.dot", NULL);
	g_autofree gchar *page = g_build_filename(scratch, "page.html", NULL);
	const gchar *const babeltrace[] = { "babeltrace2", run, NULL };
	const gchar *const graphviz[] = { "dot", "-Tsvg", dot, NULL };
	const gchar *chromium[] = {
		"chromium", "--headless", "--disable-gpu", "--no-sandbox", "--dump-dom", page, NULL
	};

	g_file_set_contents(dot, "digraph { a -> b }", -1, NULL);
	g_file_set_contents(page, "<title>page</title>", -1, NULL);
	if (geteuid() != 0) { /* only root must do without the sandbox */
		chromium[3] = "--dump-dom";
		chromium[4] = page;
		chromium[5] = NULL;
	}
	look_at_tool(diagnosis, babeltrace, "prints the records of a run", "babeltrace2");
	look_at_tool(diagnosis, graphviz, "draws what tacho export --to dot writes", "graphviz");
	look_at_tool(diagnosis, chromium,
		     "shows what tacho export --to html writes, as any browser does", "chromium");
}

void doctor_formats(Diagnosis *diagnosis, const gchar *scratch)
{
	g_autofree gchar *run = g_build_filename(scratch, DOCTOR_RUN, NULL);
	g_autoptr(TachoTimeline) timeline =
		tacho_run_open((const gchar *const *)&run, 1, NULL, NULL, NULL);

	diagnosis_area(diagnosis, "Formats and tools");
	if (timeline)
		tacho_correlate(timeline);
	look_at_formats(diagnosis, timeline, scratch);
	look_at_tools(diagnosis, scratch);
}
