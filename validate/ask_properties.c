/* ask_properties: what holds of every what-if (tests/support/what_if_properties.def), asked of one recording:
 *
 *     ask_properties BESIDE RUN...
 *
 * Prints a line for each property asked: class, key, "holds", "fails" or "refused", and what came out, between tabs. BESIDE is
 * the run for what-ifs that need another one. Exit 0: it was asked; 2: there is nothing to replay. */
#include <glib/gstdio.h>
#include <stdio.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "what_if_properties.h"

static void print(const struct property_answer *answer, gpointer data)
{
	static const gchar *const results[] = { "holds", "fails", "refused" };

	(void)data;
	printf("%s\t%s\t%s\t%s\n", property_class_name(answer->class), answer->key,
	       results[answer->result], answer->message);
}

int main(int argc, char **argv)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-properties-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = NULL;
	struct property_job *job = NULL;

	if (argc < 3 || !folder)
		return 1;
	timeline =
		tacho_run_open((const gchar *const *)argv + 2, (guint)argc - 2, NULL, NULL, &error);
	if (timeline) {
		tacho_correlate(timeline);
		job = property_job_new(timeline, argv[1], folder, &error);
	}
	if (job)
		property_job_ask(job, print, NULL);
	else
		fprintf(stderr, "%s\n", error->message);
	property_job_free(job);
	g_rmdir(folder);
	return job ? 0 : 2;
}
