#include "live/otlp_push.h"

#include <errno.h>
#include <string.h>
#include <tacho/info.h>

#include "live/http_client.h"
#include "live/otlp_message.h"
#include "live/quiet_thread.h"

#define MAX_WAITING	 64
#define MAX_BYTES	 (32 << 20) /* that wait */
#define MAX_ANSWER_BYTES (4 << 20)  /* as the protocol recommends */
#define MAX_NEWS	 4096
#define FIRST_PAUSE_US	 G_USEC_PER_SEC
#define MAX_PAUSE_US	 (30 * G_USEC_PER_SEC)
#define MAX_ASKED_S	 600 /* that a receiver may ask for */
#define IDLE_MS		 60000
#define LAST_US		 G_USEC_PER_SEC /* for what waits when it ends */

/* How the receiver behaves; a change is told, once. */
enum state {
	STATE_TAKES,
	STATE_REJECTS, /* some points */
	STATE_REFUSES,
	STATE_SILENT, /* or asks to come again */
};

struct _OtlpPush {
	OtlpSettings settings;
	HttpClient *client;
	pthread_t thread;
	gint64 begin_unix_ns;
	gint64 next_us; /* when figures are due; of who offers */

	pthread_mutex_t lock; /* guards: */
	GQueue queue;	      /* GBytes, the oldest first */
	gsize n_bytes;	      /* in it */
	guint64 n_taken, n_refused, n_dropped;
	guint64 n_lost; /* of the two latter, when one was taken last */
	GString *news;
	gboolean is_under_way; /* `current` is there */
	gint64 until_us;       /* when to end at the latest; 0: not asked to */

	/* of the thread */
	GBytes *current;
	gint64 not_before_us;
	guint n_failures; /* of `current`, one after the other */
	enum state state;
};

/* --- what is told ---------------------------------------------------------------------------- */

static void tell_locked(OtlpPush *push, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static void tell_locked(OtlpPush *push, const gchar *format, ...)
{
	va_list arguments;

	if (push->news->len > MAX_NEWS)
		return;
	va_start(arguments, format);
	g_string_append_vprintf(push->news, format, arguments);
	va_end(arguments);
	g_string_append_c(push->news, '\n');
}

static void tell_state(OtlpPush *push, enum state state, const gchar *why)
{
	guint64 n_lost;

	if (state == push->state)
		return;
	pthread_mutex_lock(&push->lock);
	n_lost = push->n_dropped + push->n_refused;
	switch (state) {
	case STATE_TAKES:
		tell_locked(push,
			    "%s takes metrics again; %" G_GUINT64_FORMAT " requests were lost",
			    push->settings.shown, n_lost - push->n_lost);
		break;
	case STATE_REJECTS:
		tell_locked(push, "%s takes metrics, but says: %s", push->settings.shown, why);
		break;
	case STATE_REFUSES:
		tell_locked(push, "%s refuses metrics, and they are dropped: %s",
			    push->settings.shown, why);
		break;
	case STATE_SILENT:
		tell_locked(push, "cannot push metrics to %s, and will try again: %s",
			    push->settings.shown, why);
	}
	pthread_mutex_unlock(&push->lock);
	push->state = state;
}

/* --- the thread ------------------------------------------------------------------------------ */

static void end_current(OtlpPush *push, guint64 *counter)
{
	pthread_mutex_lock(&push->lock);
	++*counter;
	push->is_under_way = FALSE;
	pthread_mutex_unlock(&push->lock);
	g_clear_pointer(&push->current, g_bytes_unref);
	push->n_failures = 0;
}

static void take_success(OtlpPush *push, const HttpAnswer *answer)
{
	gint64 n_rejected = 0;
	g_autofree gchar *text = NULL, *why = NULL;

	end_current(push, &push->n_taken);
	if (otlp_message_read_answer((const guint8 *)answer->body->str, answer->body->len, TRUE,
				     &n_rejected, &text)) {
		why = g_strdup_printf("%" G_GINT64_FORMAT " points were rejected: %s", n_rejected,
				      text);
		tell_state(push, STATE_REJECTS, why);
	} else {
		tell_state(push, STATE_TAKES, NULL);
	}
	pthread_mutex_lock(&push->lock);
	push->n_lost = push->n_dropped + push->n_refused;
	pthread_mutex_unlock(&push->lock);
}

static void take_refusal(OtlpPush *push, const HttpAnswer *answer)
{
	gboolean is_message = g_str_has_prefix(answer->type, "application/x-protobuf");
	g_autofree gchar *text = NULL, *why = NULL;
	gint64 n;

	if (answer->is_cut)
		why = g_strdup_printf("status %u, with an answer of more than %d MiB",
				      answer->status, MAX_ANSWER_BYTES >> 20);
	else if (is_message && otlp_message_read_answer((const guint8 *)answer->body->str,
							answer->body->len, FALSE, &n, &text))
		why = g_strdup_printf("status %u: %s", answer->status, text);
	else
		why = g_strdup_printf("status %u", answer->status);
	end_current(push, &push->n_refused);
	tell_state(push, STATE_REFUSES, why);
}

/* (3) */
static void plan_retry(OtlpPush *push, const HttpAnswer *answer)
{
	gint64 pause_us = FIRST_PAUSE_US << MIN(push->n_failures, 5);
	g_autofree gchar *status = g_strdup_printf("status %u", answer->status);
	g_autofree gchar *why = tacho_printable(answer->status ? status : answer->failure);

	pause_us = (gint64)(MIN(pause_us, MAX_PAUSE_US) * g_random_double_range(0.5, 1.5));
	if (answer->retry_after_s >= 0)
		pause_us = MIN(answer->retry_after_s, MAX_ASKED_S) * G_USEC_PER_SEC;
	push->not_before_us = g_get_monotonic_time() + pause_us;
	push->n_failures++;
	tell_state(push, STATE_SILENT, why);
}

static gboolean is_to_be_retried(const HttpAnswer *answer)
{
	return answer->status == 0 || answer->status == 429 || answer->status == 502 ||
	       answer->status == 503 || answer->status == 504;
}

static void take_answer(const HttpAnswer *answer, gpointer data)
{
	OtlpPush *push = data;

	if (!answer->is_cut && answer->status >= 200 && answer->status < 300)
		take_success(push, answer);
	else if (!answer->is_cut && is_to_be_retried(answer))
		plan_retry(push, answer);
	else
		take_refusal(push, answer);
}

/* The next of the queue; `ret_until_us`: when all is to end, 0: not yet. */
static void take_next(OtlpPush *push, gint64 *ret_until_us)
{
	pthread_mutex_lock(&push->lock);
	*ret_until_us = push->until_us;
	if (!push->current && (push->current = g_queue_pop_head(&push->queue))) {
		push->n_bytes -= g_bytes_get_size(push->current);
		push->is_under_way = TRUE;
	}
	pthread_mutex_unlock(&push->lock);
}

/* How long there is nothing to do but what the client does. */
static guint begin_next(OtlpPush *push, gint64 now_us)
{
	const HttpRequest request = {
		.url = push->settings.url,
		.headers = (const gchar *const *)push->settings.headers,
		.body = push->current,
		.ca_file = push->settings.ca_file,
		.timeout_ms = push->settings.timeout_ms,
		.max_bytes = MAX_ANSWER_BYTES,
	};

	if (!push->current || http_client_n_under_way(push->client))
		return IDLE_MS;
	if (now_us < push->not_before_us)
		return (guint)((push->not_before_us - now_us) / 1000 + 1);
	if (!http_client_send(push->client, &request, take_answer, push)) {
		plan_retry(push, &(HttpAnswer){ .failure = "the HTTP library refuses the request",
						.retry_after_s = -1 });
		return 0;
	}
	return IDLE_MS;
}

static void *push_all(void *data)
{
	OtlpPush *push = data;

	for (;;) {
		gint64 now_us = g_get_monotonic_time(), until_us;
		guint wait_ms;

		take_next(push, &until_us);
		if (until_us && (!push->current || push->n_failures || now_us >= until_us))
			return NULL;
		wait_ms = begin_next(push, now_us);
		if (until_us)
			wait_ms = MIN(wait_ms, (guint)((until_us - now_us) / 1000 + 1));
		http_client_work(push->client, wait_ms);
	}
}

/* --- who offers ------------------------------------------------------------------------------ */

static void push_release(OtlpPush *push)
{
	GBytes *bytes;

	http_client_free(push->client);
	while ((bytes = g_queue_pop_head(&push->queue)))
		g_bytes_unref(bytes);
	if (push->current)
		g_bytes_unref(push->current);
	otlp_settings_release(&push->settings);
	pthread_mutex_destroy(&push->lock);
	g_string_free(push->news, TRUE);
	g_free(push);
}

OtlpPush *otlp_push_new(OtlpSettings *settings, GError **error)
{
	OtlpPush *push = g_new0(OtlpPush, 1);
	int status = ENOMEM;

	push->settings = *settings;
	*settings = (OtlpSettings){ 0 };
	push->begin_unix_ns = g_get_real_time() * 1000;
	push->news = g_string_new(NULL);
	g_string_printf(push->news, "pushes metrics to %s every %g s\n", push->settings.shown,
			push->settings.interval_ms / 1e3);
	g_queue_init(&push->queue);
	pthread_mutex_init(&push->lock, NULL);
	push->client = http_client_new();
	if (push->client)
		status = quiet_thread_begin(&push->thread, push_all, push);
	if (!status)
		return push;
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(status),
		    "cannot begin to push metrics: %s", g_strerror(status));
	push_release(push);
	return NULL;
}

void otlp_push_free(OtlpPush *push)
{
	if (!push)
		return;
	pthread_mutex_lock(&push->lock);
	push->until_us = g_get_monotonic_time() + LAST_US;
	pthread_mutex_unlock(&push->lock);
	http_client_wake(push->client);
	pthread_join(push->thread, NULL);
	push_release(push);
}

void otlp_push_count(OtlpPush *push, LiveSeries *series)
{
	static const gchar *const outcomes[] = { "taken", "refused", "dropped" };
	guint64 counts[G_N_ELEMENTS(outcomes)];
	guint n_waiting;

	pthread_mutex_lock(&push->lock);
	counts[0] = push->n_taken;
	counts[1] = push->n_refused;
	counts[2] = push->n_dropped;
	n_waiting = push->queue.length + (push->is_under_way ? 1 : 0);
	pthread_mutex_unlock(&push->lock);
	for (guint i = 0; i < G_N_ELEMENTS(outcomes); i++)
		live_series_add(series, SERIES_tacho_pushes_total, "outcome", outcomes[i],
				(gdouble)counts[i], push->begin_unix_ns);
	live_series_add(series, SERIES_tacho_pushes_waiting, NULL, NULL, n_waiting, 0);
}

/* (2): with the lock. */
static void drop_oldest(OtlpPush *push)
{
	while (push->queue.length > MAX_WAITING || push->n_bytes > MAX_BYTES) {
		GBytes *bytes = g_queue_pop_head(&push->queue);

		if (push->n_dropped + push->n_refused == push->n_lost)
			tell_locked(push, "the oldest metrics for %s are dropped: too many wait",
				    push->settings.shown);
		push->n_dropped++;
		push->n_bytes -= g_bytes_get_size(bytes);
		g_bytes_unref(bytes);
	}
}

void otlp_push_offer(OtlpPush *push, const LiveSeries *series)
{
	gint64 now_us = g_get_monotonic_time();
	gint64 interval_us = push->settings.interval_ms * G_GINT64_CONSTANT(1000);
	GBytes *bytes;

	if (now_us < push->next_us)
		return;
	push->next_us = MAX(push->next_us, now_us - interval_us / 2) + interval_us;
	bytes = otlp_message_new(series, push->settings.resource);
	pthread_mutex_lock(&push->lock);
	push->n_bytes += g_bytes_get_size(bytes);
	g_queue_push_tail(&push->queue, bytes);
	drop_oldest(push);
	pthread_mutex_unlock(&push->lock);
	http_client_wake(push->client);
}

gchar *otlp_push_take_news(OtlpPush *push)
{
	gchar *news = NULL;

	pthread_mutex_lock(&push->lock);
	if (push->news->len) {
		news = g_strdup(push->news->str);
		g_string_truncate(push->news, 0);
	}
	pthread_mutex_unlock(&push->lock);
	return news;
}
