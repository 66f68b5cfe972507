#include "live/fleet.h"

#include <errno.h>
#include <string.h>
#include <tacho/info.h>
#include <unistd.h>

#include "base/for_each.h"
#include "base/json_memory.h"
#include "live/fleet_answer.h"
#include "live/http_client.h"
#include "live/quiet_thread.h"

#define PERIOD_US     (2 * G_USEC_PER_SEC)
#define MAX_PERIOD_US (30 * G_USEC_PER_SEC)
#define TIMEOUT_MS    5000
#define MAX_BYTES     (4 << 20) /* of an answer */
#define MAX_WANTED    16	/* jobs of a host that somebody looks at */
#define WANTED_US     (10 * G_USEC_PER_SEC)
#define DEFAULT_PORT  ":9460"

/* A job that somebody looks at. */
struct wanted {
	guint id; /* as the host has it */
	gint64 until_us;
	gchar *json; /* NULL: nothing has come yet */
};

struct host {
	Fleet *fleet;
	gchar *url, *shown, *name;
	guint first_id;

	/* of the thread */
	gint64 next_us;
	guint n_failures;
	gboolean is_asked;
	guint asked_id; /* of the wanted job that is asked for */

	/* guarded by the fleet's lock */
	gboolean is_up;
	gint64 since_unix_ns, answer_unix_ns; /* when `is_up` changed; 0: it never answered */
	gchar *failure;
	FleetJobs *jobs;    /* NULL: none was told yet */
	LiveSeries *series; /* NULL where it is not up */
	GArray *wanted;	    /* struct wanted, by id */
	gboolean is_hurried;
};

struct _Fleet {
	GPtrArray *hosts; /* struct host */
	gchar *token_header, *ca_file;
	HttpClient *client;
	pthread_t thread;
	pthread_mutex_t lock;
	gboolean is_ending; /* guarded */
};

static gint64 now_unix_ns(void)
{
	return g_get_real_time() * 1000;
}

static void clear_wanted(gpointer wanted)
{
	g_free(((struct wanted *)wanted)->json);
}

static void host_free(gpointer pointer)
{
	struct host *host = pointer;

	g_free(host->url);
	g_free(host->shown);
	g_free(host->name);
	g_free(host->failure);
	fleet_jobs_free(host->jobs);
	live_series_free(host->series);
	g_array_unref(host->wanted);
	g_free(host);
}

/* --- asking ---------------------------------------------------------------------------------- */

static void fail(struct host *host, const gchar *why)
{
	Fleet *fleet = host->fleet;

	host->is_asked = FALSE;
	host->next_us =
		g_get_monotonic_time() + MIN(PERIOD_US << MIN(host->n_failures, 4), MAX_PERIOD_US);
	host->n_failures++;
	pthread_mutex_lock(&fleet->lock);
	if (host->is_up)
		host->since_unix_ns = now_unix_ns();
	host->is_up = FALSE;
	g_free(host->failure);
	host->failure = tacho_printable(why);
	g_clear_pointer(&host->series, live_series_free);
	pthread_mutex_unlock(&fleet->lock);
}

/* Whether it is one to be read; else the host has failed. */
static gboolean is_good(struct host *host, const HttpAnswer *answer)
{
	g_autofree gchar *why = NULL;

	if (answer->is_cut)
		why = g_strdup_printf("its answer has more than %d MiB", MAX_BYTES >> 20);
	else if (!answer->status)
		why = g_strdup(answer->failure);
	else if (answer->status != 200)
		why = g_strdup_printf("status %u", answer->status);
	else
		return TRUE;
	fail(host, why);
	return FALSE;
}

static void ask(struct host *host, const gchar *path, HttpDone done)
{
	Fleet *fleet = host->fleet;
	g_autofree gchar *url = g_strdup_printf("%s%s", host->url, path);
	const gchar *headers[] = { fleet->token_header, NULL };
	const HttpRequest request = { .url = url,
				      .headers = headers,
				      .ca_file = fleet->ca_file,
				      .timeout_ms = TIMEOUT_MS,
				      .max_bytes = MAX_BYTES };

	if (!http_client_send(fleet->client, &request, done, host))
		fail(host, "the HTTP library refuses the request");
}

static void ask_for_wanted(struct host *host);

static void take_wanted(const HttpAnswer *answer, gpointer data)
{
	struct host *host = data;
	gboolean is_answer = answer->status == 200 && !answer->is_cut;
	gchar *json = NULL;

	if (!answer->status) { /* else each job that is looked at would take as long again */
		fail(host, answer->failure);
		return;
	}
	if (is_answer)
		json = fleet_job_read(answer->body->str, answer->body->len, host->name,
				      host->first_id + host->asked_id);
	pthread_mutex_lock(&host->fleet->lock);
	FOR_EACH(struct wanted, wanted, host->wanted) {
		if (wanted->id != host->asked_id || !json)
			continue;
		g_free(wanted->json);
		wanted->json = g_steal_pointer(&json);
	}
	pthread_mutex_unlock(&host->fleet->lock);
	g_free(json);
	ask_for_wanted(host);
}

/* The next wanted job behind the one that was asked for; those that nobody looks at any more are forgotten. */
static void ask_for_wanted(struct host *host)
{
	gint64 now_us = g_get_monotonic_time();
	guint before = host->asked_id;
	g_autofree gchar *path = NULL;

	pthread_mutex_lock(&host->fleet->lock);
	for (guint i = host->wanted->len; i-- > 0;)
		if (g_array_index(host->wanted, struct wanted, i).until_us < now_us)
			g_array_remove_index(host->wanted, i);
	FOR_EACH(const struct wanted, wanted, host->wanted)
		if (wanted->id > before && host->asked_id == before)
			host->asked_id = wanted->id;
	pthread_mutex_unlock(&host->fleet->lock);
	if (host->asked_id == before) {
		host->is_asked = FALSE;
		host->next_us = now_us + PERIOD_US;
		return;
	}
	path = g_strdup_printf("/api/jobs/%u", host->asked_id);
	ask(host, path, take_wanted);
}

static void take_metrics(const HttpAnswer *answer, gpointer data)
{
	struct host *host = data;
	LiveSeries *series, *old;

	if (!is_good(host, answer))
		return;
	series = live_series_new_empty();
	fleet_metrics_read(answer->body->str, host->name, host->first_id, series);
	pthread_mutex_lock(&host->fleet->lock);
	if (!host->is_up)
		host->since_unix_ns = now_unix_ns();
	host->is_up = TRUE;
	host->answer_unix_ns = now_unix_ns();
	old = host->series;
	host->series = series;
	g_clear_pointer(&host->failure, g_free);
	pthread_mutex_unlock(&host->fleet->lock);
	live_series_free(old);
	host->n_failures = 0;
	host->asked_id = 0;
	ask_for_wanted(host);
}

static void take_jobs(const HttpAnswer *answer, gpointer data)
{
	struct host *host = data;
	FleetJobs *jobs, *old;

	if (!is_good(host, answer))
		return;
	jobs = fleet_jobs_read(answer->body->str, answer->body->len, host->name, host->first_id);
	if (!jobs) {
		fail(host, "its answer is no list of jobs");
		return;
	}
	pthread_mutex_lock(&host->fleet->lock);
	old = host->jobs;
	host->jobs = jobs;
	pthread_mutex_unlock(&host->fleet->lock);
	fleet_jobs_free(old);
	ask(host, "/metrics?" FLEET_OWN "=1", take_metrics);
}

static void *gather(void *data)
{
	Fleet *fleet = data;

	for (;;) {
		gint64 now_us = g_get_monotonic_time(), next_us = now_us + G_USEC_PER_SEC;
		gboolean is_ending;

		pthread_mutex_lock(&fleet->lock);
		is_ending = fleet->is_ending;
		FOR_EACH_POINTER(struct host, host, fleet->hosts) {
			if (host->is_hurried && !host->is_asked && host->is_up)
				host->next_us = now_us;
			host->is_hurried &= host->is_asked;
		}
		pthread_mutex_unlock(&fleet->lock);
		if (is_ending)
			return NULL;
		FOR_EACH_POINTER(struct host, host, fleet->hosts) {
			if (host->is_asked)
				continue;
			if (host->next_us <= now_us) {
				host->is_asked = TRUE;
				ask(host, "/api/jobs?" FLEET_OWN "=1", take_jobs);
			}
			next_us = MIN(next_us, MAX(host->next_us, now_us + 1000));
		}
		http_client_work(fleet->client, (guint)((next_us - now_us) / 1000));
	}
}

/* --- beginning and end ----------------------------------------------------------------------- */

static gboolean add_host(Fleet *fleet, const gchar *url, GError **error)
{
	struct host *host = g_new0(struct host, 1);

	host->fleet = fleet;
	host->wanted = g_array_new(FALSE, FALSE, sizeof(struct wanted));
	g_array_set_clear_func(host->wanted, clear_wanted);
	g_ptr_array_add(fleet->hosts, host);
	host->first_id = fleet->hosts->len * FLEET_IDS;
	host->since_unix_ns = now_unix_ns();
	if (!http_client_check_url(url, NULL, &host->url, &host->shown, error))
		return FALSE;
	while (g_str_has_suffix(host->url, "/"))
		host->url[strlen(host->url) - 1] = '\0';
	host->name = live_series_text(strstr(host->shown, "://") + strlen("://"), LIVE_LABEL_BYTES);
	while (g_str_has_suffix(host->name, "/"))
		host->name[strlen(host->name) - 1] = '\0';
	if (g_str_has_suffix(host->name, DEFAULT_PORT))
		host->name[strlen(host->name) - strlen(DEFAULT_PORT)] = '\0';
	if (strpbrk(url, "?#")) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "'%s' is not the page of a tacho serve, such as http://node2:9460",
			    host->shown);
		return FALSE;
	}
	for (guint i = 0; i + 1 < fleet->hosts->len; i++) {
		const struct host *other = g_ptr_array_index(fleet->hosts, i);

		if (strcmp(other->name, host->name) != 0)
			continue;
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s is named twice",
			    host->shown);
		return FALSE;
	}
	return TRUE;
}

static void release(Fleet *fleet)
{
	http_client_free(fleet->client);
	g_ptr_array_unref(fleet->hosts);
	pthread_mutex_destroy(&fleet->lock);
	g_free(fleet->token_header);
	g_free(fleet->ca_file);
	g_free(fleet);
}

Fleet *fleet_new(const gchar *const *urls, const gchar *token, const gchar *ca_file, GError **error)
{
	Fleet *fleet = g_new0(Fleet, 1);
	int status = ENOMEM;

	fleet->hosts = g_ptr_array_new_with_free_func(host_free);
	fleet->token_header = token ? g_strdup_printf("Authorization: Bearer %s", token) : NULL;
	fleet->ca_file = g_strdup(ca_file);
	pthread_mutex_init(&fleet->lock, NULL);
	if (g_strv_length((gchar **)urls) > FLEET_MAX_HOSTS) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "the jobs of at most %d hosts are gathered", FLEET_MAX_HOSTS);
		release(fleet);
		return NULL;
	}
	for (; *urls; urls++)
		if (!add_host(fleet, *urls, error)) {
			release(fleet);
			return NULL;
		}
	fleet->client = http_client_new();
	if (fleet->client)
		status = quiet_thread_begin(&fleet->thread, gather, fleet);
	if (!status)
		return fleet;
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(status),
		    "cannot begin to gather from other hosts: %s", g_strerror(status));
	release(fleet);
	return NULL;
}

void fleet_free(Fleet *fleet)
{
	if (!fleet)
		return;
	pthread_mutex_lock(&fleet->lock);
	fleet->is_ending = TRUE;
	pthread_mutex_unlock(&fleet->lock);
	http_client_wake(fleet->client);
	pthread_join(fleet->thread, NULL);
	release(fleet);
}

/* --- what is known --------------------------------------------------------------------------- */

void fleet_add_series(Fleet *fleet, LiveSeries *series)
{
	if (!fleet)
		return;
	pthread_mutex_lock(&fleet->lock);
	FOR_EACH_POINTER(const struct host, host, fleet->hosts) {
		live_series_add(series, SERIES_tacho_host_up, "host", host->name, host->is_up, 0);
		if (host->answer_unix_ns)
			live_series_add(series, SERIES_tacho_host_answer_timestamp_seconds, "host",
					host->name, (gdouble)host->answer_unix_ns / 1e9, 0);
		if (host->series)
			live_series_append(series, host->series);
	}
	pthread_mutex_unlock(&fleet->lock);
}

void fleet_append_jobs(Fleet *fleet, GString *json)
{
	if (!fleet)
		return;
	pthread_mutex_lock(&fleet->lock);
	FOR_EACH_POINTER(const struct host, host, fleet->hosts)
		if (host->jobs)
			g_string_append(json,
					host->is_up ? host->jobs->rows : host->jobs->silent_rows);
	pthread_mutex_unlock(&fleet->lock);
}

static void write_host(JsonWriter *json, const struct host *host)
{
	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "host"), host->name);
	json_writer_string(json_writer_key(json, "url"), host->shown);
	json_writer_string(json_writer_key(json, "state"), host->is_up ? "running" : "silent");
	json_writer_integer(json_writer_key(json, "since_unix_ns"), host->since_unix_ns);
	if (host->answer_unix_ns)
		json_writer_integer(json_writer_key(json, "answer_unix_ns"), host->answer_unix_ns);
	else
		json_writer_null(json_writer_key(json, "answer_unix_ns"));
	json_writer_integer(json_writer_key(json, "jobs"), host->jobs ? host->jobs->ids->len : 0);
	json_writer_integer(json_writer_key(json, "jobs_left_out"),
			    host->jobs ? host->jobs->n_left_out : 0);
	json_writer_string(json_writer_key(json, "error"), host->failure);
	json_writer_end_object(json);
}

gchar *fleet_hosts_json(Fleet *fleet)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);
	gchar *text;

	if (!json)
		return g_strdup("[]");
	json_writer_begin_array(json);
	if (fleet) {
		pthread_mutex_lock(&fleet->lock);
		FOR_EACH_POINTER(const struct host, host, fleet->hosts)
			write_host(json, host);
		pthread_mutex_unlock(&fleet->lock);
	}
	json_writer_end_array(json);
	text = json_memory_take(&memory, json);
	return text ? text : g_strdup("[]");
}

static gboolean has_job(const struct host *host, guint id)
{
	for (guint i = 0; host->jobs && i < host->jobs->ids->len; i++)
		if (g_array_index(host->jobs->ids, guint, i) == id)
			return TRUE;
	return FALSE;
}

/* The host is asked for it for a while, and soon if it was not before. */
static struct wanted *want(struct host *host, guint id)
{
	gint64 until_us = g_get_monotonic_time() + WANTED_US;
	struct wanted added = { .id = id, .until_us = until_us };
	guint place = 0;

	FOR_EACH(struct wanted, wanted, host->wanted) {
		if (wanted->id == id) {
			wanted->until_us = until_us;
			return wanted;
		}
		place += wanted->id < id;
	}
	if (host->wanted->len >= MAX_WANTED)
		return NULL;
	g_array_insert_val(host->wanted, place, added);
	host->is_hurried = TRUE;
	http_client_wake(host->fleet->client);
	return &g_array_index(host->wanted, struct wanted, place);
}

gchar *fleet_job_json(Fleet *fleet, guint id, gboolean *ret_is_known)
{
	guint number = id / FLEET_IDS;
	struct host *host;
	const struct wanted *wanted;
	gchar *json = NULL;

	*ret_is_known = FALSE;
	if (!fleet || !number || number > fleet->hosts->len)
		return NULL;
	host = g_ptr_array_index(fleet->hosts, number - 1);
	pthread_mutex_lock(&fleet->lock);
	*ret_is_known = has_job(host, id % FLEET_IDS);
	wanted = *ret_is_known ? want(host, id % FLEET_IDS) : NULL;
	json = wanted ? g_strdup(wanted->json) : NULL;
	pthread_mutex_unlock(&fleet->lock);
	return json;
}
