/* What holds of every what-if (what_if_properties.def), on made-up jobs of many kinds and on the traces of tests/data. */
#include <glib/gstdio.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "job_graph.h"
#include "job_text.h"
#include "predict/prediction.h"
#include "predicted.h"
#include "property_jobs.h"
#include "timeline_text.h"
#include "what_if_properties.h"

#define BESIDE TACHO_TEST_DATA "/two_ranks"

struct counts {
	guint n[PROPERTY_N_CLASSES][3];
	gboolean is_verbose;
	const gchar *name;
};

static void count(const struct property_answer *answer, gpointer data)
{
	struct counts *counts = data;

	counts->n[answer->class][answer->result]++;
	if (answer->result == PROPERTY_FAILS)
		g_test_message("%s: %s of %s fails: %s", counts->name,
			       property_class_name(answer->class), answer->key, answer->message);
}

static guint sum_of(const struct counts *counts, enum property_result result)
{
	guint sum = 0;

	for (guint i = 0; i < PROPERTY_N_CLASSES; i++)
		sum += counts->n[i][result];
	return sum;
}

static void ask(struct property_job *job, const gchar *name)
{
	struct counts counts = { .name = name };

	property_job_ask(job, count, &counts);
	g_test_message("%s: %u hold, %u fail, %u are refused", name,
		       sum_of(&counts, PROPERTY_HOLDS), sum_of(&counts, PROPERTY_FAILS),
		       sum_of(&counts, PROPERTY_NOT_ASKED));
	g_assert_cmpuint(sum_of(&counts, PROPERTY_HOLDS), >, 0);
	if (sum_of(&counts, PROPERTY_FAILS) > 0)
		g_test_fail_printf("%s: %u fail", name, sum_of(&counts, PROPERTY_FAILS));
}

static void test_table(void)
{
	g_autofree gchar *missing = properties_missing();

	g_assert_cmpstr(missing, ==, "");
}

/* One by one, changes are made in the order in which they are asked for: what would give something else is refused. */
static void test_one_by_one(void)
{
	static const gchar *const lists[][3] = {
		{ "drop:wait", "bandwidth=2x", "give it before drop:wait" },
		{ "drop:wait", "accumulate=2", "give it before drop:wait" },
		{ "accumulate=2", "scale:op~.=2", "give it before accumulate=" },
		{ "precision=fp16", "device=H100", "precision after device" },
	};
	g_autoptr(GPtrArray) made_up = made_up_jobs();

	for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
		const struct made_up_job *devices = g_ptr_array_index(made_up, MADE_UP_DEVICES);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(devices->text);
		g_autoptr(TachoGraph) graph = NULL;
		g_autoptr(GError) error = NULL;

		tacho_correlate(timeline);
		graph = replay_build_graph(timeline, -1, -1, NULL);
		g_assert_true(tacho_graph_what_if(graph, lists[i][0], NULL));
		g_assert_false(tacho_graph_what_if(graph, lists[i][1], &error));
		g_assert_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF);
		g_assert_nonnull(strstr(error->message, lists[i][2]));
	}
}

/* Two ways to pack gradients contradict each other. */
static void test_contradiction(void)
{
	assert_refused(job_buckets, "bucket_mb=2;fusion=1", "leave one of the two out");
	assert_refused(job_buckets, "fusion=1;bucket_mb=2", "leave one of the two out");
}

static void test_made_up(gconstpointer data)
{
	const struct made_up_job *made_up = data;
	g_autoptr(TachoTimeline) timeline = correlated(made_up->text);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-properties-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	struct property_job *job;

	job = property_job_new(timeline, BESIDE, folder, &error);
	g_assert_no_error(error);
	ask(job, made_up->name);
	property_job_free(job);
	g_rmdir(folder);
}

/* Links and workers of many ranks, in a random order; cores, of which moving bytes takes some. */
static void test_random(gconstpointer data)
{
	const struct job_shape *shape = data;
	g_autoptr(TachoTimeline) timeline = tacho_timeline_new();
	TachoGraph *graph = job_graph_new(timeline, shape);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-properties-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	struct property_job *job;

	g_assert_true(graph_freeze(graph, &error));
	job = property_job_new_of_graph(graph, BESIDE, folder);
	ask(job, "random");
	property_job_free(job);
	g_rmdir(folder);
}

static void test_trace(gconstpointer data)
{
	const gchar *name = data;
	g_autofree gchar *path = g_build_filename(TACHO_TEST_DATA, name, NULL);
	const gchar *paths[] = { path };
	g_autofree gchar *folder = g_dir_make_tmp("tacho-properties-XXXXXX", NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(paths, 1, NULL, NULL, &error);
	struct property_job *job;

	g_assert_no_error(error);
	tacho_correlate(timeline);
	job = property_job_new(timeline, BESIDE, folder, &error);
	g_assert_no_error(error);
	ask(job, name);
	property_job_free(job);
	g_rmdir(folder);
}

static const struct job_shape links = {
	.n_ranks = 4,
	.ranks_per_host = 2,
	.n_ops = 400,
	.n_steps = 4,
	.ops_per_collective = 20,
	.ops_to_wait = 30,
	.gradients_per_collective = 4,
	.gradient_bytes = 262144,
	.n_workers = 2,
	.op_ns = 20000,
	.transfer_ns = 300000,
	.seed = 7,
};
static const struct job_shape cores = {
	.n_ranks = 4,
	.ranks_per_host = 4,
	.n_ops = 400,
	.n_steps = 4,
	.ops_per_collective = 20,
	.ops_to_wait = 30,
	.gradients_per_collective = 4,
	.gradient_bytes = 262144,
	.n_workers = 2,
	.n_cores = 3,
	.taken_share = 0.2,
	.op_ns = 20000,
	.transfer_ns = 300000,
	.seed = 8,
};

static const struct job_shape waits = {
	.n_ranks = 4,
	.ranks_per_host = 1,
	.n_ops = 400,
	.n_steps = 4,
	.ops_per_collective = 20,
	.ops_to_wait = 30,
	.gradients_per_collective = 4,
	.gradient_bytes = 262144,
	.n_workers = 2,
	.taken_share = 0.2,
	.core_wait_ns = 5000,
	.op_ns = 20000,
	.transfer_ns = 300000,
	.seed = 9,
};

int main(int argc, char **argv)
{
	static const gchar *const traces[] = {
		"kineto_gloo",	  "byteprofile_ring", "byteprofile_tree",
		"byteps_servers", "two_ranks",	      "dpro/tf_horovod",
	};
	g_autoptr(GPtrArray) made_up = made_up_jobs();
	int status;

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/what_if_properties/table", test_table);
	g_test_add_func("/what_if_properties/one_by_one", test_one_by_one);
	g_test_add_func("/what_if_properties/contradiction", test_contradiction);
	for (guint i = 0; i < made_up->len; i++) {
		const struct made_up_job *job = g_ptr_array_index(made_up, i);
		g_autofree gchar *path =
			g_strdup_printf("/what_if_properties/made_up/%s", job->name);

		g_test_add_data_func(path, job, test_made_up);
	}
	g_test_add_data_func("/what_if_properties/random/links", &links, test_random);
	g_test_add_data_func("/what_if_properties/random/cores", &cores, test_random);
	g_test_add_data_func("/what_if_properties/random/waits", &waits, test_random);
	for (guint i = 0; i < G_N_ELEMENTS(traces); i++) {
		g_autofree gchar *path = g_strdup_printf("/what_if_properties/trace/%s", traces[i]);

		g_test_add_data_func(path, traces[i], test_trace);
	}
	status = g_test_run();
	return status;
}
