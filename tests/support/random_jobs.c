#include "random_jobs.h"

#include "exchange_jobs.h"
#include "message_jobs.h"
#include "property_jobs.h"
#include "random_job.h"

static void add(GPtrArray *jobs, const gchar *kind, guint32 seed, gchar *text)
{
	struct made_up_job *job = g_new0(struct made_up_job, 1);
	g_autofree gchar *name = g_strdup_printf("%s %u", kind, seed);

	job->name = g_intern_string(name);
	job->text = text;
	g_ptr_array_add(jobs, job);
}

static void add_some(GPtrArray *jobs, const gchar *kind, guint32 n, gchar *(*make)(guint32 seed))
{
	for (guint32 seed = 1; seed <= n; seed++)
		add(jobs, kind, seed, make(seed));
}

static void add_messages(GPtrArray *jobs, guint n)
{
	add(jobs, "sends", n, g_string_free(message_pipeline(n, 20), FALSE));
	add(jobs, "gather", n, g_string_free(message_gather(n), FALSE));
	add(jobs, "broadcast", n, g_string_free(message_broadcast(n), FALSE));
	add(jobs, "ring of messages", n, g_string_free(message_ring(n), FALSE));
	add(jobs, "all to all", n, g_string_free(message_all_to_all(n), FALSE));
}

static void add_batches(GPtrArray *jobs)
{
	static const gint64 compute_us[] = { 300, 200, 250 };
	struct exchange exchange;

	exchange_both_ways(&exchange, 3, 3, compute_us);
	exchange_play(&exchange);
	add(jobs, "batches of four", 3, exchange_text(&exchange));
	exchange_release(&exchange);
	exchange_pipeline(&exchange, 3, 4, compute_us);
	exchange_play(&exchange);
	add(jobs, "batches of two", 3, exchange_text(&exchange));
	exchange_release(&exchange);
}

static void free_job(gpointer data)
{
	struct made_up_job *job = data;

	g_free(job->text);
	g_free(job);
}

GPtrArray *random_jobs(guint n_of_a_kind)
{
	GPtrArray *jobs = g_ptr_array_new_with_free_func(free_job);

	add_some(jobs, "hosts", n_of_a_kind, random_hosts_text);
	add_some(jobs, "devices", n_of_a_kind, random_devices_text);
	add_some(jobs, "contended", MIN(n_of_a_kind, 14), random_contention_text);
	add_some(jobs, "messages", MIN(n_of_a_kind, 8), random_messages_text);
	add_some(jobs, "hops", n_of_a_kind, random_hops_text);
	add_messages(jobs, 2);
	add_messages(jobs, 4);
	add_batches(jobs);
	return jobs;
}
